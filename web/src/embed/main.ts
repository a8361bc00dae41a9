// The widget: a small live map and list for a frame in another page, or for a wall display. It polls the list of summaries, which is in the order of
// importance and which a shared cache may answer, shows the server's picture of the map, opens no stream, and says what it does not know. A wall has
// a clock, and shows the three worst in turn, each on the map.
import { sound } from "../alarm";
import { freshness, trust, type Trust } from "../freshness";
import { summaryOver, type Summary } from "../model";
import { languages, load } from "virtual:words";
import { inTurn, pictureOf } from "./picture";
import { readSettings } from "./settings";
import { wordsOf } from "./words";
import "./embed.css";

// Milliseconds. Pauses are never the same on two pages.
const AGAIN = 10_000;
const ANSWER = 8_000;
/** Older data than this, in milliseconds, is stale. */
const STALE = 30_000;
const MOST = 100; // rows
/** On a wall each of the worst has its turn. */
const TURN = 12_000;
/** Rows of a wall: nobody scrolls it. */
const MOST_ON_WALL = 6;

const base = new URL(".", location.href).href;
const settings = readSettings(location.search, location.hash, navigator.languages);
document.documentElement.dataset["begun"] = ""; // src/stay.ts
const [language, { default: { names, embed: words } }] = await wordsOf(
  settings.language,
  languages.find((l) => l.id === "en")!,
  (l) => load[l.id]!.embed(),
  (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
);
const root = document.getElementById("widget")!;
document.documentElement.lang = language.id;
document.documentElement.dir = language.dir;
const theme = settings.theme ?? (settings.kiosk ? "dark" : undefined); // a wall lights a room
if (theme) document.documentElement.dataset["theme"] = theme;
if (settings.kiosk) document.documentElement.dataset["kiosk"] = "";
document.title = settings.title || words.title;

const time = new Intl.DateTimeFormat(language.locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
// With its zone: a headline has the time of its place.
const day = new Intl.DateTimeFormat(language.locale, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

interface State {
  hazards: readonly Summary[];
  /** The change that they are as of. */
  change: number;
  /** Sources that are late. */
  late: readonly string[];
  /** When it was read, by this machine's clock and by the server's, which may differ by hours on a wall; undefined: never. */
  readAt: number | undefined;
  skew: number;
  trust: Trust;
  /** The word of Hazardd-Coverage. */
  covered: string;
  failed: boolean;
  /** Drafts that wait for a second person, where the address has the right to know of them; undefined: it was not read. */
  waiting: { readonly to_decide: number; readonly oldest?: string } | undefined;
}
const state: State = { hazards: [], change: 0, late: [], readAt: undefined, skew: 0, trust: "unknown", covered: "", failed: false, waiting: undefined };
let tag = "";

function make<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Readonly<Record<string, string>> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const isDrill = (h: Summary): boolean => h.category === "EXERCISE";
const level = (h: Summary): string => names.severity[h.severity] ?? h.severity;

function about(h: Summary): Node[] {
  const when = h.ends ? words.until({ time: day.format(Date.parse(h.ends)) }) : words.since({ time: day.format(Date.parse(h.starts)) });
  return [
    make("img", { src: `${base}symbols/${[h.type, h.category, h.severity].map(encodeURIComponent).join("/")}.svg`, alt: "", width: "36", height: "36" }),
    make(
      "div",
      {},
      make("span", { class: "level" }, isDrill(h) ? `${words.drill} · ${level(h)}` : level(h)),
      " ",
      make("a", { href: `${base}?h=${h.uuid}#h=${h.uuid}`, target: "_blank", rel: "noopener", dir: "auto", title: h.name }, h.headline || h.name),
      make("span", { class: "when" }, when),
    ),
  ];
}

const classOf = (h: Summary): string => `level-${h.severity.toLowerCase()}${isDrill(h) ? " drill" : ""}`;
const row = (h: Summary): HTMLElement => make("li", { class: classOf(h) }, ...about(h));

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The map around a hazard, or of the widget's area. */
function map(of: Summary | undefined): HTMLElement {
  const size = settings.kiosk
    ? { width: 960, height: Math.round((960 * innerHeight) / innerWidth / 80) * 80 + 160 }
    : { width: Math.min(Math.max(Math.ceil(innerWidth / 80) * 80, 240), 960), height: 240 };
  return make("div", { class: "map" }, make("img", { src: base + pictureOf({ of, query: settings.query, size, dark: theme ? theme === "dark" : dark.matches, change: state.change }), alt: "" }));
}

let silent = false;

let waited = 0;

/** Sounds when the server or a source falls silent, once until it speaks again, and when more waits for a second person. */
function alarm(now: boolean): void {
  const waits = state.waiting?.to_decide ?? waited;
  if ((now && !silent || waits > waited) && settings.kiosk && settings.sound) sound();
  silent = now;
  waited = waits;
}

/** How many there are of each level. */
function counts(list: readonly Summary[]): string {
  const real = list.filter((h) => !isDrill(h));
  return [...new Set(real.map((h) => h.severity))].map((s) => `${real.filter((h) => h.severity === s).length} ${names.severity[s] ?? s}`).join(" · ");
}

function draw(): void {
  const now = Date.now();
  const all = state.hazards.filter((h) => !summaryOver(h, now + state.skew));
  const active = [...all.filter((h) => !isDrill(h)), ...all.filter(isDrill)];
  const turn = settings.kiosk ? inTurn(active.filter((h) => !isDrill(h)), now, TURN) : undefined;
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
    } else if (state.trust === "partly" || state.trust === "unread") { // where no source is read, none is late
      if (settings.kiosk) alert(words.partly);
      else notes.push(make("p", { class: "note" }, words.partly));
    }
  }
  alarm(stale || state.late.length > 0);
  if (state.late.length > 0) notes.at(-1)?.append(` (${state.late.join(", ")})`);
  if (settings.watches && state.readAt !== undefined) {
    const { waiting } = state;
    if (!waiting) alert(words.waitsUnknown);
    else if (waiting.oldest) alert(words.waits({ n: waiting.to_decide, time: day.format(Date.parse(waiting.oldest)) }));
  } else if (settings.kiosk) notes.push(make("p", { class: "note" }, words.waitsHidden)); // no alarm does not mean that nothing waits
  const most = settings.kiosk ? MOST_ON_WALL : MOST;
  const more = active.length - most;
  const list = make("ol", {}, ...active.slice(0, most).map(row));
  const seen = state.readAt === undefined || active.length === 0 ? [] : [map(turn), ...(turn ? [make("section", { class: `band ${classOf(turn)}` }, ...about(turn))] : [])];
  const foot = make(
    "footer",
    {},
    ...(settings.kiosk ? [make("strong", {}, counts(active)), " "] : []),
    make("span", { class: "age" }, state.readAt === undefined ? "" : words.read({ time: time.format(state.readAt) })),
    " ",
    make("a", { href: base, target: "_blank", rel: "noopener" }, more > 0 ? `${words.map} (+${more})` : words.map),
  );
  const title = make("h1", { dir: "auto" }, settings.title || words.title);
  // What says the same stays: a frame that is made anew loses its scroll and its focus, and a screen reader's place.
  const parts = [title, ...seen, ...notes, list];
  const same = root.children.length === parts.length + 1 && parts.every((e, i) => root.children[i]!.outerHTML === e.outerHTML);
  if (same) {
    root.lastElementChild!.replaceChildren(...foot.childNodes);
    return;
  }
  const focused = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.href : undefined;
  // A part that is the same stays: a picture that is made anew flickers.
  root.replaceChildren(...parts.map((e) => [...root.children].find((old) => old.outerHTML === e.outerHTML) ?? e), foot);
  if (focused) [...root.querySelectorAll("a")].find((a) => a.href === focused)?.focus({ preventScroll: true });
}

/** Drafts are counted for the holder of a token, not for that of a key in the address. */
async function readWaiting(token: string): Promise<void> {
  try {
    const answer = await fetch(`${base.replace(/key\/[^/]+\/$/, "")}drafts/count`, {
      cache: "no-store",
      credentials: "omit",
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER),
    });
    state.waiting = answer.ok ? ((await answer.json()) as State["waiting"]) : undefined;
  } catch {
    state.waiting = undefined;
  }
}

