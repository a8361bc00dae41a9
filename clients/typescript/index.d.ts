/** The parameters of a search, named as in the interface. Lists are joined by commas. */
export interface Filter {
  type?: string | string[];
  severity?: string | string[];
  category?: string | string[];
  status?: "A" | "E" | "A,E" | ("A" | "E")[];
  source?: string | string[];
  /** west, south, east, north in degrees */
  bbox?: number[] | string;
  /** longitude, latitude in degrees; radius goes with it, in meters */
  near?: number[] | string;
  radius?: number;
  /** for a place: also the active hazards that are only known to be somewhere in a region or country there */
  possible?: boolean;
  /** words in the name or the description */
  q?: string;
  /** an earlier moment */
  at?: Date | string;
  [parameter: string]: unknown;
}

/** A hazard of the base interface. Dates are milliseconds since 1970, as digits. */
export interface Hazard {
  hazard_ID: number;
  uuid: string;
  hazard_Name: string;
  type_ID: string;
  severity_ID: string;
  category_ID: string;
  status: string;
  latitude: number;
  longitude: number;
  start_Date: string;
  end_Date: string;
  last_Update: string;
  [member: string]: unknown;
}

export interface Product {
  product_ID: number;
  uuid: string;
  title: string;
  product_Type: string;
  [member: string]: unknown;
}

export interface Change {
  change: number;
  /** RFC 3339 */
  time: string;
  type: string;
  hazard?: Hazard;
  product?: Product;
  fields?: { field: string; from: unknown; to: unknown }[];
  [member: string]: unknown;
}

/** A change, or a reset: then what was missed cannot be told, and the lists must be read anew. number is the place to go on after. */
export interface Event {
  number: number;
  type: string;
  data: Change;
  /** why the stream could not be resumed; empty: it was */
  reset: string;
}

/** As of when a list is true. */
export interface State {
  /** the number of the last change that it shows */
  change: number;
  /** how fresh the sources are */
  sources: string;
  /** whose silence an empty list repeats */
  coverage: string;
  /** of a list of a place: how many active hazards it leaves out because they are only known to be somewhere in a region or country there; null: the server does not say */
  possible: number | null;
}

export type Kind =
  | "unauthorized" | "forbidden" | "not found" | "invalid" | "conflict" | "stale" | "reset" | "too large" | "limited" | "unavailable" | "network" | "answer" | "waits";

export class HazarddError extends Error {
  readonly kind: Kind;
  /** of HTTP; 0: there was no answer */
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly errors: { parameter?: string; pointer?: string; detail: string }[];
  /** seconds */
  readonly retryAfter: number;
}

export interface Options {
  username?: string;
  password?: string;
  token?: string;
  refreshToken?: string;
  readKey?: string;
  /** ms for an answer */
  timeout?: number;
  /** ms that a read waits in all where the server says that it is asked too much */
  patience?: number;
  /** records that are asked for at once */
  pageSize?: number;
  fetch?: typeof globalThis.fetch;
}

export interface Call {
  signal?: AbortSignal;
}

export class Client {
  constructor(url: string, options?: Options);
  /** The active hazards that pass the filter, most severe first. */
  active(filter?: Filter, call?: Call): Promise<Hazard[] & State>;
  /** All hazards that pass the filter, active or not, page by page. */
  search(filter?: Filter, call?: Call): AsyncGenerator<Hazard, void, void>;
  count(filter?: Filter, call?: Call): Promise<number>;
  hazard(hazard: string | number, call?: Call & { at?: Date | string }): Promise<Hazard>;
  products(hazard: string | number, call?: Call & { at?: Date | string }): Promise<Product[] & State>;
  /** The history of one hazard, oldest change first. */
  hazardChanges(hazard: string | number, after?: number, call?: Call): AsyncGenerator<Change, void, void>;
  /** The changes after a number that are there now. */
  changes(after?: number, call?: Call): AsyncGenerator<Change, void, void>;
  /** The changes after a number (none: from now on), as they are made, for ever; a stream that is cut is opened again where it was. */
  events(after?: number, filter?: Filter, call?: Call): AsyncGenerator<Event, void, void>;
  /** A ticket that opens one event stream within a minute, without a token: for EventSource. */
  ticket(after?: number, filter?: Filter, call?: Call): Promise<{ ticket: string; expires: string; url: string }>;
  /** Makes a hazard. Without a uuid it gets one here, so that the same request sent again makes nothing. A write that waits for a second person is the error "waits". */
  createHazard(fields: Partial<Hazard>, call?: Call): Promise<Hazard>;
  /** Changes what is named, and leaves the rest; null sets the default. */
  patchHazard(hazard: string | number, fields: Record<string, unknown>, call?: Call): Promise<Hazard>;
  /** Ends a hazard, as it is over. */
  endHazard(hazard: string | number, call?: Call): Promise<Hazard>;
  /** Withdraws a hazard that was false. All who were told of it get the reason. */
  retractHazard(hazard: string | number, reason: string, call?: Call): Promise<Hazard>;
  /** Makes a folder, a text or a link of a hazard. */
  createProduct(hazard: string | number, fields: Partial<Product>, call?: Call): Promise<Product>;
  patchProduct(product: string | number, fields: Record<string, unknown>, call?: Call): Promise<Product>;
  /** Deletes a product; a folder must be empty. */
  deleteProduct(product: string | number, call?: Call): Promise<void>;
  logout(): Promise<void>;
}
