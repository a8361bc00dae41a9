// An editor's draft before it is sent: the values of the inputs, what to send, and what others
// changed meanwhile.
import type { Geometry } from "geojson";
import { isDrill, type Hazard, type Product } from "../model";
import { circle, parseCorners, polygon, squareKilometres } from "../geometry";
import { buffer, LEAST, MOST, MOST_CORNERS } from "./buffer";
import { inWorld } from "./world";
import { words } from "../words";

/** A district or zone that was found by its name. */
export interface Named {
  readonly code: string;
  readonly name: string;
  readonly geometry: Geometry;
}

/** What was read of a file with areas: all of them as one, and each. */
export interface AreaFile {
  readonly file: string;
  readonly whole: Geometry;
  readonly areas: readonly { readonly name: string; readonly geometry: Geometry }[];
  /** How many features have no area. */
  readonly left: number;
  /** The place of the one that was chosen in the list; undefined: all. */
  readonly chosen?: number | undefined;
}

/**
 * The area of an edited hazard: unchanged, none, corners as text, a circle around the hazard's
 * position with a radius in kilometers, a buffer in kilometers around a point or line, a district
 * or zone, or an area chosen from a file.
 */
export type AreaDraft =
  | { readonly kind: "keep" }
  | { readonly kind: "none" }
  | { readonly kind: "polygon"; readonly corners: string }
  | { readonly kind: "circle"; readonly radius: string }
  | { readonly kind: "buffer"; readonly corners: string; readonly closed: boolean; readonly distance: string }
  | { readonly kind: "named"; readonly place?: Named }
  | { readonly kind: "file"; readonly read?: AreaFile };

/**
 * The inputs of a hazard, by the API's names. Times are local, in the format of datetime-local
 * inputs; empty means that the service chooses.
 */
export interface HazardDraft {
  readonly hazard_Name: string;
  readonly description: string;
  /** What to do. */
  readonly instruction: string;
  readonly type_ID: string;
  readonly severity_ID: string;
  readonly category_ID: string;
  readonly start_Date: string;
  readonly end_Date: string;
  readonly autoexpire: "Y" | "N";
  readonly latitude: string;
  readonly longitude: string;
  readonly snc_url: string;
  readonly comment_Text: string;
  readonly area: AreaDraft;
}

export type Fields = Readonly<Record<string, unknown>>;
export type Faults = Readonly<Record<string, string>>;

/** Milliseconds since 1970 as an input of type datetime-local has them: the viewer's zone, to the minute. */
export function localTime(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return "";
  const d = new Date(milliseconds);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${String(d.getFullYear()).padStart(4, "0")}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}

export const emptyHazard = (drill: boolean): HazardDraft => ({
  hazard_Name: "",
  description: "",
  instruction: "",
  type_ID: "",
  severity_ID: "",
  category_ID: drill ? "EXERCISE" : "EVENT",
  start_Date: "",
  end_Date: "",
  autoexpire: "N",
  latitude: "",
  longitude: "",
  snc_url: "",
  comment_Text: "",
  area: { kind: "none" },
});

/** A hazard with what to do, which its record does not say. */
export type Instructed = Hazard & { readonly instruction: string };

export const hazardDraft = (h: Instructed): HazardDraft => ({
  hazard_Name: h.hazard_Name,
  description: h.description,
  instruction: h.instruction,
  type_ID: h.type_ID,
  severity_ID: h.severity_ID,
  category_ID: h.category_ID,
  start_Date: localTime(Number(h.start_Date)),
  end_Date: localTime(Number(h.end_Date)),
  autoexpire: h.autoexpire,
  latitude: String(h.latitude),
  longitude: String(h.longitude),
  snc_url: h.snc_url ?? "",
  comment_Text: h.comment_Text,
  area: { kind: "keep" },
});

/** A decimal number, with a full stop or a comma. */
export const decimal = (s: string): number => (/^\s*[-+−]?\d+([.,]\d+)?\s*$/.test(s) ? Number(s.trim().replace(",", ".").replace("−", "-")) : NaN);

/**
 * The geometry of a draft's area; undefined means unchanged, null means none. A fault says what is
 * missing.
 */
