// The settings in the widget's address. Invalid ones are ignored, except the area: half of it would
// look like all.
import { languages } from "virtual:words";
import { best } from "../language";
import type { Language } from "../words";

export interface Settings {
  /** The parameters of the list: area, types, levels. */
  readonly query: string;
  /** The list is for one area, so what an empty list means depends on the coverage there. */
  readonly placed: boolean;
  readonly language: Language;
  readonly title: string;
  readonly kiosk: boolean;
  /** A wall sounds when it begins not to know what is new. */
  readonly sound: boolean;
  readonly theme: "light" | "dark" | undefined;
  /** The token of a service that watches drafts: a wall tells of those that wait. It stands behind the #, which is sent to nobody. */
  readonly watches: string | undefined;
  /** What is wrong with the address, for its author. */
  readonly fault: string;
}

export function readSettings(search: string, hash: string, preferred: readonly string[]): Settings {
  const p = new URLSearchParams(search);
  const asked = p.get("lang") ?? "";
  const language = best(languages, asked ? [asked] : preferred);
  const query = new URLSearchParams();
  let fault = "";
  const bbox = p.get("bbox");
  if (bbox !== null) {
    const n = bbox.split(",").map((x) => (x.trim() === "" ? NaN : Number(x)));
    const [west, south, east, north] = n as [number, number, number, number];
    if (n.length !== 4 || n.some(Number.isNaN) || Math.abs(west) > 180 || Math.abs(east) > 180 || south < -90 || north > 90 || south > north) fault = `bbox=${bbox}: expected west,south,east,north`;
    else query.set("bbox", n.join(","));
  }
  for (const name of ["type", "severity"]) {
    const list = (p.get(name) ?? "").toUpperCase().split(",").filter((x) => /^[A-Z]{1,40}$/.test(x));
    if (list.length) query.set(name, list.join(","));
  }
  const theme = p.get("theme");
  return {
    query: query.toString().replaceAll("%2C", ","),
    placed: query.has("bbox"),
    language,
    title: (p.get("title") ?? "").slice(0, 100),
    kiosk: p.get("kiosk") === "1",
    sound: p.get("sound") === "1",
    watches: new URLSearchParams(hash.slice(1)).get("drafts") ?? undefined,
    theme: theme === "light" || theme === "dark" ? theme : undefined,
    fault,
  };
}
