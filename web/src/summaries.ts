// What matters of each hazard in short: its headline, its importance. For readers the list of summaries is the list of hazards; the most important come
// before it, so that the first rows are there soon. After changes those of the hazards that changed are read again.
import { signal } from "@preact/signals";
import { LoggedOutError, type Api } from "./api";
import { rowsAddress } from "./begin";
import type { Hazards } from "./diff";
import type { Filter } from "./filter";
import type { Hazard, Summary } from "./model";

/** Summaries of one request by number; of more all are read. */
const AT_ONCE = 150;
/** Milliseconds between two readings: of some, and of all. */
const PAUSE = 5_000;
const PAUSE_ALL = 60_000;

const isOf = (s: Summary, h: Hazard): boolean => Date.parse(s.updated) === Number(h.update_Date);

export class Summaries {
  /** The most important, until the list is there; undefined: not known yet. */
  readonly first = signal<readonly Summary[] | undefined>(undefined);
  readonly #all = signal<ReadonlyMap<number, Summary>>(new Map());
  #hazards: Hazards = new Map();
  #tag: string | undefined;
  #read = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: Pick<Api, "request">) {}

  /** The summary of a hazard as it is; undefined: not read yet. */
  of(h: Hazard): Summary | undefined {
    const s = this.#all.value.get(h.hazard_ID);
    return s && isOf(s, h) ? s : undefined;
  }

  /** Takes over the whole list. */
  take(list: readonly Summary[]): void {
    this.#all.value = new Map(list.map((s) => [s.hazard_ID, s]));
  }

  /** Forgets all: texts are in another language now. */
  forget(): void {
    this.#tag = undefined;
    this.take([]);
  }

  /** Reads the most important of a filter, which the first script may have asked for. What fails leaves the rows to the list. */
  async begin(filter: Filter, signal: AbortSignal): Promise<void> {
    const address = rowsAddress(filter);
    const early = window.hazarddRows;
    window.hazarddRows = undefined;
    try {
      const there = early?.address === address ? await early.rows : undefined;
      this.first.value = there ?? ((await (await this.api.request(address, { signal })).json()) as Summary[]);
    } catch {
      // The list says what is wrong.
    }
  }

  /** Says that hazards have come or changed: what is not known of them is read soon, also while more changes. */
  changed(hazards: Hazards): void {
    this.#hazards = hazards;
    this.#timer ??= this.#readIn(Math.max(1_000, this.#read + PAUSE - Date.now()));
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #readIn(wait: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => void this.#readMissing(), wait);
  }

  /** Reads the summaries that are missing; if those are many, all, but not that often. */
  async #readMissing(): Promise<void> {
    this.#timer = undefined;
    const ids = [...this.#hazards.values()].filter((h) => !this.of(h)).map((h) => h.hazard_ID);
    if (ids.length === 0) return;
    const all = ids.length > AT_ONCE;
    const wait = this.#read + PAUSE_ALL - Date.now();
    if (all && wait > 0) {
      this.#timer = this.#readIn(wait);
      return;
    }
    this.#read = Date.now();
    const query = all ? "" : `?${new URLSearchParams({ filter: `hazard_ID IN (${ids.join(",")})`, limit: String(AT_ONCE) })}`;
    try {
      const answer = await this.api.request(`/hazards/active/summary${query}`, { headers: this.#tag && all ? { "If-None-Match": this.#tag } : {}, allow: [304, 404, 503] });
      if (!answer.ok) return;
      const list = (await answer.json()) as Summary[];
      if (all) this.#tag = answer.headers.get("ETag") ?? undefined;
      this.#all.value = new Map([...(all ? [] : this.#all.peek()), ...list.map((s) => [s.hazard_ID, s] as const)]);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) this.changed(this.#hazards);
    }
  }
}
