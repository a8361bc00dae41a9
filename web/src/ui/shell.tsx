// The page: header, list, map, panel, and how they hear of each other.
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { again, beginAgain } from "../again";
import { ABOVE, addressOf, canShow, NARROW, saves, sizeFor } from "../begin";
import { New } from "../edit/parts";
import { library } from "../map/library";
import { lastView, type View } from "../url";
import { severities, type Hazard } from "../model";
import { trust } from "../freshness";
import { language, names, text, wordsOf } from "../words";
import { local, utc } from "../time";
import { usePage, type Page, type ThemeChoice } from "./context";
import { Filters } from "./filters";
import { forEditors, forSearchers, forSubscribers, later } from "./later";
import { LanguageChoice, ZoneChoice } from "./language";
import { List } from "./list";
import { Notices, Spoken, Tip } from "./overlays";
import { Badge, Icon, IconButton, Menu } from "./parts";
import { Banners, Status } from "./status";

const Account = later(async () => (await import("./account")).Account);
const AttentionChoices = later(async () => (await import("./attention")).AttentionChoices);
const Find = forSearchers(async () => (await import("./find")).Find);
const Form = forEditors(async () => (await import("../edit/forms")).Form);
const Questions = forEditors(async () => (await import("../edit/forms")).Questions);
const Review = forEditors(async () => (await import("../edit/forms")).Review);
const WaitingBar = forEditors(async () => (await import("../edit/forms")).WaitingBar);
const Users = forEditors(async () => (await import("./users")).Users);
// These are loaded once the page is drawn, and there before somebody opens them.
const Panel = later(async () => (await import("./panel")).Panel);
const Callouts = later(async () => (await import("./callouts")).Callouts);
const Chooser = later(async () => (await import("./chooser")).Chooser);
const Legend = later(async () => (await import("./legend")).Legend);
const Tell = forSubscribers(async () => (await import("../tell/tell")).Tell);
const pictured = async () => (await import("./picture")).MapPicture;
const MapPicture = later(pictured);
if (matchMedia(NARROW).matches) void pictured().catch(() => {}); // it comes with the words
const TimeBar = later(async () => (await import("./timebar")).TimeBar);