export function geometryOf(d: Pick<HazardDraft, "area" | "latitude" | "longitude">): { readonly geometry?: Geometry | null | undefined; readonly fault?: string } {
  switch (d.area.kind) {
    case "keep":
      return { geometry: undefined };
    case "none":
      return { geometry: null };
    case "polygon": {
      const { corners, wrong } = parseCorners(d.area.corners);
      if (wrong !== undefined) return { fault: words.fault.corner({ line: wrong }) };
      return corners.length < 3 ? { fault: words.fault.corners } : { geometry: inWorld(polygon(corners)) };
    }
    case "circle": {
      const [latitude, longitude, radius] = [decimal(d.latitude), decimal(d.longitude), decimal(d.area.radius)];
      if (!(radius >= 0.01 && radius <= 5_000)) return { fault: words.fault.radius };
      if (Number.isNaN(latitude) || Number.isNaN(longitude)) return { fault: words.fault.center };
      return { geometry: inWorld(circle([longitude, latitude], radius * 1000)) };
    }
    case "buffer":
      return bufferOf(d.area);
    case "named":
      return d.area.place ? { geometry: d.area.place.geometry } : { fault: words.fault.named };
    case "file": {
      const { read } = d.area;
      return read ? { geometry: read.chosen === undefined ? read.whole : read.areas[read.chosen]!.geometry } : { fault: words.fault.file };
    }
  }
}

type BufferDraft = Extract<AreaDraft, { kind: "buffer" }>;
type Made = ReturnType<typeof geometryOf>;
const buffers = new WeakMap<BufferDraft, Made>(); // a form asks again and again

function bufferOf(area: BufferDraft): Made {
  const made = buffers.get(area) ?? makeBuffer(area);
  buffers.set(area, made);
  return made;
}

function makeBuffer({ corners: lines, closed, distance }: BufferDraft): Made {
  const { corners, wrong } = parseCorners(lines);
  if (wrong !== undefined) return { fault: words.fault.corner({ line: wrong }) };
  const kilometres = decimal(distance);
  if (!(kilometres >= LEAST && kilometres <= MOST)) return { fault: words.fault.distance };
  if (corners.length === 0 || corners.length > MOST_CORNERS || (closed && corners.length < 3)) return { fault: words.fault.around };
  const geometry = buffer(corners, closed, kilometres);
  return geometry ? { geometry } : { fault: words.fault.reach };
}

/** The corners of a drawn area; undefined for other kinds of area. */
export const cornersOf = (area: AreaDraft): string | undefined => (area.kind === "polygon" || area.kind === "buffer" ? area.corners : undefined);

/** An area with other corners. */
export const withCorners = (area: AreaDraft, corners: string): AreaDraft => (area.kind === "polygon" || area.kind === "buffer" ? { ...area, corners } : area);

/** All that a draft says, in the API's fields and values. Where a value is `base`'s to the minute it is base's. */
export function hazardFields(d: HazardDraft, base?: Hazard): { readonly fields: Fields; readonly faults: Faults } {
  const fields: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const name of ["hazard_Name", "type_ID", "severity_ID"] as const) {
    if (d[name].trim() === "") faults[name] = words.fault.missing;
    else fields[name] = d[name].trim();
  }
  fields["category_ID"] = d.category_ID;
  fields["description"] = d.description;
  const instruction = d.instruction?.trim() ?? ""; // one that was kept on the device may be older than this field
  if (base || instruction !== "") fields["instruction"] = instruction;
  fields["autoexpire"] = d.autoexpire;
  fields["snc_url"] = d.snc_url.trim();
  fields["comment_Text"] = d.comment_Text;
  for (const name of ["latitude", "longitude"] as const) {
    const n = decimal(d[name]);
    if (d[name].trim() === "") faults[name] = words.fault.missing;
    else if (Number.isNaN(n)) faults[name] = words.fault.number({ s: d[name] });
    else fields[name] = n;
  }
  for (const name of ["start_Date", "end_Date"] as const) {
    const t = new Date(d[name]).getTime();
    if (d[name] === "") {
      if (base) faults[name] = words.fault.missing; // else the service chooses
    } else if (Number.isNaN(t)) faults[name] = words.fault.time;
    else fields[name] = base && localTime(Number(base[name])) === d[name] ? base[name] : String(t);
  }
  const { geometry, fault } = geometryOf(d);
  if (fault) faults["area"] = fault;
  else if (geometry !== undefined && (base || geometry !== null)) fields["area"] = geometry;
  return { fields, faults };
}

/** The fields in which `fields` differs from base: a merge patch (RFC 7396). */
export function patch(base: object, fields: Fields): Fields {
  const before = base as Record<string, unknown>;
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => name === "area" || !same(before[name] ?? "", value ?? "")));
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** A field that somebody else has changed while we were editing. */
export interface Clash {
  readonly field: string;
  readonly before: unknown;
  readonly now: unknown;
  /** What we want it to be; undefined: we have not touched it. */
  readonly mine: unknown;
}

