// The page: header, list, map, panel, and how they hear of each other.
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { again, beginAgain } from "../again";
import { addressOf, canShow, NARROW, saves, sizeFor } from "../begin";
import { New } from "../edit/parts";
import { library } from "../map/library";
import { lastView, type View } from "../url";
import { names, text, wordsOf } from "../words";
import { usePage, type Page, type ThemeChoice } from "./context";
import { Filters } from "./filters";
import { forEditors, forSearchers, forSubscribers, later } from "./later";
import { LanguageChoice, ZoneChoice } from "./language";
import { List } from "./list";
import { Notices, Spoken, Tip } from "./overlays";
import { Icon, IconButton, Menu } from "./parts";
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
const PrintHead = later(async () => (await import("./print")).PrintHead);
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

/**
 * The initial view: from the address, from the last visit or, on a small screen, around the most
 * important hazard; undefined means the world.
 */
function beginning(page: Page): View | undefined {
  const { store } = page;
  const first = store.sorted.peek()[0];
  return store.view.peek() ?? lastView() ?? (page.narrow.peek() && first ? { center: [first.longitude, first.latitude], zoom: 4 } : undefined);
}

/** Resolves when something is so, or after so many milliseconds. */
async function until(is: () => unknown, most: number): Promise<void> {
  let stop = () => {};
  const so = new Promise<void>((resolve) => {
    stop = effect(() => {
      if (is()) resolve();
    });
  });
  await Promise.race([so, new Promise((resolve) => setTimeout(resolve, most))]);
  stop();
}

/** Resolves when the first rows have been read, or will not be soon. */
const listRead = ({ store, summaries }: Page) => until(() => store.loaded.value || summaries.first.value, 3_000);

/** Resolves when no panel is being opened over the map: to make the map keeps a phone busy for seconds. */
const answered = ({ narrow, opening }: Page) => until(() => !narrow.value || !opening.value, 4_000);

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

/** A map by key, as on a wall: that no draft is seen there does not mean that none waits. */
const byKey = document.querySelector('meta[name="hazardd-open"][content="key"]') !== null;

/** What the map says of itself. */
function Notes() {
  const page = usePage();
  return (
    <>
      {byKey && !page.store.api.user && !page.narrow.value && <p class="map-note">{text.map.drafts}</p>}
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

/** The map's code, with all that it cannot do without. The ground of the view comes meanwhile, and what lies on it once the line is free. */
async function readyMap(page: Page, place: HTMLElement) {
  const { store } = page;
  const begin = beginning(page);
  const size = { width: place.clientWidth, height: place.clientHeight };
  const ahead = import("../map/ahead");
  void ahead.then((m) => m.groundAhead(begin, size)).catch(() => {});
  await library(async () => {
    if (begin && !page.map.peek()) void ahead.then((m) => m.surfaceAhead(store.api, begin, size, store.filter.peek(), store.past.peek()?.at)).catch(() => {});
    await answered(page);
  });
  return import("./view");
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
    if (!saves()) void listRead(page).then(() => (over ? undefined : readyMap(page, place.current!))).catch(() => {}); // whoever needs it asks again
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
        return Promise.all([again(() => readyMap(page, place.current!), failed, over.signal), painted()]);
      })
      .then(async ([code]) => {
        await answered(page);
        if (!code || over.signal.aborted) return;
        page.mapLost.value = false;
        ends.push(...code.putMap(page, place.current!, beginning(page), () => settle(true)));
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
