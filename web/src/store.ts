// The state of the page as signals, and the functions that change it. It does not know how it is
// drawn.
import { batch, computed, signal } from "@preact/signals";
import type { Feature } from "geojson";
import { LoggedOutError, LostError, Problem, type Api } from "./api";
import { between, isWarning, lowered, merge, mergeSome, raised, type Diff, type Hazards } from "./diff";
import { isFiltering, matcher, noFilter, within, type Bounds, type Filter } from "./filter";
import { freshness, trust, type Freshness } from "./freshness";
import { Latest } from "./latest";
import type { Areas } from "./map/areas";
import { isDrill, severity, severityName, type Change, type Hazard, type Source, type Summary } from "./model";
import { pauseAfter, type Sink } from "./live";
import { Importance, placesOf } from "./importance";
import { away, byDistance, byImportance, byLevel, byTime, overAt, Ordered, type Compare } from "./order";
import { byId, text } from "./words";
import { format, type Order, type PageState, type View } from "./url";

export interface Connection {
  readonly state: "connecting" | "live" | "lost";
  /** When the server was last heard of, and since when it is lost: milliseconds of this machine's clock. */
  readonly heard: number | undefined;
  readonly lostSince: number | undefined;
  readonly why: string;
  readonly fresh: Freshness;
}

/** A hazard that has just come or become worse, or its state since then. */
export interface Notice {
  readonly id: number;
  readonly hazard: Hazard;
  readonly kind: "new" | "raised" | "lowered" | "ended" | "retracted";
  /** When it came, milliseconds. */
  readonly at: number;
}

/** A record, or the hazard whose number of products has changed; and the change as of which it is true. */
interface Came {
  readonly hazard?: Hazard;
  readonly asOf: number | undefined;
  readonly product?: number;
  readonly reason?: Change["reason"];
}

/** Words for a screen reader, and for all if nothing else on the screen says the same. */
export interface Said {
  readonly id: number;
  readonly words: string;
  readonly shown: boolean;
  /** When, milliseconds of this machine's clock. */
  readonly at: number;
}

export interface Past {
  readonly at: number;
  readonly state: "loading" | "ready" | "failed";
  readonly hazards: Hazards;
  /** The places of the hazards by importance then. */
  readonly places: ReadonlyMap<number, number>;
  /** The moment is before the first record: nothing is known of it. */
  readonly unrecorded: boolean;
  readonly note: string;
}

const FRESH = 5 * 60_000; // how long a hazard is marked as new, milliseconds
const NOTICE = 12_000; // how long it is announced on the map
const NOTICES = 4; // shown at once
const TOLD = 3; // told one by one; of more their number
const SAID = 8; // kept for screen readers
/** After a change as long as this times its cost belongs to the reader, at most STEP. Milliseconds. */
const SHARE = 4;
const STEP = 800;
/** Hazards that are read again at once because their products changed. */
const REREAD = 20;
/** When the server is asked again about a hazard whose end has come, milliseconds. */
const DUE_AGAIN = 30_000;
const noHazards: Hazards = new Map();
/**
 * From this zoom on, the reader looks at a particular place: hazards at the middle of the window
 * come first.
 */
const PLACE_ZOOM = 9;

function split<T>(list: readonly T[], test: (x: T) => boolean): readonly [T[], T[]] {
  const out: [T[], T[]] = [[], []];
  for (const x of list) out[test(x) ? 0 : 1].push(x);
  return out;
}

/** In the next frame, or after a pause; where no frames are drawn, as in a tab that nobody sees, soon after. */
function nextFrame(then: () => void, pause: number): void {
  setTimeout(() => {
    const late = setTimeout(() => {
      cancelAnimationFrame(frame);
      then();
    }, 200);
    const frame = requestAnimationFrame(() => {
      clearTimeout(late);
      then();
    });
  }, pause);
}

