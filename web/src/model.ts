// The types of the service: records of the base interface (section 2) and its vocabularies, with
// what the map needs to show them.
import type { Schemas } from "./api";
import { categories, severities, types } from "./vocabulary";
import { byId, locale, names } from "./words";

export { categories, severities, types };

export type SeverityId = Schemas["SeverityId"];
export type CategoryId = Schemas["CategoryId"];

/** A hazard, base interface section 2.6. Times are digits: milliseconds since 1970, UTC. Positions are WGS84 degrees. */
export type Hazard = Schemas["Hazard"] & {
  /** Made of a summary: its texts, its sources and the kind of its end are not known yet. */
  readonly brief?: true;
};
/** A hazard in short, GET /hazards/active/summary. */
export type Summary = Schemas["Summary"];
/** A product, base interface section 2.7. */
export type Product = Schemas["Product"];
/** What one source says of a hazard. */
export type Report = Schemas["Report"];
/** The state of a source, GET /sources. */
export type Source = Schemas["Source"];
/** A change in the log, in the form of GET /hazards/{id}/changes and of the stream of events. */
export type Change = Schemas["Change"];
export type Severity = (typeof severities)[number];

const severityOf: ReadonlyMap<string, Severity> = new Map(severities.map((s) => [s.id, s]));

/** The severity of an id; one that this page does not know yet ranks lowest, so that it is still shown. */
export function severity(id: string): Severity {
  return severityOf.get(id) ?? severities[0];
}

/** What a list and a map need of a hazard, as a record. An end that somebody gave is taken for the end, until the whole record is there. */
export function briefOf(s: Summary): Hazard {
  const [starts, updated] = [s.starts, s.updated].map((t) => String(Date.parse(t)));
  const known = {
    hazard_ID: s.hazard_ID,
    uuid: s.uuid,
    hazard_Name: s.name,
    description: "",
    creator: "",
    type_ID: s.type,
    severity_ID: s.severity,
    category_ID: s.category,
    status: "A",
    autoexpire: s.ends ? "Y" : "N",
    start_Date: starts,
    end_Date: s.ends ? String(Date.parse(s.ends)) : starts,
    last_Update: updated,
    update_Date: updated,
    latitude: s.lat,
    longitude: s.lon,
    brief: true,
  } as const;
  return known as Partial<Hazard> as Hazard;
}

/** Translates the service's ids. An id that this page does not know is shown as it is. */
export const typeName = (id: string): string => byId(names.type, id) ?? id;
export const categoryName = (id: string): string => byId(names.category, id) ?? id;
export const severityName = (s: Severity): string => names.severity[s.id];
/** Letters that show the severity without color. */
export const severityCode = (s: Severity): string => names.code[s.id];
/** Ids by the alphabet of the reader's language. */
export const byName = (ids: readonly string[], name: (id: string) => string): string[] => [...ids].sort((a, b) => name(a).localeCompare(name(b), locale()));
export const isDrill = (h: Pick<Hazard, "category_ID">): boolean => h.category_ID === "EXERCISE";

/**
 * The address of a hazard's symbol, relative to the page and without extension. It contains
 * everything that affects the symbol's appearance.
 */
export const symbolAddress = (h: Pick<Hazard, "type_ID" | "category_ID" | "severity_ID">): string =>
  `symbols/${encodeURIComponent(h.type_ID)}/${encodeURIComponent(h.category_ID)}/${encodeURIComponent(h.severity_ID)}`;

/** Whether a hazard in short has ended at a moment, milliseconds. */
export const summaryOver = (s: Summary, now: number): boolean => s.ends !== undefined && s.ends !== null && Date.parse(s.ends) <= now;
