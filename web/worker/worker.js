// The service worker of those who chose to keep the last view on their device. It keeps the files of the map and the symbols that were
// seen, and no data: what the page keeps of those, it keeps itself, with their age. Online, everything comes from the server.
// scripts/worker.mjs writes the list of files.
const FILES = __FILES__; // relative to the page
const SHELL = "hazardd-shell-__VERSION__";
const SYMBOLS = "hazardd-symbols";

const page = () => new URL("./", self.registration.scope).href;

self.addEventListener("install", (event) =>
  event.waitUntil(
    (async () => {
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
      for (const name of await caches.keys()) if (name.startsWith("hazardd-shell-") && name !== SHELL) await caches.delete(name);
      await self.clients.claim();
    })(),
  ),
);

const files = new Set(FILES.map((file) => new URL(file, page()).href));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = request.url.split("#")[0];
  if (request.method !== "GET") return;
  if (request.mode === "navigate" && url === page()) event.respondWith(fetch(request).catch(() => kept(page())));
  else if (files.has(url)) event.respondWith(kept(url).then((answer) => (answer ? part(request, answer) : fetch(request))));
  else if (url.startsWith(`${page()}symbols/`)) event.respondWith(symbol(request));
});

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
