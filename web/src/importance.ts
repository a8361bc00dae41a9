// The order of the active hazards by importance. Records do not contain it, so it is fetched from
// the service, and again after changes.
import { signal } from "@preact/signals";
import { LoggedOutError, type Api } from "./api";

/** The places of hazards in a list of their numbers. */
export const placesOf = (order: readonly number[]): ReadonlyMap<number, number> => new Map(order.map((id, place) => [id, place]));

// Milliseconds.
/** Changes within this time are asked about together. */
const PAUSE = 2_000;
const LONGEST_PAUSE = 30_000;

export class Importance {
  /** The rank of each hazard in the service's order, from 0; empty if unknown. */
  readonly places = signal<ReadonlyMap<number, number>>(new Map());
  #tag: string | undefined;
  #running = false;
  #again = false;

  constructor(
    private readonly api: Api,
    private readonly pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds * (0.5 + Math.random()))),
  ) {}

  /** Says that hazards have come, changed or gone: the order is read, one request at a time. What fails is tried again, with pauses that grow. */
  async changed(): Promise<void> {
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    let pause = PAUSE;
    while (this.#again) {
      this.#again = false;
      try {
        await this.#read();
        pause = PAUSE;
      } catch (error) {
        if (error instanceof LoggedOutError) break;
        this.#again = true;
        pause = Math.min(2 * pause, LONGEST_PAUSE);
      }
      await this.pause(pause);
    }
    this.#running = false;
  }

  async #read(): Promise<void> {
    const answer = await this.api.request("/hazards/active/order", { headers: this.#tag ? { "If-None-Match": this.#tag } : {}, allow: [304, 404, 405] });
    if (!answer.ok) return;
    this.places.value = placesOf((await answer.json()) as readonly number[]);
    this.#tag = answer.headers.get("ETag") ?? undefined;
  }
}
