// The search for places: a name, and the map goes there.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api";
import { find, language, number, text } from "../words";
import { usePage, type Page } from "./context";
import { IconButton } from "./parts";
import "./find.css";

export type Found = Schemas["FoundPlace"];
type Kind = Schemas["PlaceKind"];

/** Delay after the last keystroke, in milliseconds. */
const PAUSE = 250;
const PAGE = 8;
/** The most characters that the server looks for. */
const LONGEST = 100;

export function Find() {
  const page = usePage();
  const close = () => {
    page.findOpen.value = false;
    document.querySelector<HTMLElement>(".map-controls .find-button")?.focus();
  };
  return (
    <section
      class="find"
      aria-label={text.map.find}
      onKeyDown={(e) => {
        if (e.key !== "Escape") return;
        e.preventDefault(); // nothing else closes with it
        close();
      }}
    >
      <header>
        <h2>{text.map.find}</h2>
        <IconButton icon="close" label={text.close} onClick={close} />
      </header>
      <PlaceSearch focus chosen={(p) => goTo(page, p)} />
    </section>
  );
}

/** Shows a place with its surroundings, and the list of hazards there. */
function goTo(page: Page, p: Found): void {
  const [west, south, east, north] = p.bbox as [number, number, number, number];
  const box = [west, south, east < west ? east + 360 : east, north] as const;
  const town = p.kind === "town";
  const { store } = page;
  page.note.value = "";
  store.everywhere.value = false;
  store.searched.value = [p.lon, p.lat];
  const zoom = (p.people ?? 0) > 1_000_000 ? 9 : 10;
  if (!page.mapFailed.value) {
    page.withMap((map) => (town ? map.jump({ center: [p.lon, p.lat], zoom }) : void map.look(box)));
  } else {
    // Without a map the list goes there all the same.
    const around = town ? ([p.lon - 0.5, p.lat - 0.3, p.lon + 0.5, p.lat + 0.3] as const) : box;
    store.bounds.value = around;
    store.view.value = { center: [p.lon, p.lat], zoom };
  }
  if (page.narrow.value) {
    // The place stays visible; the head of the list counts the hazards there.
    page.findOpen.value = false;
    page.sheet.value = "half";
  }
  store.say(p.name);
}

/** A field for a name with its matches. Enter chooses the first; the arrow keys select others. */
export function PlaceSearch({ kinds = [], chosen, focus = false, id = "find-name" }: { kinds?: readonly Kind[]; chosen: (p: Found) => void; focus?: boolean; id?: string }) {
  const { store } = usePage();
  const [name, setName] = useState("");
  const [found, setFound] = useState<{ readonly places: readonly Found[]; readonly total: number; readonly next: string | null; readonly of: string }>();
  const [failed, setFailed] = useState(false);
  const [cursor, setCursor] = useState("");
  const [enter, setEnter] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const wanted = name.trim();
  useEffect(() => {
    if (focus) root.current?.querySelector("input")?.focus();
  }, []);
  useEffect(() => {
    setFailed(false);
    if (!/[\p{L}\p{N}]/u.test(wanted)) return setFound(undefined);
    const over = new AbortController();
    const ask = async () => {
      const query = new URLSearchParams({ q: wanted, limit: String(PAGE), lang: language().id });
      if (kinds.length > 0) query.set("kind", kinds.join(","));
      if (cursor) query.set("cursor", cursor);
      try {
        const got = await store.api.get<"/places">(`/places?${query}`, { signal: over.signal });
        setFound((had) => ({ ...got, places: cursor && had?.of === wanted ? [...had.places, ...got.places] : got.places, of: wanted }));
      } catch {
        if (!over.signal.aborted) setFailed(true);
      }
    };
    const timer = setTimeout(() => void ask(), cursor ? 0 : PAUSE);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }, [wanted, cursor, language().id]);
  const now = found?.of === wanted ? found : undefined;
  useEffect(() => {
    if (!enter || !now) return;
    setEnter(false);
    if (now.places[0]) chosen(now.places[0]);
  }, [enter, now]);
  const step = (e: KeyboardEvent) => {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const stops = [...(root.current?.querySelectorAll<HTMLElement>("input, .find-list button") ?? [])];
    const to = stops[stops.indexOf(document.activeElement as HTMLElement) + (e.key === "ArrowDown" ? 1 : -1)];
    if (!to) return;
    e.preventDefault();
    to.focus();
  };
  return (
    <div class="find-places" ref={root} onKeyDown={step}>
      <label for={id}>{find.label}</label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        maxLength={LONGEST}
        value={name}
        aria-describedby={`${id}-hint`}
        onInput={(e) => {
          setCursor("");
          setEnter(false);
          setName(e.currentTarget.value.replace(/\p{Cc}/gu, " "));
        }}
        onKeyDown={(e) => {
          if (e.key !== "Enter") return;
          e.preventDefault(); // it may stand in a form
          if (wanted) setEnter(true);
        }}
      />
      <p class="hint" id={`${id}-hint`}>{find.hint}</p>
      <p class="hint" role="status">{failed ? find.failed : !now ? "" : now.total === 0 ? find.none : find.total({ n: now.total })}</p>
      {now && now.places.length > 0 && (
        <ul class="find-list" aria-label={text.map.find}>
          {now.places.map((p, i) => (
            <li key={`${p.code ?? ""} ${p.lon} ${p.lat} ${i}`}>
              <button type="button" onClick={() => chosen(p)}>
                <bdi>{p.name}</bdi>
                <span class="muted">{about(p)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {now?.next && <button type="button" class="small" onClick={() => setCursor(now.next!)}>{find.more}</button>}
    </div>
  );
}

/** Distinguishes a place from others with the same name. */
const about = (p: Found): string =>
  [find[p.kind], p.region, p.kind === "country" ? "" : p.country_name, p.people ? find.people({ n: number(p.people, { maximumSignificantDigits: 2 }) }) : "",
    p.kind === "area" ? p.code!.slice(p.code!.indexOf(":") + 1) : ""]
    .filter((s) => s !== "").join(" · ");