/** The fields that others changed between two states and that this editor changes differently. */
export function clashes(before: object, now: object, mine: Fields, among: readonly string[]): Clash[] {
  const [a, b] = [before as Record<string, unknown>, now as Record<string, unknown>];
  return among
    .filter((field) => field in b === field in a && !same(a[field], b[field]) && !(field in mine && same(mine[field], b[field])))
    .map((field) => ({ field, before: a[field], now: b[field], mine: mine[field] }));
}

/** A draft on a newer state: ours where we changed something and did not yield, theirs elsewhere. */
export function rebase<D extends object>(theirs: D, draft: D, mine: Fields, yielded: readonly string[]): D {
  const kept = Object.keys(mine).filter((name) => !yielded.includes(name));
  return { ...theirs, ...Object.fromEntries(kept.map((name) => [name, (draft as Record<string, unknown>)[name]])) };
}

/**
 * The fields of a hazard that editors can change and readers care about. The area is compared as
 * `area`.
 */
export const hazardNames = ["hazard_Name", "type_ID", "severity_ID", "category_ID", "status", "latitude", "longitude", "area", "start_Date", "end_Date", "autoexpire", "description", "instruction",
  "snc_url", "comment_Text"];
export const productNames = ["title", "data", "parent_ID", "is_Hidden", "security_Flag", "org_IDs", "comment_Text", "timeline_Date"];

/**
 * Whether the draft warns people who were not warned before: a new warning, a raised one, or one
 * with a new place or area.
 */
export function warns(base: Hazard | undefined, change: Fields): boolean {
  if ((change["severity_ID"] ?? base?.severity_ID) !== "WARNING" || (base && base.status !== "A")) return false;
  return !base || ["severity_ID", "area", "latitude", "longitude", "type_ID"].some((name) => name in change);
}

/** The categories that a hazard may be given. A drill stays a drill, and nothing becomes one: a drill must never turn into a warning by a slip. */
export function categoriesFor(base: Pick<Hazard, "category_ID"> | undefined, drill: boolean): readonly string[] {
  if (drill || (base && isDrill(base))) return ["EXERCISE"];
  if (!base) return ["EVENT", "RESPONSE", "OTHER"];
  return base.category_ID === "EVENT" ? ["EVENT", "RESPONSE"] : [base.category_ID];
}

/** A product as the inputs hold it. */
export interface ProductDraft {
  readonly title: string;
  readonly data: string;
  readonly parent_ID: string;
  readonly is_Hidden: "Y" | "N";
  readonly security_Flag: "A" | "R";
  readonly comment_Text: string;
}

export const emptyProduct = (parent: number): ProductDraft => ({ title: "", data: "", parent_ID: String(parent), is_Hidden: "N", security_Flag: "A", comment_Text: "" });

export const productDraft = (p: Product): ProductDraft => ({
  title: p.title,
  data: p.data ?? "",
  parent_ID: String(p.parent_ID),
  is_Hidden: p.is_Hidden,
  security_Flag: p.security_Flag,
  comment_Text: p.comment_Text,
});

/** All that a product's draft says, in the API's fields and values. */
export function productFields(d: ProductDraft, type: Product["product_Type"]): { readonly fields: Fields; readonly faults: Faults } {
  const hasData = type === "TEXT_PRODUCT" || type === "URL_PRODUCT";
  const faults: Record<string, string> = {};
  if (d.title.trim() === "") faults["title"] = words.fault.missing;
  if (hasData && d.data.trim() === "") faults["data"] = words.fault.missing;
  return {
    fields: {
      title: d.title.trim(),
      ...(hasData ? { data: type === "URL_PRODUCT" ? d.data.trim() : d.data } : {}),
      parent_ID: Number(d.parent_ID),
      is_Hidden: d.is_Hidden,
      security_Flag: d.security_Flag,
      comment_Text: d.comment_Text,
    },
    faults,
  };
}

/** The service's faults by field; those without a visible input are under "". */
export function faultsOf(list: readonly { readonly pointer?: string; readonly parameter?: string; readonly detail: string }[], shown: readonly string[]): Faults {
  const out: Record<string, string> = {};
  for (const f of list) {
    const name = (f.pointer ?? "").replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~");
    const key = shown.includes(name) ? name : "";
    const said = key || !name ? f.detail : `${name} ${f.detail}`;
    out[key] = out[key] ? `${out[key]}; ${said}` : said;
  }
  return out;
}

/** The size of a hazard's alert areas, in square kilometers. */
export function alertSize(shapes: readonly { readonly role: string; readonly geometry: Geometry }[]): number {
  const alert = shapes.filter((s) => s.role === "alert");
  return (alert.length > 0 ? alert : shapes).reduce((sum, s) => sum + squareKilometres(s.geometry), 0);
}
