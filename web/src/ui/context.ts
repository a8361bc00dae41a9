// What every part of the page needs.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Api } from "../api";
import { Attention } from "../attention";
import { NARROW, type First } from "../begin";
import { Editing } from "../edit/state";
import type { AssetLayer } from "../map/assets";
import type { MapView, Place, Theme } from "../map/view";
import { placesOf } from "../importance";
import { whole, type Feed } from "../live";
import { briefOf, severity, type Hazard, type Summary } from "../model";
import { byImportance } from "../order";
import { Said } from "../said";
import type { Store } from "../store";
import { SUMMARIES, Summaries } from "../summaries";
import type { Offered, TellDraft } from "../tell/draft";
import type { Town } from "../towns";

/** How many are numbered, and from which level on: watches. */
const RANKS = 3;
/** How many callouts leave free. */
const WORST = 12;
const RANKED_FROM = 3;

export type ThemeChoice = "auto" | Theme;

export class Page {
  /** The map, once it is drawn; it stays undefined where there is no WebGL. */
  readonly map = signal<MapView | undefined>(undefined);
  readonly mapFailed = signal(false);
  /** All of the map has been drawn once. */
  readonly drawn = signal(false);
  /** Its code did not come, and is asked for again; and how often the reader has asked for that. */
  readonly mapLost = signal(false);
  readonly mapTries = signal(0);
  /** What is drawn has gaps, which are asked for again. */
  readonly gaps = signal(false);
  /** Parts of the page that did not come, and are asked for again. */
  readonly missing = signal(0);
  /** Something that belongs on the screen is not there yet. */
  readonly partly = computed(() =>
    this.missing.value > 0 || this.gaps.value || this.lacking.value || this.store.areas.failing.value || (this.moving.value && !this.map.value && !this.mapFailed.value)
  );
  /** The map is wanted, and not its picture alone. */
  readonly moving = signal(false);
  /** Hazards at one place, for the user to choose from. */
  readonly chooser = signal<{ readonly ids: readonly number[]; readonly place: Place } | undefined>(undefined);
  readonly tip = signal<{ readonly id: number; readonly place: Place } | undefined>(undefined);
  /** Parts of the surface of danger have not come, and are asked for again. */
  readonly lacking = signal(false);
  /** The towns that the map shows, for where things are in words. */
  readonly towns = signal<readonly Town[]>([]);
  /** What the map says for a while. */
  readonly note = signal("");
  /** The page is being printed. */
  readonly printing = signal(false);
  /** Its picture is on the screen. */
  readonly pictured = signal(false);
  /** Fingers are on the picture. */
  readonly held = signal(false);
  /** The picture that the first script has asked for, for the first map of this document. */
  first: First | undefined = window.hazarddFirst;
  readonly timeOpen = signal(false);
  readonly legendOpen = signal(false);
  /** The names of the operator's layers that the map shows. */
  readonly layers = signal<readonly string[]>([]);
  /** The places of the reader's organizations, while they are shown on the map. */
  readonly assets = signal<AssetLayer | undefined>(undefined);
  /** The search for places is open. */
  readonly findOpen = signal(false);
  /** On a phone: how much of the screen the list takes. */
  readonly sheet = signal<"peek" | "half" | "full">("half");
  readonly themeChoice: Signal<ThemeChoice>;
  readonly theme: ReadonlySignal<Theme>;
  readonly reducedMotion: ReadonlySignal<boolean>;
  readonly narrow: ReadonlySignal<boolean>;
  readonly summaries: Summaries;
  readonly said: Said;
  /** The most important dangers in the window: callouts leave them free. */
  readonly worst = computed(() => {
    const { store } = this;
    const worst = store.inWindow.value.filter((h) => severity(h.severity_ID).rank >= RANKED_FROM && !store.areas.knownAs(h));
    return worst.sort(byImportance(store.past.value?.places ?? store.importance.places.value)).slice(0, WORST);
  });
  /** The first of them by hazard id, from 1: the list and the map show the same numbers. */
  readonly ranks = computed<ReadonlyMap<number, number>>(() => new Map(this.worst.value.slice(0, RANKS).map((h, n) => [h.hazard_ID, n + 1])));
  readonly editing: Editing;
  readonly attention: Attention;
  /** The available channels; undefined if unknown, or not for this reader. */
  readonly offered = signal<Offered | undefined>(undefined);
  /**
   * Whether subscriptions are shown instead of the panel. Unsaved input stays when they are closed.
   */
  readonly telling = signal(false);
  readonly tellDraft = signal<TellDraft | undefined>(undefined);
  /** The panel of the selected hazard has not answered yet: it goes before the map. */
  readonly opening: Signal<boolean>;
  #channels: Promise<Offered> | undefined;
  /** Where the focus was before the panel took it. */
  #back: HTMLElement | undefined;
  /** The browser's present entry is one that a panel has made. */
  #entered = false;
  /** Set when the panel is to take the focus. */
  readonly focusPanel = signal(0);

