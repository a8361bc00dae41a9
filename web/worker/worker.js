// The service worker of those who chose to keep the last view on their device, or to be told by Web Push. For the first it keeps the files of the
// map and the symbols that were seen, and no data: what the page keeps of those, it keeps itself, with their age. Online, everything comes from the
// server. An address that ends with ?push is of a worker that keeps nothing.
// scripts/worker.mjs writes the list of files.
const FILES = __FILES__; // relative to the page
const SHELL = "hazardd-shell-__VERSION__";
const SYMBOLS = "hazardd-symbols";

const KEEPS = self.location.search !== "?push";

const page = () => new URL("./", self.registration.scope).href;

self.addEventListener("install", (event) =>
  event.waitUntil(
    (async () => {
      if (!KEEPS) return self.skipWaiting();
      const cache = await caches.open(SHELL);
      // The page itself is asked for as a browser asks: programs get something else at its address.
      const answer = await fetch(page(), { headers: { Accept: "text/html" }, cache: "no-cache" });
      if (!answer.ok) throw new Error(`the page answers ${answer.status}`);
      await cache.put(page(), answer);
      await cache.addAll(FILES.map((file) => new URL(file, page()).href));
      await self.skipWaiting();
    })(),
  ),
);

self.addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (name.startsWith("hazardd-shell-") && (name !== SHELL || !KEEPS)) await caches.delete(name);
      await self.clients.claim();
    })(),
  ),
);

const files = new Set(FILES.map((file) => new URL(file, page()).href));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = request.url.split("#")[0];
  const path = url.split("?")[0];
  if (!KEEPS || request.method !== "GET") return;
  // The map has many addresses, such as the link to a hazard; no answer, or that of a proxy whose server is down, gives the kept page at each.
  if (request.mode === "navigate" && path === page()) event.respondWith(map(request));
  else if (files.has(path)) event.respondWith(kept(path).then((answer) => (answer ? part(request, answer) : fetch(request))));
  else if (url.startsWith(`${page()}symbols/`)) event.respondWith(symbol(request));
});

async function map(request) {
  try {
    const answer = await fetch(request);
    return answer.status < 500 ? answer : (await kept(page())) ?? answer;
  } catch (error) {
    const before = await kept(page());
    if (before) return before;
    throw error;
  }
}

const kept = async (url) => (await caches.open(SHELL)).match(url, { ignoreVary: true });

/** The part that a request with a range asks for (RFC 9110, section 14): the basemap is read so. */
async function part(request, answer) {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("Range") ?? "");
  if (!range) return answer;
  const whole = await answer.blob();
  const from = Number(range[1]);
  const to = Math.min(range[2] ? Number(range[2]) : Infinity, whole.size - 1);
  if (from > to) return new Response(null, { status: 416, headers: { "Content-Range": `bytes */${whole.size}` } });
  const headers = { "Content-Type": answer.headers.get("Content-Type") ?? "", "Content-Range": `bytes ${from}-${to}/${whole.size}`, ETag: answer.headers.get("ETag") ?? "" };
  return new Response(whole.slice(from, to + 1), { status: 206, headers });
}

/** Symbols come from the server; those that were seen are there without it. */
async function symbol(request) {
  const cache = await caches.open(SYMBOLS);
  try {
    const answer = await fetch(request);
    if (answer.status === 200) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const before = await cache.match(request, { ignoreVary: true });
    if (before) return before;
    throw error;
  }
}

// What is pushed is a message as internal/tell/message writes it (Push), decrypted by the browser.
self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

async function show(data) {
  let n = {};
  try {
    n = data.json();
  } catch {
    // A browser wants to be shown something for each message that it takes.
  }
  const of = [n.type, n.category, n.severity];
  await self.registration.showNotification(n.title || "hazardd", {
    body: n.body ?? "",
    lang: n.lang ?? "",
    dir: n.dir === "rtl" ? "rtl" : "ltr",
    icon: new URL(of.every(Boolean) ? `symbols/${of.map(encodeURIComponent).join("/")}.png` : "assets/app-192.png", page()).href,
    badge: new URL("assets/app-192.png", page()).href,
    data: { url: n.url ?? "" },
    ...(n.time ? { timestamp: n.time } : {}),
    // The last word on a hazard takes the place of the one before, and is heard too.
    ...(n.tag ? { tag: n.tag, renotify: true } : {}),
    requireInteraction: n.severity === "WARNING",
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = event.notification.data?.url;
  event.waitUntil(
    (async () => {
      const to = /^https?:/.test(url ?? "") ? url : page();
      const open = (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).find((c) => c.url.split("#")[0] === to.split("#")[0]);
      await (open ? open.focus() : self.clients.openWindow(to));
    })(),
  );
});