export function Shell({ logout }: { logout: () => void }) {
  const page = usePage();
  const { store } = page;
  const [account, setAccount] = useState(false);
  const [users, setUsers] = useState(false);
  useEffect(() => {
    store.api.onNeedsFactor = () => setAccount(true);
  }, []);
  const [attention, setAttention] = useState(false);
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
      const typing = e.target instanceof HTMLElement && e.target.closest("input, textarea, select");
      if (e.key === "Escape") {
        if (store.placing.value) store.placing.value = undefined;
        else if (page.chooser.value) page.chooser.value = undefined;
        else if (page.editing.drafts.value?.open.value) page.editing.drafts.value.open.value = undefined;
        else if (page.editing.task.value) page.editing.leave();
        else if (page.telling.value) page.telling.value = false;
        else if (page.findOpen.value) page.findOpen.value = false;
        else if (page.legendOpen.value && !store.selected.value) page.legendOpen.value = false;
        else if (store.selected.value) page.close();
        else return;
        e.preventDefault();
      } else if (e.key === "/" && !typing) {
        e.preventDefault();
        if (page.narrow.value) page.sheet.value = "full";
        requestAnimationFrame(() => document.getElementById("search")?.focus()); // it is hidden in half a list
      }
    };
    document.addEventListener("keydown", keys);
    const over = new AbortController();
    if (store.api.user && store.api.user.role !== "reader") void again(() => import("../edit/pending"), () => {}, over.signal).then((m) => over.signal.aborted || m?.watch(page, over.signal));
    // Who may edit has the forms at hand, should the connection be lost.
    const forms = store.api.user && store.api.user.role !== "reader" ? setTimeout(() => void Promise.all([import("../edit/forms"), wordsOf("edit")]).catch(() => {}), 3_000) : undefined;
    return () => {
      document.removeEventListener("keydown", keys);
      over.abort();
      clearTimeout(forms);
    };
  }, []);
  const sheet = page.sheet.value;
  // What opens over the map on a phone needs the room.
  const tool = page.findOpen.value || page.legendOpen.value || page.timeOpen.value || page.chooser.value !== undefined || store.placing.value !== undefined;
  return (
    <div class={`page sheet-${sheet} ${store.selected.value || page.editing.drafts.value?.open.value || page.editing.task.value || page.telling.value ? "has-panel" : ""} ${tool ? "has-tool" : ""}`}>
      <a class="skip" href="#list" onClick={skip("list")}>{text.skipToList}</a>
      <a class="skip" href="#map" onClick={skip("map")}>{text.skipToMap}</a>
      {store.selected.value && <a class="skip" href="#panel" onClick={skip("panel")}>{text.skipToPanel}</a>}
      <Header
        account={() =>
          setAccount(true)}
        users={() => setUsers(true)}
        attention={() => setAttention(true)}
        logout={logout}
      />
      <Banners />
      {page.editing.drafts.value?.any.value && <WaitingBar />}
      <PrintHead />
      <main class="main">
        <h1 class="sr">{text.list.title}</h1>
        <aside class="side" aria-label={text.list.title}>
          <button
            type="button"
            class="sheet-handle"
            aria-expanded={sheet !== "peek"}
            aria-label={sheet === "full" ? text.list.shrink : text.list.expand}
            onClick={() => (page.sheet.value = sheet === "peek" ? "half" : sheet === "half" ? "full" : "peek")}
          >
            <span />
          </button>
          <Filters />
          <List />
        </aside>
        <div class="stage">
          <MapPlace />
          {page.drawn.value && <Callouts />}
          <div class="map-controls">
            <IconButton icon="plus" class="map-far" label={text.map.zoomIn} onClick={() => page.withMap((map) => map.zoomBy(1))} />
            <IconButton icon="minus" class="map-far" label={text.map.zoomOut} onClick={() => page.withMap((map) => map.zoomBy(-1))} />
            <IconButton icon="world" class="map-far" label={text.map.world} onClick={() => page.withMap((map) => map.world())} />
            <IconButton icon="search" class="find-button" label={text.map.find} pressed={page.findOpen.value} onClick={() => (page.findOpen.value = !page.findOpen.value)} />
            <WhereIAm />
            <IconButton icon="layers" label={text.map.legend} pressed={page.legendOpen.value} onClick={() => (page.legendOpen.value = !page.legendOpen.value)} />
          </div>
          {page.findOpen.value && <Find />}
          {page.legendOpen.value && <Legend />}
          {store.placing.value && !page.editing.task.value && <p class="placing" role="status">{text.map.place}</p>}
          <Tip />
          <Chooser />
          <Notices />
          <div class="stage-foot">
            <Notes />
            {page.timeOpen.value && <TimeBar />}
          </div>
        </div>
        {page.editing.drafts.value?.open.value ? <Review /> : page.editing.task.value ? <Form /> : page.telling.value ? <Tell /> : <Panel />}
      </main>
      {page.editing.question.value && <Questions />}
      {attention && <AttentionChoices close={() => setAttention(false)} />}
      {account && <Account close={() => setAccount(false)} />}
      {users && <Users close={() => setUsers(false)} />}
      <Spoken />
    </div>
  );
}

/** A link that would change the address, which holds the page's state, moves the focus instead. */
const skip = (id: string) => (e: Event) => {
  e.preventDefault();
  const to = document.getElementById(id);
  const inner = id === "panel"
    ? to?.querySelector<HTMLElement>("h2")
    : id === "map"
    ? document.querySelector<HTMLElement>(".map-move") ?? to?.querySelector<HTMLElement>("canvas")
    : to?.querySelector<HTMLElement>(".row");
  (inner ?? to)?.focus();
};

