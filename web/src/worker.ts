// The service worker of this page (worker/worker.js): it keeps the page's files for readers who want the last view on this device, and shows push messages.

/** The suffix in the address of a worker that stores no files and only shows push messages. */
const PLAIN = "?push";

/** Starts a worker in place of the one before, and waits until it has all that it keeps. */
async function register(end: string): Promise<ServiceWorkerRegistration | undefined> {
  const script = document.querySelector<HTMLMetaElement>('meta[name="hazardd-worker"]')?.content;
  if (!script || !("serviceWorker" in navigator)) return undefined;
  const { installing } = await navigator.serviceWorker.register(script + end, { scope: "./" });
  if (installing) {
    await new Promise<void>((done, failed) =>
      installing.addEventListener("statechange", () => {
        if (installing.state === "activated") done();
        if (installing.state === "redundant") failed(new Error("the service worker cannot start"));
      })
    );
  }
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
export async function renewWorker(there: ServiceWorkerRegistration): Promise<void> {
  const address = there.active?.scriptURL;
  if (address) await register(address.endsWith(PLAIN) ? PLAIN : "");
}

/**
 * Removes all that is kept. A worker lives on until its pages are closed, and one that is started again meanwhile would not fetch what it keeps: so
 * another takes its place first, which also receives push messages.
 */
export async function forgetAll(): Promise<void> {
  if (!("caches" in globalThis && "serviceWorker" in navigator)) return;
  for (const r of await navigator.serviceWorker.getRegistrations()) {
    await register(PLAIN);
    if (!(await r.pushManager?.getSubscription())) await r.unregister();
  }
  for (const name of await caches.keys()) if (name.startsWith("hazardd-")) await caches.delete(name);
}