export class Store implements Sink {
  /** The active hazards now. */
  readonly live = signal<Hazards>(noHazards);
  readonly loaded = signal(false);
  /** The moment in the past that is looked at. */
  readonly past = signal<Past | undefined>(undefined);
  readonly filter = signal<Filter>(noFilter);
  readonly everywhere = signal(false);
  readonly bounds = signal<Bounds | undefined>(undefined);
  readonly view = signal<View | undefined>(undefined);
  readonly selected = signal<string | undefined>(undefined);
  /** The selected hazard when it is not among those shown: over, or not yet. */
  readonly elsewhere = signal<{ readonly uuid: string; readonly hazard: Hazard | undefined; readonly note: string } | undefined>(undefined);
  readonly hovered = signal<number | undefined>(undefined);
  readonly connection = signal<Connection>({ state: "connecting", heard: undefined, lostSince: undefined, why: "", fresh: { change: undefined, sources: undefined, viewAge: undefined } });
  readonly sources = signal<readonly Source[]>([]);
  /** When hazards came or became worse, by number; milliseconds. */
  readonly fresh = signal<ReadonlyMap<number, { readonly at: number; readonly kind: "new" | "raised" }>>(new Map());
  readonly notices = signal<readonly Notice[]>([]);
  /** Warnings that nobody has acknowledged, the last first. */
  readonly warned = computed(() => this.notices.value.filter(isWarning));
  /** What came last and passes the filter. */
  readonly told = signal<readonly Notice[]>([]);
  /** What was said last, in order. */
  readonly said = signal<readonly Said[]>([]);
  /** This machine's clock, each second; for texts such as "3 s ago". */
  readonly now = signal(Date.now());
  /** The server's clock, each quarter of a minute; for texts such as "3 min ago". */
  readonly around = computed(() => Math.floor((this.now.value + this.api.skew) / 15_000) * 15_000);
  /**
   * If set, receives the next click on the map as longitude and latitude in degrees, instead of
   * selecting a hazard. Forms use it to choose a place.
   */
  readonly placing = signal<((longitude: number, latitude: number) => void) | undefined>(undefined);
  /** Counts the changes of products by hazard id, so that lists of products know when to reload. */
  readonly productChanges = signal<ReadonlyMap<number, number>>(new Map());

  /** Where the reader is, if they have said so; it never leaves this page. Else distances are from the middle of the map. */
  readonly me = signal<readonly [longitude: number, latitude: number] | undefined>(undefined);
  readonly from = computed(() => this.me.value ?? this.view.value?.center);
  /** A place that the reader has searched for. */
  readonly searched = signal<readonly [longitude: number, latitude: number] | undefined>(undefined);
  /** The place that the reader asks about: searched or located and in the window, or what they look at from near; undefined: none. */
  readonly place = computed(() => {
    const [bounds, view] = [this.bounds.value, this.view.value];
    for (const at of [this.searched.value, this.me.value]) if (at && bounds && within(bounds, ...at)) return at;
    return view && view.zoom >= PLACE_ZOOM ? view.center : undefined;
  });
  readonly order = signal<Order>("importance");
  readonly importance: Importance;
  /** The order that the reader chose. */
  readonly by = computed<Compare>(() => {
    if (this.order.value === "importance") return byImportance(this.past.value?.places ?? this.importance.places.value);
    if (this.order.value === "time") return byTime;
    const from = this.order.value === "distance" && this.from.value;
    return from ? byDistance((h) => (this.areas.contains(h, ...from) ? 0 : away(h, from))) : byLevel;
  });