function Header({ account, users, attention, logout }: { account: () => void; users: () => void; attention: () => void; logout: () => void }) {
  const page = usePage();
  const { store } = page;
  const user = store.api.user;
  const choice = page.themeChoice.value;
  const next: Record<ThemeChoice, ThemeChoice> = { auto: "light", light: "dark", dark: "auto" };
  const themeIcon = choice === "auto" ? "auto" : choice === "light" ? "sun" : "moon";
  return (
    <header class="header">
      <span class="brand">
        <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
          <circle cx="16" cy="16" r="11.5" fill="none" stroke="#f00" stroke-width="4.5" />
          <circle cx="16" cy="16" r="5" fill="#fff" />
        </svg>
        <span class="brand-name">{text.name}</span>
      </span>
      <Status />
      <span class="grow" />
      <New />
      {page.offered.value && (
        <button
          type="button"
          class={`header-button ${page.telling.value ? "on" : ""}`}
          aria-pressed={page.telling.value}
          title={text.header.tellLong}
          onClick={() => (page.telling.value = !page.telling.value)}
        >
          <Icon name="bell" /> <span class="wide">{text.header.tell}</span>
        </button>
      )}
      <button
        type="button"
        class={`header-button ${page.timeOpen.value ? "on" : ""}`}
        aria-pressed={page.timeOpen.value}
        title={text.header.timeLong}
        onClick={() => {
          page.timeOpen.value = !page.timeOpen.value;
          if (!page.timeOpen.value) void store.lookAt(undefined);
        }}
      >
        <Icon name="clock" /> <span class="wide">{text.header.time}</span>
      </button>
      <IconButton icon={themeIcon} label={text.header.theme[choice]} onClick={() => page.chooseTheme(next[choice])} class="header-icon" />
      <Menu
        class="account"
        label={text.header.menu}
        title={text.header.menu}
        button={
          <>
            <Icon name="user" />
            <span class="wide">{user?.name}</span>
          </>
        }
      >
        {(close) => (
          <>
            <p class="muted">{user && text.header.account({ name: user.name, role: names.role[user.role] })}</p>
            <button
              type="button"
              onClick={() => {
                close();
                attention();
              }}
            >
              <Icon name="bell" /> {text.attention.title}
            </button>
            {user && (
              <button
                type="button"
                onClick={() => {
                  close(); // the focus moves to the menu, and returns when it closes
                  account();
                }}
              >
                <Icon name="lock" /> {text.account.open}
              </button>
            )}
            {user?.role === "admin" && (
              <button
                type="button"
                onClick={() => {
                  close();
                  users();
                }}
              >
                <Icon name="user" /> {text.header.users}
              </button>
            )}
            <button type="button" class="narrow-only" onClick={() => page.chooseTheme(next[choice])}>
              <Icon name={themeIcon} /> {text.header.theme[choice]}
            </button>
            <LanguageChoice />
            <ZoneChoice />
            <button type="button" onClick={logout}>
              <Icon name="out" /> {user ? text.header.logout : text.attention.login}
            </button>
          </>
        )}
      </Menu>
    </header>
  );
}

/** Shows the device's position. It stays in this page and is not sent to the server. */
function WhereIAm() {
  const page = usePage();
  const { store } = page;
  if (!globalThis.isSecureContext || !("geolocation" in navigator)) return null;
  const find = () =>
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        store.me.value = [coords.longitude, coords.latitude];
        page.note.value = "";
        page.withMap((map) => map.jump({ center: [coords.longitude, coords.latitude], zoom: Math.max(store.view.value?.zoom ?? 0, 8) }));
      },
      (error) => (page.note.value = error.code === error.PERMISSION_DENIED ? text.map.meDenied : text.map.meFailed),
      { maximumAge: 60_000, timeout: 20_000 },
    );
  return <IconButton icon="me" label={text.map.me} title={text.map.meLong} pressed={store.me.value !== undefined} onClick={() => (store.me.value ? (store.me.value = undefined) : find())} />;
}

