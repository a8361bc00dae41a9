// A picture of the map, which the server draws, where the moving map will be. On a phone it is what a reader sees first: MapLibre is a megabyte of
// code, and what matters is the list. It says of what time it is, and is drawn again when the list changes. Fingers move it and make it larger, and
// a touch finds hazards in it.
import { batch, computed, effect, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LostError } from "../api";
import { addressOf, canShow, CREDITS, sizeFor, type Drawn, type Size } from "../begin";
import type { Hazards } from "../diff";
import { byImportance } from "../order";
import type { Town } from "../towns";
import type { View } from "../url";
import { local } from "../time";
import { text } from "../words";
import { usePage, type Page } from "./context";
import { boundsOf, Fingers, still, viewAfter, where, type Moved, type Point } from "./fingers";

/** At most so often a picture is drawn again because of the list, milliseconds. */
const BUDGET = 15_000;
/** A shared cache may hold a picture for so long, milliseconds: one that is asked for earlier may be as old as the change. */
const SHARED = 6_000;
/** What moves less is a touch of a place; and so near to it are the hazards that it means, as on the map, CSS pixels. */
const SLACK = 8;
const TOUCH = 22;
/** Hazards of one place that a touch lists. */
const LISTED = 100;

interface Shown extends Size {
  readonly url: string;
  readonly address: string;
  readonly view: View;
  /** When it was asked for, by the server's clock, milliseconds. */
  readonly at: number;
  /** What the list was then; undefined: not known, or a later one than the picture shows. */
  readonly of: Hazards | undefined;
  /** The change that it shows. */
  readonly change: number;
}

/** Where the picture of what the page shows is; of a page that shows nothing yet, around what matters most. */
const addressNow = ({ store, theme }: Page, size: Size): string => addressOf(store.view.value, store.filter.value, theme.value === "dark", size);

