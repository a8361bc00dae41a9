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

/** What the address of a worker ends with that keeps no files: it shows what is pushed, and no more. */
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

/** Brings a worker that is there to this version of the page. */
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

/** Forgets the view, but not the files of the page, which tell nothing. */
export async function forgetView(): Promise<void> {
  if (canKeep()) await caches.delete(CACHE);
}

export async function forgetAll(): Promise<void> {
  if (!canKeep()) return;
  for (const name of await caches.keys()) if (name.startsWith("hazardd-")) await caches.delete(name);
  for (const r of await navigator.serviceWorker.getRegistrations()) {
    if (await r.pushManager?.getSubscription()) await register(PLAIN); // it is told things, too
    else await r.unregister();
  }
}