/** On paper: the subject of the list, the map as of the start of printing, and the levels. */
function PrintHead() {
  const page = usePage();
  const { store } = page;
  const [map, setMap] = useState("");
  useEffect(() => {
    const before = () => {
      page.printing.value = true;
      setMap(page.map.peek()?.picture() ?? document.querySelector<HTMLImageElement>(".map-picture img")?.src ?? "");
    };
    const after = () => (page.printing.value = false);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  if (!page.printing.value) return null;
  const at = store.past.value?.at ?? (store.connection.value.state === "lost" ? store.connection.value.heard : undefined) ?? store.now.peek() + store.api.skew;
  return (
    <div class="print-head">
      <h2>{text.print.title({ at: `${local(at)} ${utc(at)}` })}</h2>
      {map && <img src={map} alt={text.print.map} />}
      <ul aria-label={text.legend.severity}>
        {[...severities].reverse().map((s) => (
          <li key={s.id}>
            <Badge id={s.id} /> <span class={`swatch area-${s.id}`} aria-hidden="true" />
          </li>
        ))}
      </ul>
    </div>
  );
}

/**
 * The initial view: from the address, from the last visit or, on a small screen, around the most
 * important hazard; undefined means the world.
 */
function beginning(page: Page): View | undefined {
  const { store } = page;
  const first = store.sorted.peek()[0];
  return store.view.peek() ?? lastView() ?? (page.narrow.peek() && first ? { center: [first.longitude, first.latitude], zoom: 4 } : undefined);
}

/** From this zoom on it counts exactly what reaches into the window; for so many hazards at most. */
const NEAR = 9;
const EXACT = 200;

/** Resolves when the first rows have been read, or will not be soon. */
async function listRead({ store, summaries }: Page): Promise<void> {
  let stop = () => {};
  const read = new Promise<void>((resolve) => {
    stop = effect(() => {
      if (store.loaded.value || summaries.first.value) resolve();
    });
  });
  await Promise.race([read, new Promise((resolve) => setTimeout(resolve, 3_000))]);
  stop();
}

/** Resolves when what is in the page now is on the screen. */
const painted = (): Promise<void> => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Whether something is asked for that the picture of the map cannot show. */
function moves(page: Page): boolean {
  const { store, editing } = page;
  return !page.narrow.value || page.findOpen.value || page.legendOpen.value || page.timeOpen.value || page.telling.value || editing.task.value !== undefined ||
    editing.drafts.value?.open.value !== undefined ||
    store.selected.value !== undefined || store.placing.value !== undefined || store.past.value !== undefined || store.me.value !== undefined ||
    store.filter.value.text.trim() !== "";
}

/** What the map says of itself. */
function Notes() {
  const page = usePage();
  return (
    <>
      {page.mapLost.value && (
        <p class="map-note" role="alert">
          {text.map.lost} <button type="button" class="small" onClick={() => page.mapTries.value++}>{text.panel.retry}</button>
        </p>
      )}
      {page.lacking.value && <p class="map-note" role="status">{text.map.lacking}</p>}
      {page.store.view.value && page.map.value?.ends() && <p class="map-note" role="status">{text.map.deepest}</p>}
      {page.note.value && <p class="map-note" role="status">{page.note.value}</p>}
    </>
  );
}

/** The map's code, with all that it cannot do without. The ground of the view comes meanwhile. */
async function readyMap({ store }: Page) {
  void import("../basemap").then((m) => m.groundAhead(store.view.peek(), { width: innerWidth, height: ABOVE })).catch(() => {});
  await library();
  return import("../map/view");
}

function MapPlace() {
  const page = usePage();
  const place = useRef<HTMLDivElement>(null);
  const [settled, settle] = useState(false);
  const [before, showBefore] = useState("");
  useLayoutEffect(() => {
    if (page.first) place.current!.append(page.first.place);
    // A wide window shows the server's picture until its map is drawn, where it may be asked for without a token.
    const { store } = page;
    const view = store.view.peek() ?? lastView();
    const { clientWidth: width, clientHeight: height } = place.current!;
    if (!page.narrow.peek() && store.api.open && !store.past.peek() && view && canShow(view))
      showBefore(addressOf(view, store.filter.peek(), page.theme.peek() === "dark", sizeFor({ width, height }, undefined)));
  }, []);
  useEffect(() => {
    // A link with a window is one to the map.
    if (page.store.view.peek()) page.moving.value = true;
    let over = false;
    // The picture is what is seen first; the map follows by itself. Its code comes and begins meanwhile, after the first rows.
    const stop = effect(() => {
      if (moves(page) || page.pictured.value && !saves()) page.moving.value = true;
    });
    if (!saves()) void listRead(page).then(() => (over ? undefined : readyMap(page))).catch(() => {}); // whoever needs it asks again
    return () => {
      over = true;
      stop();
    };
  }, []);
  const moving = page.moving.value;
  useEffect(() => {
    if (!moving) return;
    const over = new AbortController();
    const ends: (() => void)[] = [];
    // The list comes first: to start drawing takes the browser longer than to read and show the list. It is shown while the map's code comes.
    void listRead(page)
      .then(() => {
        let failures = 0;
        const failed = () => {
          page.mapLost.value = true;
          if (++failures >= 3 && !page.store.api.user) void beginAgain();
        };
        return Promise.all([again(() => readyMap(page), failed, over.signal), painted()]);
      })
      .then(([code]) => {
        if (!code || over.signal.aborted) return;
        page.mapLost.value = false;
        const { MapView } = code;
        const { store } = page;
        place.current!.replaceChildren();
        const linked = store.view.peek() !== undefined;
        const map = new MapView(
          place.current!,
          {
            moved: (view, bounds) => {
              store.view.value = view;
              store.bounds.value = bounds;
            },
            settled: () => {
              const towns = page.map.value?.allTowns() ?? [];
              if (towns.length > 0) page.towns.value = towns;
              // Who was on the picture is on the map now.
              if (document.activeElement?.matches(".map-move")) page.map.value?.map.getCanvas().focus();
              settle(true);
              page.drawn.value = true;
            },
            gaps: (there) => (page.gaps.value = there),
            picked: (ids, at) => {
              const hazards = ids.map((id) => store.shown.value.get(id)).filter((h): h is Hazard => h !== undefined);
              page.chooser.value = hazards.length > 1 ? { ids, place: at } : undefined;
              page.tip.value = undefined;
              if (hazards.length === 1) page.open(hazards[0]!);
            },
            hovered: (id, at) => {
              if (store.hovered.value !== id) store.hovered.value = id;
              page.tip.value = id === undefined ? undefined : { id, place: at };
            },
            placed: (longitude, latitude) => {
              const take = store.placing.value;
              take?.(longitude, latitude);
              return take !== undefined;
            },
            lacking: (are) => (page.lacking.value = are),
          },
          { api: store.api, theme: page.theme.value, view: beginning(page), filter: store.filter.peek(), at: store.past.peek()?.at, reducedMotion: () => page.reducedMotion.value },
        );
        page.map.value = map;
        page.layers.value = map.layers;
        // A link to a hazard without a window leads to the hazard.
        if (!linked && store.selected.peek()) {
          const stop = effect(() => {
            const h = store.selectedHazard.value;
            if (store.selected.value && !h) return;
            // What covers the map is said below.
            queueMicrotask(() => {
              stop();
              if (h) map.show(h, store.areas.bounds(h), true);
            });
          });
          ends.push(stop);
        }
        store.areas.shown = (came, went) => map.changeAreas(came, went);
        ends.push(
          effect(() => map.setTheme(page.theme.value)),
          effect(() => map.setWords(language())),
          effect(() => map.setLayers(page.layers.value)),
          effect(() => {
            const { areas } = store;
            areas.news.value; // what has an area is read after the list
            map.draw({
              hazards: store.matching.value,
              filter: store.filter.value,
              at: store.past.value?.at,
              places: store.past.value?.places ?? store.importance.places.value,
              importance: (h) => page.summaries.of(h)?.importance ?? undefined,
              hasArea: (h) => areas.has(h),
              knownAs: (h) => areas.knownAs(h),
            });
          }),
          effect(() => map.setGaps(store.connection.value.fresh.sources && trust(store.connection.value.fresh.sources) !== "none" && !store.past.value ? store.coverage.value?.gaps ?? [] : [])),
          effect(() => map.setMe(store.me.value)),
          effect(() => map.setDraft({ type: "FeatureCollection", features: [...page.editing.drawn.value] })),
          effect(() => {
            if (store.connection.value.state === "live") map.fill();
          }),
          effect(() => map.setPlacing(store.placing.value !== undefined)),
          effect(() => map.setFocus(store.selectedHazard.value, store.hovered.value === undefined ? undefined : store.shown.value.get(store.hovered.value))),
          effect(() => map.setFresh([...store.fresh.value.keys()].map((id) => store.matching.value.get(id)).filter((h): h is Hazard => h !== undefined))),
          effect(() => {
            const panel = store.selected.value !== undefined || page.editing.drafts.value?.open.value !== undefined || page.editing.task.value !== undefined || page.telling.value;
            const bottom = !page.narrow.value ? 0 : panel || page.sheet.value === "half" ? 16 : 104;
            map.setCovered({ left: 0, right: 0, bottom });
          }),
          effect(() => {
            // The surface shows all areas. Those of the selected hazard, and of what may be at the place that matters, are read exactly; from near, of all in the window.
            const selected = store.selectedHazard.value;
            const from = store.place.value;
            const near = (store.view.value?.zoom ?? 0) >= NEAR ? [...store.inWindow.value, ...store.exercisesInWindow.value] : from ? store.areas.about(...from) : [];
            const wanted = [...(selected ? [selected] : []), ...near.filter((h) => h !== selected).slice(0, EXACT)];
            store.areas.want(wanted);
          }),
          () => {
            store.areas.shown = () => {};
            page.assets.peek()?.end();
            page.map.value = undefined;
            map.remove();
          },
        );
      })
      .catch((error: unknown) => {
        console.error(error);
        page.mapFailed.value = true;
        settle(true);
      });
    return () => {
      over.abort();
      for (const end of ends.reverse()) end();
    };
  }, [moving, page.mapTries.value]);
  return (
    <>
      <div class="map" id="map" ref={place} />
      {before && !settled && (
        <div class="map-before" aria-hidden="true">
          <img src={`.${before}`} alt="" />
        </div>
      )}
      {!page.narrow.value && !settled && <p class="map-coming" role="status">{text.map.moveComes}</p>}
      {page.narrow.value && (!settled || page.held.value) && <MapPicture begin={() => page.store.view.peek() ?? lastView()} />}
      {page.mapFailed.value && <p class="map-failed">{text.map.failed}</p>}
    </>
  );
}
