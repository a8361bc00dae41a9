// How fresh an answer is, as its headers say.

export interface Sources {
  readonly ok: number;
  /** Not read for so long that their present state is unknown. */
  readonly stale: number;
  /** The last attempt failed; earlier data may still be valid. */
  readonly failing: number;
  /** Not read yet. */
  readonly starting: number;
  /** Official feeds that have never answered. */
  readonly unheard?: number;
  /** Records of the store that are damaged and left out. */
  readonly damaged?: number;
  /** Names of the stale and failing ones. */
  readonly names: readonly string[];
}

export interface Freshness {
  /** The change that the answer is as of. */
  readonly change: number | undefined;
  /** How many sources are as they should be, and which are not; undefined: the server does not say. */
  readonly sources: Sources | undefined;
  /**
   * Seconds since the server last reached its store; undefined means that the store is reachable.
   */
  readonly viewAge: number | undefined;
}

/** Reads Hazardd-Change, Hazardd-Sources (`ok=9; stale=1; failing=1; names="gdacs,nhc"`) and Hazardd-View-Age. */
export function freshness(headers: Headers): Freshness {
  const number = (s: string | null) => (s !== null && /^\d+$/.test(s.trim()) ? Number(s) : undefined);
  const said = headers.get("Hazardd-Sources");
  let sources: Freshness["sources"];
  if (said !== null) {
    const value = (name: string) => new RegExp(`(?:^|[;\\s])${name}\\s*=\\s*(?:"([^"]*)"|([^;"\\s]+))`).exec(said);
    const count = (name: string) => number(value(name)?.[2] ?? value(name)?.[1] ?? null) ?? 0;
    sources = {
      ok: count("ok"),
      stale: count("stale"),
      failing: count("failing"),
      starting: count("starting"),
      ...(count("unheard") > 0 && { unheard: count("unheard") }),
      ...(count("damaged") > 0 && { damaged: count("damaged") }),
      names: (value("names")?.[1] ?? "").split(/[,\s]+/).filter(Boolean),
    };
  }
  return { change: number(headers.get("Hazardd-Change")), sources, viewAge: number(headers.get("Hazardd-View-Age")) };
}

/** What a view without hazards is worth, as its sources are. */
export type Trust =
  /** All sources are up to date. */
  | "good"
  /** Some source is not, or the store is damaged: something may be missing. */
  | "partly"
  /** There are sources, and none of them has been read, or can be. */
  | "unread"
  /** No source is read here: all hazards are entered by people. */
  | "none"
  /** The server does not say. */
  | "unknown";

export function trust(s: Sources | undefined): Trust {
  if (!s) return "unknown";
  if (s.damaged) return "partly";
  const bad = s.stale + s.failing + s.starting;
  return s.ok > 0 ? (bad > 0 ? "partly" : "good") : bad + (s.unheard ?? 0) > 0 ? "unread" : "none";
}