  constructor(
    readonly api: Api,
    readonly store: Store,
  ) {
    window.hazarddFirst = undefined;
    this.opening = signal(store.selected.peek() !== undefined);
    this.summaries = new Summaries(api);
    this.said = new Said(api);
    this.editing = new Editing(store);
    this.attention = new Attention(store, (n) => this.open(n.hazard, { zoom: true }), () => this.editing.drafts.value?.calls.value ?? 0);
    const dark = media("(prefers-color-scheme: dark)");
    this.reducedMotion = media("(prefers-reduced-motion: reduce)");
    this.narrow = media(NARROW);
    let kept: string | null = null;
    try {
      kept = localStorage.getItem("hazardd.theme");
    } catch {
      // Storage may be forbidden: the theme is then as the system's.
    }
    this.themeChoice = signal(kept === "light" || kept === "dark" ? kept : "auto");
    this.theme = computed(() => (this.themeChoice.value === "auto" ? (dark.value ? "dark" : "light") : this.themeChoice.value));
  }

  chooseTheme(choice: ThemeChoice): void {
    this.themeChoice.value = choice;
    try {
      if (choice === "auto") localStorage.removeItem("hazardd.theme");
      else localStorage.setItem("hazardd.theme", choice);
    } catch {
      // It holds until the page is closed.
    }
  }

  /** The list that this page follows: of summaries, or for who edits, of whole records. */
  feed(): Feed {
    if (this.api.user && this.api.user.role !== "reader") return whole(this.api);
    let shown: readonly Summary[] | undefined;
    return {
      path: SUMMARIES,
      read: async (options, always) => {
        const [headers, list] = await this.summaries.read(options);
        if (list === shown && !always) return [headers];
        shown = list;
        this.summaries.take(list);
        this.store.importance.places.value = placesOf(list.map((s) => s.hazard_ID));
        this.store.areas.boxes(list);
        return [headers, list.map(briefOf)];
      },
    };
  }

  /** Opens a hazard's panel and takes the focus there. */
  open(h: Hazard, options: { zoom?: boolean } = {}): void {
    const active = document.activeElement;
    if (active instanceof HTMLElement && !active.closest(".panel")) this.#back = active;
    this.chooser.value = undefined;
    this.tip.value = undefined;
    this.telling.value = false;
    // On a phone the button that goes back closes the panel, which covers the list. One entry is enough for all panels.
    if (this.narrow.peek() && !this.store.selected.peek() && !this.#entered) {
      history.pushState(null, "", location.href);
      this.#entered = true;
    }
    this.opening.value = true;
    this.store.select(h.uuid);
    // While its code comes: what it will ask for.
    if (h.brief) void this.store.findSelected();
    void this.channels().catch(() => {});
    this.focusPanel.value++;
    this.withMap((map) =>
      // Once the panel is there: the map is beside it.
      requestAnimationFrame(() => {
        if (this.store.selected.peek() !== h.uuid || this.map.peek() !== map) return;
        map.map.resize();
        const area = this.store.areas.bounds(h);
        if (options.zoom || !map.frames(h, area)) map.show(h, area, options.zoom === true);
      })
    );
  }

  /** The reader has gone back, or forward. */
  went(): void {
    this.#entered = false;
  }

  /** Does something with the map, which is loaded for it where there is only its picture. */
  withMap(act: (map: MapView) => void): void {
    this.moving.value = true;
    let done = false;
    const stop = effect(() => {
      const map = this.map.value;
      if (!map || done) return;
      done = true;
      queueMicrotask(() => {
        stop();
        act(map);
      });
    });
  }

  /** The available channels; they are asked for once. */
  channels(): Promise<Offered> {
    const forget = (error: unknown) => {
      this.#channels = undefined;
      throw error;
    };
    return (this.#channels ??= this.api.get<"/subscriptions/channels">("/subscriptions/channels").catch(forget));
  }

  /** Finds whether there are channels, for readers who may subscribe. */
  async findChannels(): Promise<void> {
    try {
      const o = await this.channels();
      this.offered.value = o.email || o.webpush || o.http.length > 0 ? o : undefined;
    } catch {
      // Without channels or a connection, the button stays hidden.
    }
  }

  /** Closes the panel and returns the focus. */
  close(): void {
    this.opening.value = false;
    this.store.select(undefined);
    const back = this.#back;
    this.#back = undefined;
    // The list may have been covered by the panel until now.
    requestAnimationFrame(() => {
      for (const to of [back, document.getElementById("list"), document.querySelector<HTMLElement>(".side .sheet-handle")]) {
        if (to?.isConnected && to.checkVisibility()) return to.focus();
      }
    });
  }
}

function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const s = signal(list.matches);
  list.addEventListener("change", () => (s.value = list.matches));
  return s;
}

export const PageContext = createContext<Page | undefined>(undefined);
export const PageProvider = PageContext.Provider;

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("usePage outside of the page");
  return page;
}
