// Stores the last view on this device, if the reader wants that: the active hazards, and when the
// server last responded. A logout removes it. A service worker (worker/worker.js) stores the page's
// files.
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

/** The suffix in the address of a worker that stores no files and only shows push messages. */
const PLAIN = "?push";

async function register(end: string): Promise<ServiceWorkerRegistration | undefined> {
  const script = document.querySelector<HTMLMetaElement>('meta[name="hazardd-worker"]')?.content;
  if (!script || !("serviceWorker" in navigator)) return undefined;
  await navigator.serviceWorker.register(script + end, { scope: "./" });
  return navigator.serviceWorker.ready;
}

/** Keeps the files of the page, from now on and until `forgetAll`. */
export async function keepFiles(): Promise<void> {
  await register("");
}

/** The worker of this page, with or without files; one is started if there is none. */
export async function worker(): Promise<ServiceWorkerRegistration> {
  const there = await navigator.serviceWorker.getRegistration("./");
  const found = there?.active ? there : await register(PLAIN);
  if (!found) throw new Error("this page has no service worker");
  return found;
}

/** Updates an existing worker to this version of the page. */
export async function renewWorker(): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  const address = (await navigator.serviceWorker.getRegistration("./"))?.active?.scriptURL;
  if (address) await register(address.endsWith(PLAIN) ? PLAIN : "");
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

/** Removes the stored view. The page's files stay, because they reveal nothing. */
export async function forgetView(): Promise<void> {
  if (canKeep()) await caches.delete(CACHE);
}

export async function forgetAll(): Promise<void> {
  if (!canKeep()) return;
  for (const name of await caches.keys()) if (name.startsWith("hazardd-")) await caches.delete(name);
  for (const r of await navigator.serviceWorker.getRegistrations()) {
    if (await r.pushManager?.getSubscription()) await register(PLAIN); // it also receives push messages
    else await r.unregister();
  }
}
