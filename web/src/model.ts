// What the service speaks of: the records of the base interface (section 2) and its vocabularies, with what the map needs to show them.
import { byId, locale, names } from "./words";

export type SeverityId = "TERMINATION" | "INFORMATION" | "ADVISORY" | "WATCH" | "WARNING";
export type CategoryId = "EVENT" | "EXERCISE" | "OTHER" | "RESPONSE";

/** A hazard, base interface section 2.6. Times are digits: milliseconds since 1970, UTC. Positions are WGS84 degrees. */
export interface Hazard {
  readonly hazard_ID: number;
  readonly uuid: string;
  readonly hazard_Name: string;
  readonly description: string;
  readonly type_ID: string;
  readonly severity_ID: SeverityId;
  readonly category_ID: CategoryId;
  readonly status: "A" | "E";
  readonly autoexpire: "Y" | "N";
  readonly start_Date: string;
  readonly end_Date: string;
  readonly create_Date: string;
  readonly last_Update: string;
  readonly update_Date: string;
  readonly update_User: string | null;
  readonly creator: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly product_total: string;
  readonly org_ID: number;
  readonly app_ID: number;
  readonly snc_url?: string;
  readonly comment_Text: string;
}

/** A product, base interface section 2.7. */
export interface Product {
  readonly product_ID: number;
  readonly uuid: string;
  readonly hazard_ID: number;
  readonly parent_ID: number;
  readonly title: string;
  readonly product_Type: "FOLDER_PRODUCT" | "FILE_PRODUCT" | "TEXT_PRODUCT" | "URL_PRODUCT";
  readonly data: string | null;
  readonly filename: string | null;
  readonly suffix: string;
  readonly product_url: string | null;
  readonly comment_Text: string;
  readonly is_Hidden: "Y" | "N";
  readonly security_Flag: "R" | "A";
  readonly org_ID: number;
  readonly org_IDs: string;
  readonly user_ID: string;
  readonly update_User: string;
  readonly create_Date: string;
  readonly update_Date: string;
  readonly timeline_Date: string;
  readonly geo_Locations: string;
}

/** A change of the log, as GET /hazards/{id}/changes and the stream of events tell it. */
export interface Change {
  readonly change: number;
  readonly time: string; // RFC 3339
  readonly type: string; // hazard.created …
  readonly user?: string;
  readonly source?: string;
  readonly reason?: string;
  readonly successor?: string;
  readonly note?: string;
  readonly retracted?: boolean;
  /** The number of the change that this one took back. */
  readonly undoes?: number;
  readonly fields?: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[];
  readonly hazard?: Hazard;
  readonly product?: Product;
}

/** What one source says of a hazard. */
export interface Report {
  readonly source: string;
  readonly event: string;
  readonly joined?: string;
  readonly version: string;
  readonly name: string;
  readonly description?: string;
  readonly type_ID: string;
  readonly severity_ID: SeverityId;
  readonly level?: string;
  readonly start_Date: string;
  readonly end_Date: string;
  readonly ended?: string;
  readonly refs: readonly string[];
  readonly url?: string;
}

/** The state of a source, GET /sources. */
export interface Source {
  readonly name: string;
  readonly title: string;
  readonly state: string;
  readonly last_success: string | null;
  readonly last_poll: string | null;
  readonly next_poll: string | null;
  readonly lag: number | null; // seconds
  readonly last_error: { readonly class: string; readonly time: string; readonly text?: string } | null;
}

export interface Severity {
  readonly id: SeverityId;
  /** 0 is the least severe. */
  readonly rank: number;
  /** Exactly the colour of base interface section 2.4. */
  readonly colour: string;
  /** Text on the colour that is readable by WCAG AA. */
  readonly ink: string;
}

/** Least severe first, as the service lists them. */
export const severities: readonly Severity[] = [
  { id: "TERMINATION", rank: 0, colour: "#666666", ink: "#ffffff" },
  { id: "INFORMATION", rank: 1, colour: "#3199f0", ink: "#000000" },
  { id: "ADVISORY", rank: 2, colour: "#00ff00", ink: "#000000" },
  { id: "WATCH", rank: 3, colour: "#ffff00", ink: "#000000" },
  { id: "WARNING", rank: 4, colour: "#ff0000", ink: "#000000" },
];

const severityOf = new Map(severities.map((s) => [s.id, s]));

/** The severity of an id; one that this page does not know yet ranks lowest, so that it is still shown. */
export function severity(id: string): Severity {
  return severityOf.get(id as SeverityId) ?? severities[0]!;
}

export const categories: readonly CategoryId[] = ["EVENT", "RESPONSE", "EXERCISE", "OTHER"];

/** The types of the base interface, section 2.3. Their names are in internal/words. */
export const types: readonly string[] = [
  "ACCIDENT",
  "ACTIVESHOOTER",
  "AVALANCHE",
  "BIOMEDICAL",
  "CIVILUNREST",
  "COMBAT",
  "CONFLICT",
  "CYBER",
  "DROUGHT",
  "EARTHQUAKE",
  "EQUIPMENT",
  "EXTREMETEMPERATURE",
  "FLOOD",
  "HIGHSURF",
  "HIGHWIND",
  "INCIDENT",
  "LANDSLIDE",
  "MANMADE",
  "MARINE",
  "OCCURRENCE",
  "POLITICALCONFLICT",
  "STORM",
  "TERRORISM",
  "TORNADO",
  "CYCLONE",
  "TSUNAMI",
  "UNIT",
  "VOLCANO",
  "WEAPONS",
  "WILDFIRE",
  "WINTERSTORM",
];

/** Words for what the service names by an id; one that this page does not know yet is shown as it is. */
export const typeName = (id: string): string => byId(names.type, id) ?? id;
export const categoryName = (id: string): string => byId(names.category, id) ?? id;
export const severityName = (s: Severity): string => names.severity[s.id];
/** Letters that tell the severity where colour does not. */
export const severityCode = (s: Severity): string => names.code[s.id];
/** Ids by the alphabet of the reader's language. */
export const byName = (ids: readonly string[], name: (id: string) => string): string[] => [...ids].sort((a, b) => name(a).localeCompare(name(b), locale()));
export const isDrill = (h: Pick<Hazard, "category_ID">): boolean => h.category_ID === "EXERCISE";

/** The address of a hazard's symbol, relative to the page and without its ending, by what decides how it looks. */
export const symbolAddress = (h: Pick<Hazard, "type_ID" | "category_ID" | "severity_ID">): string =>
  `symbols/${encodeURIComponent(h.type_ID)}/${encodeURIComponent(h.category_ID)}/${encodeURIComponent(h.severity_ID)}`;
