// Stores the last view on this device, if the reader wants that: the active hazards, and when the
// server last responded. A logout removes it. A service worker stores the page's files
// (worker.ts).
import type { Hazard } from "./model";

export interface Kept {
  /** When the server last said so; milliseconds, by its clock. */
  readonly at: number;
  readonly hazards: readonly Hazard[];
}

const CACHE = "hazardd-view";
const NAME = "./last-view";

/** Whether this browser can store a view: it needs https or localhost. */
export const canKeep = (): boolean => "caches" in globalThis && "serviceWorker" in navigator;

export async function keepView(kept: Kept): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.put(NAME, new Response(JSON.stringify(kept), { headers: { "Content-Type": "application/json" } }));
}

export async function keptView(): Promise<Kept | undefined> {
  if (!canKeep()) return undefined;
  try {
    const answer = await (await caches.open(CACHE)).match(NAME);
    return answer ? ((await answer.json()) as Kept) : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the stored view. The page's files stay, because they reveal nothing. */
export async function forgetView(): Promise<void> {
  if (canKeep()) await caches.delete(CACHE);
}
