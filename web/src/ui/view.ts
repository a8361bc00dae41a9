// Puts the map into the page: what it shows is what the page shows, and what happens on it happens on the page.
import { effect } from "@preact/signals";
import { trust } from "../freshness";
import { groundAhead, surfaceAhead } from "../map/ahead";
import { windowOf } from "../map/start";
import { MapView } from "../map/view";
import type { Hazard } from "../model";
import type { View } from "../url";
import { language } from "../words";
import type { Page } from "./context";

export { warm } from "../map/view";

/** From this zoom on the map shows exactly what reaches into the window; for so many hazards at most. */
const NEAR = 9;
const EXACT = 200;

/** The worst whose places say where the map begins: as many as are known before the list. */
const FIRST = 30;

/** What stays free beside them for what the map says of them, CSS pixels. */
const SIDES = 90;

/** Where a large map begins that nobody has asked for a place: where the worst is. Undefined: the world. */
function start({ store, summaries, narrow }: Page, { clientWidth: width, clientHeight: height }: HTMLElement): View | undefined {
  if (narrow.peek()) return undefined;
  const early = store.past.peek() || store.loaded.peek() ? undefined : summaries.first.peek()?.filter((s) => s.category !== "EXERCISE");
  const places = early?.map((s) => [s.lon, s.lat]) ?? store.sorted.peek().slice(0, FIRST).map((h) => [h.longitude, h.latitude]);
  return windowOf(places, { width: width - 2 * SIDES, height: height - 2 * SIDES });
}

/** `settle` is called when all of the map is drawn. What takes the map off is returned. */
export function putMap(page: Page, place: HTMLElement, view: View | undefined, settle: () => void): (() => void)[] {
  const ends: (() => void)[] = [];
  const { store } = page;
  place.replaceChildren();
  const linked = store.view.peek() !== undefined;
  const begin = view ?? start(page, place);
  if (begin) {
    const size = { width: place.clientWidth, height: place.clientHeight };
    surfaceAhead(store.api, begin, size, store.filter.peek(), store.past.peek()?.at);
    groundAhead(begin, size);
  }
  const map = new MapView(
    place,
    {
      moved: (view, bounds) => {
        if (page.printing.value) return; // paper has another shape: the list is of what the screen shows
        store.view.value = view;
        store.bounds.value = bounds;
      },
      settled: () => {
        const towns = page.map.value?.allTowns() ?? [];
        if (towns.length > 0) page.towns.value = towns;
        // Who was on the picture is on the map now.
        if (document.activeElement?.matches(".map-move")) page.map.value?.map.getCanvas().focus();
        settle();
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
    { api: store.api, change: () => store.connection.peek().fresh.change ?? 0, theme: page.theme.value, view: begin, reducedMotion: () => page.reducedMotion.value },
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
  return ends;
}
