// The state of the page as the part of its address behind #, so that a view can be sent to a colleague. It never reaches the server.
import { noFilter, type Filter } from "./filter";

export interface View {
  readonly center: readonly [longitude: number, latitude: number];
  readonly zoom: number;
}

export interface PageState {
  readonly view: View | undefined;
  readonly filter: Filter;
  /** UUID of the hazard in the open panel. */
  readonly selected: string | undefined;
  /** The moment that is looked at, milliseconds since 1970; undefined: now. */
  readonly at: number | undefined;
  /** The list shows all hazards, not only those in the map's window. */
  readonly everywhere: boolean;
  readonly order: Order;
}

/** What the list is sorted by. */
export type Order = "importance" | "level" | "time" | "distance";
/** The first is the default. */
export const orders: readonly Order[] = ["importance", "level", "time", "distance"];

export const noState: PageState = { view: undefined, filter: noFilter, selected: undefined, at: undefined, everywhere: false, order: "importance" };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const list = (s: string | null): readonly string[] => (s ? s.split(",").filter((x) => /^[A-Z]{1,40}$/.test(x)) : []);

/** Reads the part behind #. What cannot be read is left out: a link that was cut still opens the map. */
export function parse(hash: string): PageState {
  const p = new URLSearchParams(hash.replace(/^#/, ""));
  const [zoom, latitude, longitude] = (p.get("map") ?? "").split("/").map((s) => (s === "" ? NaN : Number(s)));
  const placed = Number.isFinite(zoom) && Math.abs(latitude ?? NaN) <= 90 && Math.abs(longitude ?? NaN) <= 540;
  const at = Date.parse(p.get("at") ?? "");
  const selected = p.get("h") ?? "";
  return {
    view: placed ? { center: [longitude!, latitude!], zoom: Math.min(Math.max(zoom!, 0), 22) } : undefined,
    filter: { types: list(p.get("type")), severities: list(p.get("severity")), categories: list(p.get("category")), text: (p.get("q") ?? "").slice(0, 200) },
    selected: uuid.test(selected) ? selected.toLowerCase() : undefined,
    at: Number.isNaN(at) ? undefined : at,
    everywhere: p.get("list") === "all",
    order: orders.find((o) => o === p.get("sort")) ?? "importance",
  };
}

/** The shortest text that parse reads as s; the order of its parts is always the same. */
export function format(s: PageState): string {
  const parts: string[] = [];
  // Readable as it is: commas, colons and slashes need no escape behind #.
  const add = (name: string, value: string) => parts.push(`${name}=${encodeURIComponent(value).replace(/%(2C|2F|3A)/g, (e) => decodeURIComponent(e)).replace(/%20/g, "+")}`);
  if (s.view) add("map", [s.view.zoom.toFixed(2), s.view.center[1].toFixed(4), s.view.center[0].toFixed(4)].map((n) => String(Number(n))).join("/"));
  if (s.filter.types.length) add("type", s.filter.types.join(","));
  if (s.filter.severities.length) add("severity", s.filter.severities.join(","));
  if (s.filter.categories.length) add("category", s.filter.categories.join(","));
  if (s.filter.text.trim()) add("q", s.filter.text.trim());
  if (s.everywhere) add("list", "all");
  if (s.order !== "importance") add("sort", s.order);
  if (s.at !== undefined) add("at", new Date(s.at).toISOString().replace(".000Z", "Z"));
  if (s.selected) add("h", s.selected);
  return parts.join("&");
}

const LAST = "hazardd.view";

/** Remembers on this device where the map was, for the next visit. */
export function keepLastView(view: View): void {
  try {
    localStorage.setItem(LAST, format({ ...noState, view }));
  } catch {
    // The next visit begins elsewhere.
  }
}

/** Where the map was at the last visit. */
export function lastView(): View | undefined {
  try {
    return parse(localStorage.getItem(LAST) ?? "").view;
  } catch {
    return undefined;
  }
}