async function read(): Promise<void> {
  if (settings.watches) await readWaiting(settings.watches);
  try {
    const query = new URLSearchParams(settings.query);
    query.set("lang", language.id);
    const answer = await fetch(`${base}hazards/active/summary?${query}`, {
      cache: "no-store",
      credentials: "omit",
      headers: { Accept: "application/json", ...(tag ? { "If-None-Match": tag } : {}) },
      signal: AbortSignal.timeout(ANSWER),
    });
    if (answer.status !== 304 && !answer.ok) throw new Error(String(answer.status));
    if (answer.status !== 304) {
      state.hazards = (await answer.json()) as Summary[];
      tag = answer.headers.get("ETag") ?? "";
    }
    const date = Date.parse(answer.headers.get("Date") ?? "");
    // A shared cache may serve a response, with its Date, that is some seconds old. Only a larger
    // difference means that the clocks differ.
    state.skew = Number.isNaN(date) || Math.abs(date - Date.now()) < 15_000 ? 0 : date - Date.now();
    const { change, sources } = freshness(answer.headers);
    state.change = change ?? 0;
    state.late = sources?.names ?? [];
    state.trust = trust(sources);
    state.covered = (answer.headers.get("Hazardd-Coverage") ?? "").split(";")[0]!.trim();
    state.readAt = Date.now();
    state.failed = false;
  } catch {
    state.failed = true;
  }
  draw();
}

/** A wall's clock, by the server's time. */
const hour = new Intl.DateTimeFormat(language.locale, { hour: "2-digit", minute: "2-digit" });
const clock = settings.kiosk ? make("time", { class: "clock" }) : undefined;
if (clock) root.before(make("header", {}, clock));

/** Redraws only what changes by time: ages, ended hazards and whose turn it is. */
let shown = "";
function tick(): void {
  const now = Date.now() + state.skew;
  const stale = state.readAt !== undefined && Date.now() - state.readAt > STALE;
  const sign = `${stale} ${state.hazards.filter((h) => !summaryOver(h, now)).length} ${settings.kiosk ? Math.floor(Date.now() / TURN) : ""}`;
  if (clock) clock.textContent = hour.format(now);
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
