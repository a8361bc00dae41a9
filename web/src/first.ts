// The first script of the page, small and without others: it asks for what the page needs next while the page's own script comes, and on a phone
// that may read without a login, shows the picture of the map. scripts/first.mjs builds it, and writes the languages into it.
import { ABOVE, addressOf, canShow, CREDITS, NARROW, rowsAddress, saves, sizeFor, type Drawn } from "./begin";
import { accepted, best } from "./language";
import { moment } from "./instant";
import { lastView, parse } from "./url";

/** Each language with the files of its words; the files of the picture, and of the map. */
declare const LANGUAGES: readonly { readonly id: string; readonly locale: string; readonly files: readonly string[] }[];
declare const PICTURE: readonly string[];
declare const MAP: readonly string[];

function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage may be forbidden
  }
}

const all = LANGUAGES;
const chosen = stored("hazardd.language");
const language = all.find((l) => l.id === chosen) ?? best(all, navigator.languages);
const narrow = matchMedia(NARROW).matches;

// Not by a link: a module of which a preload failed stays lost to the page.
for (const file of [...language.files, ...(narrow ? PICTURE : [])]) void fetched(file, "high");

/** Fetches a file into the browser's cache; false: it did not come. */
async function fetched(file: string, priority: RequestPriority): Promise<boolean> {
  try {
    const answer = await fetch(`./${file}`, { priority });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

/**
 * Whether all of the map's code is in the browser's cache: then the map comes soon, and its picture, which is another one after each change, would be
 * loaded for a moment.
 */
async function kept(): Promise<boolean> {
  try {
    const all = await Promise.all(MAP.map((file) => fetch(`./${file}`, { cache: "only-if-cached", mode: "same-origin" })));
    return all.every((answer) => answer.ok);
  } catch {
    return false;
  }
}

/** Resolves when a row is on the screen, or will not be soon. */
async function shown(): Promise<void> {
  for (let n = 0; n < 60 && !document.querySelector(".row"); n++) await new Promise((resolve) => setTimeout(resolve, 50));
}

const base = new URL(".", location.href).href.replace(/\/$/, "");
const { view: linked, filter, selected, at } = parse(location.hash || location.search.replace("?", "#"));
const last = lastView();
const open = document.querySelector('meta[name="hazardd-open"]');
if (open && at === undefined) {
  const address = rowsAddress(filter);
  const rows = fetch(base + address, { credentials: "same-origin", priority: "high", ...(language.id === chosen ? { headers: { "Accept-Language": accepted(chosen) } } : {}) })
    .then((answer) => (answer.ok ? answer.json() : undefined))
    .catch(() => undefined);
  window.hazarddRows = { address, rows };
  // Once the rows are shown, the map's code, for the browser's cache: before, it would take the line from them.
  if (!(narrow && saves())) void rows.then(shown).then(() => (window.hazarddFetched = new Map(MAP.map((file) => [new URL(file, base + "/").href, fetched(file, "low")]))));
}
// A link to a window, a hazard or a moment is one to the map, and what the picture cannot show too.
if (
  narrow && open && !linked && !selected && at === undefined && filter.text.trim() === "" && (!last || canShow(last))
) {
  const theme = stored("hazardd.theme");
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const size = sizeFor({ width: innerWidth, height: ABOVE }, undefined);
  const address = addressOf(last, filter, dark, size);
  const place = document.createElement("div");
  place.className = "first";
  place.setAttribute("aria-hidden", "true"); // the page says in words what it shows
  document.body.prepend(place);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  window.hazarddFirst = { ...size, address, place, drawn: begun(address, place).catch(() => undefined) };
}

async function begun(address: string, place: HTMLElement): Promise<Drawn | "map" | undefined> {
  return last && !saves() && await kept() ? "map" : draw(address, place);
}

async function draw(address: string, place: HTMLElement): Promise<Drawn | undefined> {
  const answer = await fetch(base + address, { credentials: "same-origin", priority: "high" });
  if (!answer.ok) return undefined;
  const at = Date.parse(answer.headers.get("Date") ?? "") || Date.now(); // of a shared cache, when it was made
  const svg = await answer.text();
  if (!svg.includes('"middle"')) return undefined; // nothing is known: the map shows the world
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  image.alt = "";
  // No picture without its time. There are no words yet.
  const time = document.createElement("p");
  const format = new Intl.DateTimeFormat(language.locale, { ...moment, ...(stored("hazardd.zone") === "utc" ? { timeZone: "UTC" } : {}) });
  time.append(format.format(at), document.createElement("br"), CREDITS);
  place.append(image, time);
  return { svg, headers: answer.headers, at, url };
}
