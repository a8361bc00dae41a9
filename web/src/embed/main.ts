// The widget: a small live list for a frame in another page, or for a wall display. It polls a list
// that a shared cache may answer, opens no stream, and says what it does not know.
import { freshness, trust, type Trust } from "../freshness";
import type { Hazard } from "../model";
import { load } from "virtual:words";
import { readSettings } from "./settings";
import "./embed.css";

// Milliseconds. Pauses are never the same on two pages.
const AGAIN = 10_000;
const ANSWER = 8_000;
/** Older data than this, in milliseconds, is stale. */
const STALE = 30_000;
const MOST = 100; // rows

const base = new URL(".", location.href).href;
const settings = readSettings(location.search, navigator.languages);
const { language } = settings;
const { names, embed: words } = (await load[language.id]!.embed()).default;
const root = document.getElementById("widget")!;
document.documentElement.lang = language.id;
document.documentElement.dir = language.dir;
if (settings.theme) document.documentElement.dataset["theme"] = settings.theme;
if (settings.kiosk) document.documentElement.dataset["kiosk"] = "";
document.title = settings.title || words.title;

const time = new Intl.DateTimeFormat(language.locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(language.locale, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

interface State {
  hazards: readonly Hazard[];
  /** When it was read, by this machine's clock and by the server's, which may differ by hours on a wall; undefined: never. */
  readAt: number | undefined;
  skew: number;
  trust: Trust;
  /** The word of Hazardd-Coverage. */
  covered: string;
  failed: boolean;
}
const state: State = { hazards: [], readAt: undefined, skew: 0, trust: "unknown", covered: "", failed: false };
let tag = "";

function make<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Readonly<Record<string, string>> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

function row(h: Hazard): HTMLElement {
  const level = names.severity[h.severity_ID] ?? h.severity_ID;
  const end = Number(h.end_Date);
  const drill = h.category_ID === "EXERCISE";
  const when = h.autoexpire === "Y" ? words.until({ time: day.format(end) }) : words.since({ time: day.format(Number(h.start_Date)) });
  return make(
    "li",
    { class: `level-${h.severity_ID.toLowerCase()}${drill ? " drill" : ""}` },
    make("img", { src: `${base}symbols/${[h.type_ID, h.category_ID, h.severity_ID].map(encodeURIComponent).join("/")}.svg`, alt: "", width: "36", height: "36" }),
    make(
      "div",
      {},
      make("span", { class: "level" }, drill ? `${words.drill} · ${level}` : level),
      " ",
      make("a", { href: `${base}?h=${h.uuid}#h=${h.uuid}`, target: "_blank", rel: "noopener", dir: "auto" }, h.hazard_Name),
      make("span", { class: "when" }, when),
    ),
  );
}

function draw(): void {
  const now = Date.now();
  const active = state.hazards.filter((h) => h.autoexpire !== "Y" || Number(h.end_Date) > now + state.skew);
  const stale = state.readAt === undefined ? state.failed : now - state.readAt > STALE;
  document.documentElement.dataset["state"] = stale ? "stale" : state.readAt === undefined ? "loading" : "live";
  const notes: HTMLElement[] = [];
  const alert = (text: string) => notes.push(make("p", { class: "alert", role: "alert" }, text));
  if (settings.fault) alert(settings.fault);
  else if (stale) alert(state.readAt === undefined ? words.never : words.lost({ time: time.format(state.readAt) }));
  else if (state.readAt === undefined) notes.push(make("p", {}, words.loading));
  else {
    if (active.length === 0) {
      if (state.trust === "good" && (!settings.placed || state.covered === "covered")) notes.push(make("p", { class: "none" }, words.none));
      else alert(state.trust === "partly" ? words.partly : words.unwatched);
    } else if (state.trust === "partly" || state.trust === "unread") notes.push(make("p", { class: "note" }, words.partly)); // where no source is read, none is late
  }
  const more = active.length - MOST;
  const list = make("ol", {}, ...active.slice(0, MOST).map(row));
  const foot = make(
    "footer",
    {},
    make("span", { class: "age" }, state.readAt === undefined ? "" : words.read({ time: time.format(state.readAt) })),
    " ",
    make("a", { href: base, target: "_blank", rel: "noopener" }, more > 0 ? `${words.map} (+${more})` : words.map),
  );
  const title = make("h1", { dir: "auto" }, settings.title || words.title);
  // What says the same stays: a frame that is made anew loses its scroll and its focus, and a screen reader's place.
  const same = root.children.length === notes.length + 3 && [title, ...notes, list].every((e, i) => root.children[i]!.outerHTML === e.outerHTML);
  if (same) {
    root.lastElementChild!.replaceChildren(...foot.childNodes);
    return;
  }
  const focused = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.href : undefined;
  root.replaceChildren(title, ...notes, list, foot);
  if (focused) [...root.querySelectorAll("a")].find((a) => a.href === focused)?.focus({ preventScroll: true });
}

async function read(): Promise<void> {
  try {
    const answer = await fetch(`${base}hazards/active${settings.query ? `?${settings.query}` : ""}`, {
      cache: "no-store",
      credentials: "omit",
      headers: { Accept: "application/json", ...(tag ? { "If-None-Match": tag } : {}) },
      signal: AbortSignal.timeout(ANSWER),
    });
    if (answer.status !== 304 && !answer.ok) throw new Error(String(answer.status));
    if (answer.status !== 304) {
      state.hazards = (await answer.json()) as Hazard[];
      tag = answer.headers.get("ETag") ?? "";
    }
    const date = Date.parse(answer.headers.get("Date") ?? "");
    // A shared cache may serve a response, with its Date, that is some seconds old. Only a larger
    // difference means that the clocks differ.
    state.skew = Number.isNaN(date) || Math.abs(date - Date.now()) < 15_000 ? 0 : date - Date.now();
    state.trust = trust(freshness(answer.headers).sources);
    state.covered = (answer.headers.get("Hazardd-Coverage") ?? "").split(";")[0]!.trim();
    state.readAt = Date.now();
    state.failed = false;
  } catch {
    state.failed = true;
  }
  draw();
}

/** Redraws only what changes by time: ages and ended hazards. */
let shown = "";
function tick(): void {
  const now = Date.now() + state.skew;
  const stale = state.readAt !== undefined && Date.now() - state.readAt > STALE;
  const sign = `${stale} ${state.hazards.filter((h) => h.autoexpire !== "Y" || Number(h.end_Date) > now).length}`;
  if (sign !== shown) draw();
  shown = sign;
}

draw();
if (!settings.fault) {
  const go = async () => {
    await read();
    setTimeout(() => void go(), AGAIN * (0.75 + Math.random() / 2));
  };
  void go();
  setInterval(tick, 1_000);
}