  readonly shown = computed<Hazards>(() => this.past.value?.hazards ?? this.live.value);
  /** How many of them are real. */
  readonly real = computed(() => {
    let n = 0;
    for (const h of this.shown.value.values()) if (!isDrill(h)) n++;
    return n;
  });
  /** The hazards that match the filter, as shown on the map. */
  readonly matching = computed<Hazards>(() => {
    const f = this.filter.value;
    if (!isFiltering(f)) return this.shown.value;
    const match = matcher(f);
    return new Map([...this.shown.value].filter(([, h]) => match(h)));
  });
  /** In the chosen order. Drills are separate, in `exercises`, and never count as real. */
  readonly sorted = computed(() => this.#real.follow(this.matching.value, this.by.value));
  readonly exercises = computed(() => this.#drills.follow(this.matching.value, this.by.value));
  /** Those that contain the place that the reader asks about. */
  readonly here = computed<ReadonlySet<Hazard>>(() => {
    const place = this.place.value;
    this.areas.news.value;
    return new Set(place ? [...this.matching.value.values()].filter((h) => this.areas.contains(h, ...place)) : []);
  });
  readonly inWindow = computed(() => this.#within(this.sorted.value));
  readonly exercisesInWindow = computed(() => this.#within(this.exercises.value));
  /** Hazards whose areas are unknown or out of date, so each may reach into the window. */
  readonly unplaced = computed(() => {
    this.areas.news.value;
    return this.shown.value.size > 0 ? this.areas.unknown() : 0;
  });
  /** What the list shows, and below it. */
  readonly listed = computed(() => (this.everywhere.value ? this.sorted.value : this.inWindow.value));
  readonly listedExercises = computed(() => (this.everywhere.value ? this.exercises.value : this.exercisesInWindow.value));
  readonly selectedHazard = computed<Hazard | undefined>(() => {
    const id = this.selected.value;
    if (!id) return undefined;
    for (const h of this.shown.value.values()) if (h.uuid === id) return h;
    return this.elsewhere.value?.uuid === id ? this.elsewhere.value.hazard : undefined;
  });
  readonly pageState = computed<PageState>(() => ({
    view: this.view.value,
    filter: this.filter.value,
    selected: this.selected.value,
    at: this.past.value?.at,
    everywhere: this.everywhere.value,
    order: this.order.value,
  }));
  readonly hash = computed(() => format(this.pageState.value));

  /** Where no official warnings are read, and whether they are read for any part of a window (undefined: not known). See coverage.ts. */
  readonly coverage = signal<{ readonly gaps: readonly Feature[]; covers(window: Bounds): boolean | undefined } | undefined>(undefined);
  /** Whether official warnings are read for any part of the map's window; undefined: not known. Without any source another word is said. */
  readonly covered = computed(() => {
    const s = trust(this.connection.value.fresh.sources);
    const window = this.bounds.value;
    return this.past.value || s === "none" || s === "unknown" || !window ? undefined : this.coverage.value?.covers(window);
  });

  readonly #real = new Ordered(false);
  readonly #drills = new Ordered(true);
  readonly #latest = new Latest();
  /** Hazards in short whose end has come, and of which the server is asked. */
  readonly #due = new WeakSet<Hazard>();
  /**
   * What has come and is not applied yet, until when the time belongs to the reader, and whether
   * the next step is scheduled.
   */
  #queue: Came[] = [];
  #next = 0;
  #stepping = false;
  #noticed = 0;
  /** What is shown is a stored view. */
  #kept = false;
  #asking = new AbortController();

  constructor(
    readonly api: Api,
    readonly areas: Areas,
    initial: PageState,
    /** Calls back when a change may be taken over: in the next frame, or after a pause in milliseconds. */
    private readonly soon: (then: () => void, pause: number) => void = nextFrame,
  ) {
    this.importance = new Importance(api);
    this.apply(initial);
  }

  /** Takes over the state of an address. */
  apply(s: PageState): void {
    batch(() => {
      this.filter.value = s.filter;
      this.everywhere.value = s.everywhere;
      this.order.value = s.order;
      this.view.value = s.view;
      this.selected.value = s.selected;
    });
    if (s.at !== this.past.peek()?.at) void this.lookAt(s.at);
  }

  /**
   * The hazards that reach into the map's window, in the given order. In orders by importance and
   * level, those that contain its middle come first.
   */
  #within(list: readonly Hazard[]): readonly Hazard[] {
    const b = this.bounds.value;
    if (!b) return list;
    this.areas.news.value;
    const here = this.here.value;
    const order = this.order.value;
    // What is only possibly here comes after all that is here for certain.
    const possible = list.filter((h) => this.areas.knownAs(h));
    if (possible[0]) return [...this.#within(list.filter((h) => !this.areas.knownAs(h))), ...possible.filter((h) => this.areas.touches(h, b))];
    if (order === "time" || order === "distance") return list.filter((h) => here.has(h) || this.areas.touches(h, b));
    return [...list.filter((h) => here.has(h)), ...list.filter((h) => !here.has(h) && this.areas.touches(h, b))];
  }

  // ---- What the server says: see Sink.

  all(list: readonly Hazard[], fresh: Freshness): void {
    this.#flush();
    const counts = this.#latest.takesAll(fresh.change);
    if (!counts) return this.heard(fresh);
    const live = this.live.peek();
    const later = [...live.values()].filter((h) => !counts(h.hazard_ID));
    /** What is known better than in short stays. */
    const best = (h: Hazard) => {
      const before = h.brief ? live.get(h.hazard_ID) : undefined;
      return before && !before.brief && before.update_Date === h.update_Date ? before : h;
    };
    const { hazards, diff } = merge(live, [...list.filter((h) => counts(h.hazard_ID) && (h.brief || !overAt(h, this.api.now()))).map(best), ...later]);
    const first = !this.loaded.peek() || this.#kept;
    this.#kept = false;
    if (!list[0]?.brief) this.#reorder(); // summaries come in order
    batch(() => {
      this.live.value = hazards;
      this.loaded.value = true;
      this.heard(fresh);
      if (!first) this.#notice(diff);
    });
  }

  reset(): void {
    this.#queue = [];
    this.#latest.forget();
    this.api.beginAnew();
  }

  change(c: Change): void {
    this.#came({ ...("product" in c ? { product: c.product.hazard_ID } : { hazard: c.hazard }), asOf: c.change, reason: c.reason });
  }

  /** Takes over what the server has answered of one hazard; `h` is what the api returned. What the page knows by a later change stays. */
  take(h: Hazard): void {
    this.#came({ hazard: h, asOf: this.api.asOf(h) });
  }

  #came(came: Came): void {
    this.#queue.push(came);
    if (this.#stepping) return;
    this.#stepping = true;
    // Leave most of the time to the reader, however many changes arrive.
    this.soon(() => {
      this.#stepping = false;
      const begin = performance.now();
      this.#flush();
      const end = performance.now();
      this.#next = end + Math.min((end - begin) * SHARE, STEP);
    }, Math.max(0, this.#next - performance.now()));
  }

  /** Takes over all that has come, as one. */
  #flush(): void {
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    this.#reorder();
    const records = queue.flatMap(({ hazard: h, asOf }) => (h && this.#latest.takes(h.hazard_ID, asOf) ? (overAt(h, this.api.now()) ? { ...h, status: "E" as const } : h) : []));
    const { hazards, diff } = mergeSome(this.live.peek(), records);
    const open = records.filter((h) => h.uuid === this.selected.peek() || h.uuid === this.elsewhere.peek()?.uuid).at(-1);
    batch(() => {
      this.live.value = hazards;
      // An ended hazard stays in the panel, but its earlier result is outdated.
      if (open) this.elsewhere.value = open.status === "A" ? undefined : { uuid: open.uuid, hazard: open, note: "" };
      this.#notice(diff, new Map(queue.map((c) => [c.hazard?.hazard_ID ?? 0, c.reason])));
    });
    this.#reread(new Set(queue.flatMap((c) => c.product ?? [])));
  }

  /** What counts people, or pins, changes the order and no record. */
  #reorder(): void {
    if (this.order.peek() === "importance") void this.importance.changed();
  }

  heard(fresh?: Freshness): void {
    const before = this.connection.peek();
    this.connection.value = { state: "live", heard: Date.now(), lostSince: undefined, why: "", fresh: fresh ? { ...fresh, sources: fresh.sources ?? before.fresh.sources } : before.fresh };
    if (before.state === "lost") this.say(text.status.back, true);
  }

  lost(why: string): void {
    const before = this.connection.peek();
    this.connection.value = { ...before, state: "lost", lostSince: before.lostSince ?? Date.now(), why };
    if (before.state !== "lost") this.say(text.status.lostSpoken, true);
  }

  /** The number of products is part of a hazard, and is not in a product's change. */
  #reread(ids: ReadonlySet<number>): void {
    if (ids.size === 0) return;
    const counts = new Map(this.productChanges.peek());
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    this.productChanges.value = counts;
    const whole = [...ids].filter((id) => !this.live.peek().get(id)?.brief);
    if (whole.length > REREAD) return; // the next list has them
    for (const id of whole) void this.api.get<"/hazards/{hazard-id}">(`/hazards/${id}`).then((h) => this.take(h), () => {}); // the next list has it
  }

  /** Tells what a difference means: what came or became worse, and of what was told or is shown, what is over or became milder. */
  #notice(diff: Diff, reasons: ReadonlyMap<number, Change["reason"]> = new Map()): void {
    this.#follow(diff, reasons);
    const came: Notice[] = [
      ...diff.added.map((hazard) => ({ id: ++this.#noticed, hazard, kind: "new" as const, at: this.api.now() })),
      ...diff.changed.filter((c) => raised(c.from, c.to)).map((c) => ({ id: ++this.#noticed, hazard: c.to, kind: "raised" as const, at: this.api.now() })),
    ];
    if (came.length === 0) return;
    const now = Date.now();
    const fresh = new Map(this.fresh.peek());
    for (const n of came) fresh.set(n.hazard.hazard_ID, { at: now, kind: n.kind as "new" | "raised" });
    this.fresh.value = fresh;
    const match = matcher(this.filter.peek());
    const told = came.filter((n) => match(n.hazard)).sort((a, b) => byLevel(a.hazard, b.hazard));
    if (told.length === 0) return;
    const again = new Set(told.map((n) => n.hazard.hazard_ID));
    // A warning stays until somebody acknowledges it, however many there are.
    const [warnings, others] = split([...told, ...this.notices.peek().filter((n) => !again.has(n.hazard.hazard_ID))], isWarning);
    this.notices.value = [...warnings, ...others.slice(0, NOTICES)];
    this.told.value = told;
    if (told.length > TOLD) this.say(text.notice.many({ n: told.length, warnings: told.filter(isWarning).length }), true);
    else {
      for (const n of told)
        this.say(text.notice.spoken({ kind: n.kind, severity: severityName(severity(n.hazard.severity_ID)), name: n.hazard.hazard_Name, drill: isDrill(n.hazard) ? "yes" : "no" }), true);
    }
    const ids = new Set(told.filter((n) => n.hazard.severity_ID !== "WARNING").map((n) => n.id));
    if (ids.size > 0) setTimeout(() => (this.notices.value = this.notices.peek().filter((n) => !ids.has(n.id))), NOTICE);
  }

  /** Cards follow the records. What a card, the panel or a warning says no longer is told, once; of a retraction always. */
  #follow({ changed, removed }: Diff, reasons: ReadonlyMap<number, Change["reason"]>): void {
    const now = new Map<number, { readonly kind: Notice["kind"]; readonly hazard: Hazard }>();
    const what: [Hazard, string][] = [];
    const match = matcher(this.filter.peek());
    const cards = new Set(this.notices.peek().map((n) => n.hazard.hazard_ID));
    const matters = (h: Hazard) => cards.has(h.hazard_ID) || h.uuid === this.selected.peek() || (h.severity_ID === "WARNING" && match(h));
    for (const { from, to } of changed) {
      if (!lowered(from, to)) continue;
      now.set(to.hazard_ID, { kind: "lowered", hazard: to });
      if (matters(from)) what.push([to, text.notice.lowered({ severity: severityName(severity(to.severity_ID)) })]);
    }
    for (const h of removed) {
      const reason = reasons.get(h.hazard_ID);
      const retracted = reason === "retracted";
      now.set(h.hazard_ID, { kind: retracted ? "retracted" : "ended", hazard: h });
      if (matters(h) || (retracted && match(h))) what.push([h, (reason && byId(text.history.reasons, reason)) || text.notice.ended]);
    }
    const to = new Map(changed.map((c) => [c.to.hazard_ID, c.to]));
    if (cards.size > 0) {
      this.notices.value = this.notices.peek().map((n) => ({ ...n, ...(now.get(n.hazard.hazard_ID) ?? { hazard: to.get(n.hazard.hazard_ID) ?? n.hazard }) }));
    }
    if (what.length > TOLD) this.say(text.notice.manyOver({ n: what.length }));
    else for (const [h, words] of what) this.say(text.notice.over({ name: h.hazard_Name, what: words, drill: isDrill(h) ? "yes" : "no" }), cards.has(h.hazard_ID));
  }

  /** Takes notices from the map: the reader has seen them. */
  acknowledge(seen: readonly Notice[]): void {
    this.notices.value = this.notices.peek().filter((n) => !seen.includes(n));
  }

  /** Shows a stored view as of a moment, while there is no connection. */
  keptView(list: readonly Hazard[], at: number): void {
    this.#kept = true;
    batch(() => {
      this.live.value = merge(noHazards, list.filter((h) => !overAt(h, this.api.now()))).hazards;
      this.loaded.value = true;
      this.areas.failing.value = true;
      this.connection.value = { ...this.connection.peek(), state: "lost", heard: at, lostSince: at };
    });
  }

  /** Tells everybody, for a while; only screen readers if it is on the screen already. Each time is told, also with the same words. */
  say(words: string, onScreen = false): void {
    this.said.value = [...this.said.peek(), { id: ++this.#noticed, words, shown: !onScreen, at: Date.now() }].slice(-SAID);
  }

  // ---- What time does.

  /** Each second: the clock of texts, ends that have come, marks that are old. */
  tick(): void {
    const now = this.api.now();
    batch(() => {
      this.now.value = Date.now();
      const live = this.live.peek();
      let rest: Map<number, Hazard> | undefined;
      for (const h of live.values()) {
        if (!overAt(h, now) || (h.brief && this.#isDue(h))) continue;
        (rest ??= new Map(live)).delete(h.hazard_ID);
      }
      if (rest) {
        this.live.value = rest;
        this.#notice(between(live, rest));
      }
      const fresh = this.fresh.peek();
      for (const f of fresh.values()) {
        if (f.at < Date.now() - FRESH) {
          this.fresh.value = new Map([...fresh].filter(([, f]) => f.at >= Date.now() - FRESH));
          break;
        }
      }
    });
  }

  /** Whether a hazard in short stays though its end has come, because it may have been an expected one: the server is asked. */
  #isDue(h: Hazard): boolean {
    if (this.connection.peek().state !== "live") return false;
    if (!this.#due.has(h)) {
      this.#due.add(h);
      void this.api.get<"/hazards/{hazard-id}">(`/hazards/${h.hazard_ID}`).then((whole) => this.take(whole), () => setTimeout(() => this.#due.delete(h), DUE_AGAIN));
    }
    return true;
  }

  // ---- What the user does.

  setFilter(change: Partial<Filter>): void {
    this.filter.value = { ...this.filter.peek(), ...(change.text === undefined ? {} : { found: undefined }), ...change };
  }

  select(uuid: string | undefined): void {
    const h = uuid ? [...this.shown.peek().values()].find((x) => x.uuid === uuid) : undefined;
    batch(() => {
      this.selected.value = uuid;
      this.hovered.value = undefined;
      if (h && this.fresh.peek().has(h.hazard_ID)) {
        const fresh = new Map(this.fresh.peek());
        fresh.delete(h.hazard_ID);
        this.fresh.value = fresh;
      }
      if (uuid) this.notices.value = this.notices.peek().filter((n) => n.hazard.uuid !== uuid);
    });
  }

  /** Finds the selected hazard when it is not among those shown, or in short; it is asked for until there is an answer. */
  async findSelected(): Promise<void> {
    const uuid = this.selected.peek();
    if (!uuid || this.elsewhere.peek()?.uuid === uuid) return;
    const found = (hazard: Hazard | undefined, note: string) => (this.elsewhere.value = { uuid, hazard, note });
    const asking = () => this.selected.peek() === uuid && this.elsewhere.peek()?.uuid === uuid && (this.selectedHazard.peek()?.brief ?? true);
    found(undefined, "");
    for (let failures = 0; asking(); failures++) {
      try {
        const hazard = await this.api.get<"/hazards/{hazard-id}">(`/hazards/${uuid}`);
        this.#flush();
        if (!asking()) return;
        if (this.selectedHazard.peek()) {
          this.elsewhere.value = undefined;
          return void this.take(hazard);
        }
        if (this.#latest.takes(hazard.hazard_ID, this.api.asOf(hazard))) return void found(hazard, "");
      } catch (error) {
        if (error instanceof LoggedOutError || !asking()) return;
        if (error instanceof Problem && error.status === 404) return void found(undefined, text.panel.unknown);
        found(undefined, text.panel.unread);
      }
      await new Promise((resolve) => setTimeout(resolve, pauseAfter(failures, Math.random())));
    }
  }

  /** Shows the hazards as they were at a moment, milliseconds; undefined: as they are now. */
  async lookAt(at: number | undefined): Promise<void> {
    this.#asking.abort();
    if (at === undefined) {
      this.past.value = undefined;
      return;
    }
    const { signal } = (this.#asking = new AbortController());
    const before = this.past.peek();
    this.past.value = { at, state: "loading", hazards: before?.hazards ?? noHazards, places: before?.places ?? new Map(), unrecorded: false, note: "" };
    try {
      // The pause lets a slider move without a request for each step.
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (signal.aborted) return;
      const answer = await this.api.request(`/hazards/active?sort=importance&at=${encodeURIComponent(new Date(at).toISOString())}`, { signal });
      const list = (await answer.json()) as Hazard[];
      const unrecorded = freshness(answer.headers).change === 0;
      this.past.value = {
        at,
        state: "ready",
        hazards: merge(before?.hazards ?? noHazards, list).hazards,
        places: placesOf(list.map((h) => h.hazard_ID)),
        unrecorded,
        note: unrecorded ? text.time.unrecorded : "",
      };
    } catch (error) {
      if (signal.aborted) return;
      const note = error instanceof LostError ? text.time.lost : error instanceof Problem && error.status === 400 ? text.time.refused({ why: error.detail }) : text.time.failed;
      this.past.value = { at, state: "failed", hazards: noHazards, places: new Map(), unrecorded: false, note };
    }
  }

  /**
   * Reloads what is shown besides the active list: the past, and the panel's data. Records that were
   * read whole are taken for short ones until they are read again: their texts are in another language.
   */
  reread(): void {
    if (this.loaded.peek()) this.live.value = new Map([...this.live.peek()].map(([id, h]) => [id, h.brief ? h : { ...h, brief: true as const }]));
    const past = this.past.peek();
    if (past) void this.lookAt(past.at);
    if (this.elsewhere.peek()) {
      this.elsewhere.value = undefined;
      void this.findSelected();
    }
  }

  /** Asks the server for the hazards in whose texts words are: records in short have no texts. */
  async search(words: string, signal: AbortSignal): Promise<void> {
    try {
      const answer = await this.api.request(`/hazards/active/summary?${new URLSearchParams({ q: words })}`, { signal });
      const found = new Set(((await answer.json()) as Summary[]).map((s) => s.hazard_ID));
      if (this.filter.peek().text.trim() === words) this.filter.value = { ...this.filter.peek(), found };
    } catch {
      // Names are searched here.
    }
  }

  async readSources(): Promise<void> {
    try {
      this.sources.value = await this.api.get<"/sources">("/sources");
    } catch {
      // The status bar says that the connection is lost.
    }
  }
}
