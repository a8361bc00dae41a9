// How fresh an answer is, as its headers say.

export interface Freshness {
  /** The change that the answer is as of. */
  readonly change: number | undefined;
  /** How many sources are as they should be, and which are not; undefined: the server does not say. */
  readonly sources: { readonly ok: number; readonly stale: number; readonly names: readonly string[] } | undefined;
  /** Seconds since the server last heard of its store; undefined: it is well. */
  readonly viewAge: number | undefined;
}

/** Reads Hazardd-Change, Hazardd-Sources (`ok=9; stale=1; names="gdacs"`) and Hazardd-View-Age. */
export function freshness(headers: Headers): Freshness {
  const number = (s: string | null) => (s !== null && /^\d+$/.test(s.trim()) ? Number(s) : undefined);
  const said = headers.get("Hazardd-Sources");
  let sources: Freshness["sources"];
  if (said !== null) {
    const value = (name: string) => new RegExp(`(?:^|[;\\s])${name}\\s*=\\s*(?:"([^"]*)"|([^;"\\s]+))`).exec(said);
    const count = (name: string) => number(value(name)?.[2] ?? value(name)?.[1] ?? null) ?? 0;
    sources = { ok: count("ok"), stale: count("stale"), names: (value("names")?.[1] ?? "").split(/[,\s]+/).filter(Boolean) };
  }
  return { change: number(headers.get("Hazardd-Change")), sources, viewAge: number(headers.get("Hazardd-View-Age")) };
}
