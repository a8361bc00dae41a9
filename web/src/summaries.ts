// What matters of each hazard in short: its headline, its importance. For readers the list of summaries is the list of hazards; the most important come
// before it, so that the first rows are there soon. After changes those of the hazards that changed are read again.
import { signal } from "@preact/signals";
import { LoggedOutError, Problem, type Api, type Options, type Schemas } from "./api";
import { rowsAddress } from "./begin";
import type { Hazards } from "./diff";
import type { Filter } from "./filter";
import type { Hazard, Summary } from "./model";

export const SUMMARIES = "/hazards/active/summary";
/** Milliseconds between two readings: of what has changed, and of all. */
const PAUSE = 5_000;
const PAUSE_ALL = 60_000;

const isOf = (s: Summary, h: Hazard): boolean => Date.parse(s.updated) === Number(h.update_Date);

export class Summaries {
  /** The most important, until the list is there; undefined: not known yet. */
  readonly first = signal<readonly Summary[] | undefined>(undefined);
  readonly #all = signal<ReadonlyMap<number, Summary>>(new Map());
  #hazards: Hazards = new Map();
  #list: readonly Summary[] = [];
  #tag: string | undefined;
  #begun = false;
  #read = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: Pick<Api, "request" | "open" | "user">) {}

  /** The summary of a hazard as it is; undefined: not read yet. */
  of(h: Hazard): Summary | undefined {
    const s = this.#all.value.get(h.hazard_ID);
    return s && isOf(s, h) ? s : undefined;
  }

  /**
   * Reads the list, or what has changed of it: the answer's header, the list, which is the same one if nothing has, and whether all of it came again. The first
   * time it goes on from the list that the browser has kept, if it may keep any: that one is old, and is shown to nobody.
   */
  async read(options: Options): Promise<readonly [Headers, readonly Summary[], boolean]> {
    if (!this.#begun && this.api.open && !this.api.user) await this.#take(await this.api.request(SUMMARIES, { ...options, cache: "force-cache" }), []);
    this.#begun = true;
    const [tag, before] = [this.#tag, this.#list];
    try {
      const answer = await this.api.request(tag ? `${SUMMARIES}?since=${encodeURIComponent(tag)}` : SUMMARIES, options);
      return [answer.headers, ...(await this.#take(answer, before))];
    } catch (error) {
      if (error instanceof Problem) this.#tag = undefined;
      throw error;
    }
  }

  async #take(answer: Response, before: readonly Summary[]): Promise<[readonly Summary[], boolean]> {
    const said = (await answer.json()) as readonly Summary[] | Schemas["SummaryDifference"];
    let list = before;
    if (!("tag" in said)) list = said;
    else if (said.gone.length + said.changed.length > 0) {
      const out = new Set([...said.gone, ...said.changed.map((c) => c.hazard.hazard_ID)]);
      const all = before.filter((s) => !out.has(s.hazard_ID));
      for (const { index, hazard } of said.changed) all.splice(index, 0, hazard);
      if (all.length !== said.total) throw new Problem(0, "the list is not whole");
      list = all;
    }
    this.#tag = "tag" in said ? said.tag : (answer.headers.get("ETag") ?? undefined);
    this.#list = list;
    return [list, list === said && before.length > 0];
  }

  /** Takes over the whole list. */
  take(list: readonly Summary[]): void {
    this.#all.value = new Map(list.map((s) => [s.hazard_ID, s]));
  }

  /** Forgets all: texts are in another language now. */
  forget(): void {
    this.#tag = undefined;
    this.#list = [];
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

  /** Reads what has changed, if summaries are missing. */
  async #readMissing(): Promise<void> {
    this.#timer = undefined;
    if (![...this.#hazards.values()].some((h) => !this.of(h))) return;
    this.#read = Date.now();
    try {
      const [, list, all] = await this.read({});
      if (all) this.#read += PAUSE_ALL - PAUSE;
      this.take(list);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) this.changed(this.#hazards);
    }
  }
}
