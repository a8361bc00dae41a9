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

  /** Says that hazards have come or changed: what is not known of them is read, soon. */
  changed(hazards: Hazards): void {
    clearTimeout(this.#timer);
    const all = this.#all.peek();
    const missing = [...hazards.values()].filter((h) => !all.has(h.hazard_ID) || !isOf(all.get(h.hazard_ID)!, h)).map((h) => h.hazard_ID);
    if (missing.length === 0) return;
    const many = missing.length > AT_ONCE;
    this.#timer = setTimeout(() => void this.#readSome(many ? undefined : missing, hazards), Math.max(1_000, this.#read + (many ? PAUSE_ALL : PAUSE) - Date.now()));
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Reads the summaries of those ids; undefined: all. */
  async #readSome(ids: readonly number[] | undefined, hazards: Hazards): Promise<void> {
    this.#read = Date.now();
    const query = ids ? `?${new URLSearchParams({ filter: `hazard_ID IN (${ids.join(",")})`, limit: String(AT_ONCE) })}` : "";
    try {
      const answer = await this.api.request(`/hazards/active/summary${query}`, { headers: this.#tag && !ids ? { "If-None-Match": this.#tag } : {}, allow: [304, 404, 503] });
      if (!answer.ok) return;
      const list = (await answer.json()) as Summary[];
      if (!ids) this.#tag = answer.headers.get("ETag") ?? undefined;
      this.#all.value = new Map([...(ids ? this.#all.peek() : []), ...list.map((s) => [s.hazard_ID, s] as const)]);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) this.changed(hazards);
    }
  }
}