/** `begin`: where the map begins, if the reader has been here; undefined: at what matters most. */
export function MapPicture({ begin }: { begin: () => View | undefined }) {
  const page = usePage();
  const { store } = page;
  const box = useRef<HTMLDivElement>(null);
  const [shown, show] = useState<Shown>();
  const image = useRef<HTMLImageElement>(null);
  const moving = page.moving.value;
  useEffect(() => {
    if (page.moving.peek()) {
      const view = store.view.peek();
      // The list is of the window of a link before the map is there: else it would begin with all the world, and load the pictures of its rows.
      if (view && !store.bounds.peek()) store.bounds.value = boundsOf(view, { width: box.current!.clientWidth, height: box.current!.clientHeight });
      return;
    }
    const [over, gone] = [new AbortController(), new AbortController()];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = "";
    /** When the picture was asked for, and since when the list is another than it shows; by this machine's clock. */
    let asked = 0;
    let changed: number | undefined;
    /** The list as it came, and whether the first picture has been compared with it. */
    let came: Hazards | undefined;
    let compared = false;
    const last = signal<Shown | undefined>(undefined);
    /** Fingers have moved it: from then on it follows the window, though the map comes. */
    const fingered = signal(false);
    const seen = signal(document.visibilityState === "visible");
    const look = () => (seen.value = document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    const lost = computed(() => store.connection.value.state === "lost");
    const { first } = page;
    const { current: here } = box; // what observes it may call once more when it is gone
    const size = (): Size => ({ width: here!.clientWidth, height: here!.clientHeight });
    const ask = async (address: string): Promise<Drawn> => {
      const at = store.api.now();
      const answer = await store.api.request(address, { signal: over.signal });
      const svg = await answer.text();
      return { svg, headers: answer.headers, at: at - 1000 * Number(answer.headers.get("Age")), url: URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })) };
    };
    const draw = async (address: string, of: Hazards | undefined, size: Size) => {
      asking = address;
      asked = Date.now();
      const list = store.connection.peek().fresh.change ?? 0;
      try {
        const drawn = await (address === first?.address && page.first === first ? (page.first = undefined, first.drawn) : undefined) ?? await ask(address);
        if (drawn === "map") return void (page.moving.value = true); // it comes as soon
        if (address !== asking || over.signal.aborted) return;
        const { middle, towns } = dataOf(drawn.svg);
        if (!middle) return void (page.moving.value = true); // there is nothing to begin at: the map shows the world
        const [longitude, latitude, zoom] = middle;
        const change = Number(drawn.headers.get("Hazardd-Change"));
        if (fingered.peek()) {
          await ready(drawn.url);
          await released();
          if (address !== asking || over.signal.aborted) return;
        }
        const before = last.peek();
        if (before) URL.revokeObjectURL(before.url);
        changed = undefined;
        page.towns.value = towns;
        batch(() => {
          if (!store.view.peek()) place({ center: [longitude, latitude], zoom });
          // Other requests of this window ask for it by what it is.
          last.value = { url: drawn.url, address: addressNow(page, size), view: { center: [longitude, latitude], zoom }, at: drawn.at, of: change < list ? undefined : of, change, ...size };
        });
        fingers.moved = still;
      } catch (error) {
        if (over.signal.aborted) return;
        // Without a connection the page says so, and the picture its time. Else the moving map comes in its place.
        if (!(error instanceof LostError && last.peek())) page.moving.value = true;
      } finally {
        if (address === asking) asking = "";
      }
    };
    const place = (view: View) => {
      if (!canShow(view)) return void (page.moving.value = true);
      store.bounds.value = boundsOf(view, size());
      store.view.value = view;
    };
    const begins = begin();
    if (begins) place(begins);
    const resized = new ResizeObserver(() => {
      const view = store.view.peek();
      if (view && here!.isConnected) store.bounds.value = boundsOf(view, size());
    });
    resized.observe(here!);
    const fingers = new Fingers(() => last.peek()!.view);
    const paint = ({ x, y, scale }: Moved) => {
      image.current!.style.translate = `${x}px ${y}px`;
      image.current!.style.scale = `${scale}`;
    };
    const at = (e: PointerEvent): Point => {
      const { left, top, width, height } = here!.getBoundingClientRect();
      return { x: e.clientX - left - width / 2, y: e.clientY - top - height / 2 };
    };
    const released = (): Promise<void> =>
      new Promise((resolve) => {
        const stop = effect(() => {
          if (!page.held.value) queueMicrotask(() => (stop(), resolve()));
        });
      });
    /** Where the only finger was put down, and what the picture was moved by then; undefined: it is no touch of a place. */
    let touch: { readonly at: Point; readonly moved: Moved } | undefined;
    const down = (e: PointerEvent) => {
      if (!last.peek() || e.button !== 0 || (e.target as Element).closest("button")) return;
      here!.setPointerCapture(e.pointerId);
      fingers.put(e.pointerId, at(e));
      touch = fingers.down === 1 ? { at: at(e), moved: fingers.moved } : undefined;
      page.held.value = true;
    };
    const drag = (e: PointerEvent) => {
      const p = at(e);
      if (!fingers.move(e.pointerId, p)) return;
      paint(fingers.moved);
      if (touch && Math.hypot(p.x - touch.at.x, p.y - touch.at.y) > SLACK) touch = undefined;
    };
    const up = (e: PointerEvent) => {
      if (!fingers.lift(e.pointerId) || fingers.down) return;
      if (touch && e.type === "pointerup") {
        paint(fingers.moved = touch.moved);
        take(at(e));
      } else {
        const view = viewAfter(last.peek()!.view, fingers.moved);
        batch(() => {
          fingered.value = true;
          place(view);
        });
        page.map.peek()?.jump(view);
      }
      page.held.value = false;
    };
    /** Opens what is at a place, as a touch of the map does. */
    const take = (p: Point) => {
      const view = viewAfter(last.peek()!.view, fingers.moved);
      const hits = [...store.matching.peek().values()].filter((h) => {
        const { x, y } = where(view, h);
        return Math.hypot(x - p.x, y - p.y) <= TOUCH;
      }).sort(byImportance(store.importance.places.peek()));
      if (hits.length === 1) page.open(hits[0]!);
      else if (hits.length > 0) page.chooser.value = { ids: hits.slice(0, LISTED).map((h) => h.hazard_ID), place: { x: p.x + size().width / 2, y: p.y + size().height / 2 } };
      else page.moving.value = true;
    };
    for (const [name, hear] of [["pointerdown", down], ["pointermove", drag], ["pointerup", up], ["pointercancel", up]] as const) here!.addEventListener(name, hear, { signal: gone.signal });
    const stop = effect(() => {
      show(last.value);
      if (page.moving.value && !fingered.value) {
        clearTimeout(timer);
        if (!last.value) over.abort();
        return;
      }
      store.bounds.value; // another window is another picture
      const loaded = store.loaded.value;
      const of = loaded ? store.matching.value : undefined;
      // Without a hazard there is no place to begin at: the map shows the world.
      if (loaded && store.real.value === 0) page.moving.value = true;
      if (lost.value) return last.value ? undefined : void (page.moving.value = true);
      const s = sizeFor(size(), last.value ?? first);
      const address = addressNow(page, s);
      clearTimeout(timer);
      came ??= of;
      const early = !compared;
      compared ||= loaded && last.value !== undefined;
      if (address !== last.value?.address) {
        if (address !== asking) void draw(address, of, s);
      } else if (!of || last.value.of === of || !seen.value) {
        return;
      } else if (early && of === came && last.value.change >= (store.connection.peek().fresh.change ?? 0)) {
        last.value = { ...last.value, of }; // it was asked for before the list
      } else {
        changed ??= Date.now();
        timer = setTimeout(() => void draw(address, store.matching.peek(), s), Math.max(changed + SHARED, asked + BUDGET) - Date.now());
      }
    });
    return () => {
      stop();
      resized.disconnect();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
      over.abort();
      gone.abort();
      page.held.value = false;
    };
  }, []);
  // The picture of the window where fingers have left it stands in the middle.
  useLayoutEffect(() => {
    if (image.current) image.current.style.translate = image.current.style.scale = "";
  }, [shown?.url]);
  const move = () => {
    page.moving.value = true;
  };
  const at = shown && local(shown.at);
  return (
    <div class="map-picture" ref={box} aria-busy={moving}>
      {shown && at && (
        <img
          ref={image}
          draggable={false}
          src={shown.url}
          width={shown.width}
          height={shown.height}
          alt={text.map.picture({ at, n: store.inWindow.value.length })}
          onLoad={() => {
            document.querySelector(".first")?.remove();
            requestAnimationFrame(() => setTimeout(() => (page.pictured.value = true)));
          }}
          onError={move}
        />
      )}
      <button type="button" class="map-move" onFocus={move} onClick={move}>
        <strong>{page.mapLost.value ? text.map.lost : moving ? text.map.moveComes : text.map.move}</strong>
        {at && <small>{(shown.of === store.matching.value ? text.map.pictureAt : text.map.pictureOld)({ at })}</small>}
        {at && <small>{CREDITS}</small>}
      </button>
    </div>
  );
}

/** Resolves when a picture can be shown at once. */
async function ready(url: string): Promise<void> {
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {});
}

/** What stands beside the picture: its middle and zoom, if it has a place, and the towns in it. */
function dataOf(svg: string): { readonly middle?: readonly [longitude: number, latitude: number, zoom: number]; readonly towns: readonly Town[] } {
  return JSON.parse(/<metadata>(.*?)<\/metadata>/s.exec(svg)![1]!);
}
