// What matters of each hazard in short: its headline, its importance. The most important come first, before the whole list, which is large: so the first
// rows are there soon. All follow, and again after changes.
import { signal } from "@preact/signals";
import { LoggedOutError, type Api, type Schemas } from "./api";
import type { Filter } from "./filter";
import type { Hazard } from "./model";

export type Summary = Schemas["Summary"];

/** Rows of the first answer. */
const FIRST = 30;
/** Milliseconds between two readings of all. */
const PAUSE = 60_000;

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
    return s && Date.parse(s.updated) === Number(h.update_Date) ? s : undefined;
  }

  /** Reads the most important of a filter. What fails leaves the rows to the list. */
  async begin({ types, severities, categories }: Filter, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ limit: String(FIRST) });
    for (const [name, list] of [["type", types], ["severity", severities], ["category", categories]] as const) if (list.length > 0) query.set(name, list.join(","));
    try {
      this.first.value = (await (await this.api.request(`/hazards/active/summary?${query}`, { signal })).json()) as Summary[];
    } catch {
      // The list says what is wrong.
    }
  }

  /** Says that hazards have come, changed or gone, or that texts are in another language: all are read, not more often than each minute. */
  changed(): void {
    this.#timer ??= setTimeout(() => void this.#readAll(), Math.max(1_000, this.#read + PAUSE - Date.now()));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #readAll(): Promise<void> {
    this.#read = Date.now();
    try {
      const answer = await this.api.request("/hazards/active/summary", { headers: this.#tag ? { "If-None-Match": this.#tag } : {}, allow: [304, 404, 503] });
      this.#timer = undefined;
      if (!answer.ok) return;
      this.#tag = answer.headers.get("ETag") ?? undefined;
      this.#all.value = new Map(((await answer.json()) as Summary[]).map((s) => [s.hazard_ID, s]));
    } catch (error) {
      this.#timer = undefined;
      if (!(error instanceof LoggedOutError)) this.changed();
    }
  }
}
