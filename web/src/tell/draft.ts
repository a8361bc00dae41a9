// A subscription as its form holds it: the inputs are text, numbers are read when it is sent.
import type { Geometry } from "geojson";
import type { Schemas } from "../api";
import { circle, formatCorner, parseCorners, polygon } from "../geometry";
import { tell } from "../words";
import { decimal, type Faults } from "../edit/draft";

export type Subscription = Schemas["Subscription"];
export type Offered = Schemas["SubscriptionChannels"];
type Point = NonNullable<Schemas["SubscriptionWhere"]["points"]>[number];
export type Digest = Subscription["digest"];

export interface PointDraft {
  readonly name: string;
  readonly latitude: string;
  readonly longitude: string;
  readonly radius: string;
}

export interface ChannelDraft {
  readonly kind: "email" | "webpush" | "http";
  readonly to: string;
  readonly template?: string | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
}

/** Whether a message with a code went to an address, which confirms it. */
export const awaitsCode = (c: { readonly kind: string; readonly status?: string | undefined }): boolean => c.kind === "http" && c.status === "unconfirmed";

export interface TellDraft {
  /** Of the subscription that is changed; undefined: a new one. */
  readonly id: string | undefined;
  readonly name: string;
  /** Only changes that wait for a second person, for editors: all about hazards is left out. */
  readonly drafts: boolean;
  readonly points: readonly PointDraft[];
  /** Corners as lines of text, or an area from elsewhere, which can be kept or removed. */
  readonly area: { readonly corners: string } | { readonly geometry: Geometry } | undefined;
  readonly regions: readonly string[];
  /** The places of an organization, by its short name, and within how many kilometres. */
  readonly assets: { readonly organization: string; readonly within: string } | undefined;
  readonly types: readonly string[];
  readonly categories: readonly string[];
  readonly severity: string;
  readonly people: string;
  readonly measure: string;
  readonly drills: boolean;
  readonly channels: readonly ChannelDraft[];
  /** The code that a new telephone number got; empty: none is entered. */
  readonly code: string;
  readonly language: string;
  readonly zone: string;
  readonly quiet: { readonly on: boolean; readonly from: string; readonly to: string; readonly except: string };
  readonly digest: Digest;
}

/** Around a place that somebody chooses, kilometres, unless they say otherwise. */
export const RADIUS = "25";

export const pointAt = ([longitude, latitude]: readonly [number, number], name = ""): PointDraft => {
  const [lat, lon] = formatCorner([longitude, latitude]).split(", ") as [string, string];
  return { name, latitude: lat, longitude: lon, radius: RADIUS };
};

export const emptyDraft = (offered: Offered, language: string, zone: string): TellDraft => ({
  id: undefined,
  name: "",
  drafts: false,
  points: [],
  area: undefined,
  regions: [],
  assets: undefined,
  types: [],
  categories: [],
  severity: "ADVISORY",
  people: "",
  measure: "",
  drills: false,
  channels: offered.email ? [{ kind: "email", to: "" }] : [],
  code: "",
  language,
  zone,
  quiet: { on: false, from: "22:00", to: "07:00", except: "WARNING" },
  digest: "none",
});

export const draftOf = (s: Subscription): TellDraft => ({
  id: s.id,
  name: s.name,
  drafts: s.drafts ?? false,
  points: (s.where?.points ?? []).map((p: Point) => ({ name: p.name ?? "", latitude: String(p.lat), longitude: String(p.lon), radius: String(p.radius_km) })),
  area: areaOf(s.where?.areas as Geometry | undefined),
  regions: s.where?.regions ?? [],
  assets: s.where?.assets && { organization: s.where.assets.organization, within: String(s.where.assets.within_km) },
  types: s.types,
  categories: s.categories,
  severity: s.severity_min ?? "",
  people: s.people_min ? String(s.people_min) : "",
  measure: s.measure ?? "",
  drills: s.drills,
  channels: s.channels,
  code: "",
  language: s.language ?? "",
  zone: s.time_zone,
  quiet: s.quiet?.from ? { on: true, from: s.quiet.from, to: s.quiet.to ?? "", except: s.quiet.except ?? "WARNING" } : { on: false, from: "22:00", to: "07:00", except: "WARNING" },
  digest: s.digest,
});

/** A plain polygon can be drawn on; everything else stays as it is. */
function areaOf(g: Geometry | undefined): TellDraft["area"] {
  if (!g) return undefined;
  const ring = g.type === "Polygon" && g.coordinates.length === 1 ? g.coordinates[0]! : [];
  return ring.length > 3 && ring.length <= 61 ? { corners: ring.slice(0, -1).map(formatCorner).join("\n") } : { geometry: g };
}

