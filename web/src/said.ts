// What is said of a hazard in parts: what, how bad, where, until when, what to do. It is asked for hazard by hazard, so only of what is opened, and of
// the few that matter most.
import { signal } from "@preact/signals";
import { again } from "./again";
import { Problem, type Api, type Schemas } from "./api";
import type { Hazard } from "./model";
import { language } from "./words";

export type Headline = Schemas["Headline"];

/** Kept at most. */
const KEPT = 200;

export class Said {
  readonly #known = signal<ReadonlyMap<string, Headline>>(new Map());
  readonly #asked = new Set<string>();

  constructor(private readonly api: Pick<Api, "get">) {}

  /** What is said of a version of a hazard, now or at an earlier moment, milliseconds; undefined: not read yet. */
  of(h: Hazard, at?: number): Headline | undefined {
    return this.#known.value.get(addressOf(h, at));
  }

  /** Asks for it, once, until it comes. */
  want(h: Hazard, at?: number): void {
    const key = addressOf(h, at);
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    const failed = (error: unknown) => error instanceof Problem && error.status < 500 && error.status !== 429;
    void again(() => this.api.get<"/hazards/{hazard-id}/headline">(key.split(" ")[0]!), failed, new AbortController().signal).then((said) => {
      if (!said) return void this.#asked.delete(key);
      const all = [...this.#known.peek(), [key, said] as const].slice(-KEPT);
      this.#known.value = new Map(all);
    });
  }
}

/** Its path, and the version that is asked about. */
const addressOf = (h: Hazard, at: number | undefined): string => {
  const query = new URLSearchParams({ lang: language().id, ...(at === undefined ? {} : { at: new Date(at).toISOString() }) });
  return `/hazards/${h.hazard_ID}/headline?${query} ${h.update_Date}`;
};
