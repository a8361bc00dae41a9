// The last view, kept on this device by those who chose so: what was active when the server was last heard of, and when that was. It goes with
// the log-out. The files of the page are kept by a service worker (worker/worker.js).
import type { Hazard } from "./model";

export interface Kept {
  /** When the server last said so; milliseconds, by its clock. */
  readonly at: number;
  readonly hazards: readonly Hazard[];
}

const CACHE = "hazardd-view";
const NAME = "./last-view";

/** Whether this browser can keep a view: it needs https, or this machine. */
export const canKeep = (): boolean => "caches" in globalThis && "serviceWorker" in navigator;

/** Keeps the files of the page, from now on and until `forgetAll`. */
export async function keepFiles(): Promise<void> {
  const worker = document.querySelector<HTMLMetaElement>('meta[name="hazardd-worker"]')?.content;
  if (!worker || !canKeep()) return;
  await navigator.serviceWorker.register(worker, { scope: "./" });
  await navigator.serviceWorker.ready;
}

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

/** Forgets the view, but not the files of the page, which tell nothing. */
export async function forgetView(): Promise<void> {
  if (canKeep()) await caches.delete(CACHE);
}

export async function forgetAll(): Promise<void> {
  if (!canKeep()) return;
  for (const name of await caches.keys()) if (name.startsWith("hazardd-")) await caches.delete(name);
  for (const r of await navigator.serviceWorker.getRegistrations()) await r.unregister();
}