/** What the map shows of a draft. */
export function shapesOf(d: TellDraft): Geometry[] {
  const out: Geometry[] = [];
  for (const p of d.points) {
    const [latitude, longitude, radius] = [decimal(p.latitude), decimal(p.longitude), decimal(p.radius)];
    if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) {
      out.push({ type: "Point", coordinates: [longitude, latitude] });
      if (radius > 0 && radius <= 2_000) out.push(circle([longitude, latitude], radius * 1_000));
    }
  }
  if (d.area && "geometry" in d.area) out.push(d.area.geometry);
  else if (d.area) {
    const { corners } = parseCorners(d.area.corners);
    if (corners.length > 2) out.push(polygon(corners));
    else if (corners.length > 1) out.push({ type: "LineString", coordinates: [...corners] });
    for (const coordinates of corners) out.push({ type: "Point", coordinates: [...coordinates] });
  }
  return out;
}

/** The body for the subscription, and the faults that can be found without the server. */
export function bodyOf(d: TellDraft, worldAllowed: boolean): { readonly body: Record<string, unknown>; readonly faults: Faults } {
  const faults: Record<string, string> = {};
  const read = (words: string, at: string, lowest: number, highest: number): number => {
    const n = decimal(words);
    if (!(n >= lowest && n <= highest)) faults[at] = tell.fault.between({ lowest, highest });
    return n;
  };
  if (d.drafts) d = { ...d, points: [], area: undefined, regions: [], assets: undefined, people: "" };
  const points = d.points.map((p, i) => ({
    ...(p.name.trim() ? { name: p.name.trim() } : {}),
    lat: read(p.latitude, `where/points/${i}/lat`, -90, 90),
    lon: read(p.longitude, `where/points/${i}/lon`, -180, 180),
    radius_km: read(p.radius, `where/points/${i}/radius_km`, 0.1, 2_000),
  }));
  let areas: Geometry | null = null;
  if (d.area && "geometry" in d.area) areas = d.area.geometry;
  else if (d.area) {
    const { corners, wrong } = parseCorners(d.area.corners);
    if (wrong !== undefined) faults["where/areas"] = tell.fault.corner({ line: wrong });
    else if (corners.length < 3) faults["where/areas"] = tell.fault.corners;
    else areas = polygon(corners);
  }
  const assets = d.assets && { organization: d.assets.organization, within_km: read(d.assets.within, "where/assets/within_km", 0, 300) };
  const somewhere = points.length > 0 || d.area !== undefined || d.regions.length > 0 || d.assets !== undefined;
  if (!somewhere && !worldAllowed) faults["where"] = tell.fault.where;
  if (d.channels.length === 0) faults["channels"] = tell.fault.channels;
  d.channels.forEach((c, i) => {
    if (c.to.trim() === "") faults[`channels/${i}`] = tell.fault.missing;
  });
  return {
    faults,
    body: {
      name: d.name.trim(),
      drafts: d.drafts,
      where: somewhere ? { areas, points, regions: d.regions, ...(assets ? { assets } : {}) } : null,
      types: d.types,
      categories: d.categories,
      severity_min: d.severity || null,
      people_min: d.people.trim() ? Math.round(read(d.people, "people_min", 0, 1e10)) : 0,
      measure: d.measure.trim(),
      drills: d.drills,
      channels: d.channels.map((c) => ({ kind: c.kind, to: c.to.trim(), ...(c.template ? { template: c.template } : {}) })),
      language: d.language,
      time_zone: d.zone,
      quiet: d.quiet.on ? { from: d.quiet.from, to: d.quiet.to, except: d.quiet.except } : null,
      digest: d.digest,
      ...(d.code.trim() ? { code: d.code.trim() } : {}),
    },
  };
}

/** The server's faults, each at the nearest input; others are under "". */
export function placed(list: readonly { readonly pointer?: string; readonly parameter?: string; readonly detail: string }[], shown: ReadonlySet<string>): Faults {
  const out: Record<string, string> = {};
  for (const f of list) {
    let at = (f.pointer ?? "").replace(/^\//, "");
    while (at && !shown.has(at)) at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "";
    const said = at || !f.pointer ? f.detail : `${f.pointer.slice(1)}: ${f.detail}`;
    out[at] = out[at] ? `${out[at]}; ${said}` : said;
  }
  return out;
}
