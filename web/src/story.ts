// What was forecast of a storm, and what came.
import type { Feature, Geometry, Position } from "geojson";
import type { Schemas } from "./api";
import { distance, wrap } from "./geometry";

export type Shape = Feature<Geometry, Schemas["ShapeFeature"]["properties"]>;

/** Where a storm is at a time, milliseconds since 1970, and its wind in km/h. */
export interface Place {
  readonly at: number;
  readonly position: Position;
  readonly wind: number | undefined;
}

/** A forecast position, and where the storm was at its time; nothing if that has not come or is not known. */
export interface Compared {
  readonly forecast: Place;
  readonly came: Place | undefined;
  /** Between the two, meters. */
  readonly off: number | undefined;
}

/** What one source forecast at a time. */
export interface Issue {
  readonly source: string;
  readonly issued: number;
  readonly places: readonly Compared[];
}

export interface Story {
  /** Where the storm was, in order of time. */
  readonly track: readonly Place[];
  /** The forecasts, in order of time. */
  readonly issues: readonly Issue[];
}

/** Positions that are further apart say nothing of the time between them, milliseconds. */
const APART = 12 * 3_600_000 + 1;

/** The story that positions tell: those of now and all earlier ones, as `GET /hazards/{hazard-id}/shapes?earlier=true` has them. */
export function storyOf(all: readonly Shape[]): Story {
  const came = new Map<number, Place>();
  const issues = new Map<string, { source: string; issued: number; places: Place[] }>();
  for (const { geometry, properties: p } of all) {
    if (p.role !== "position" || geometry.type !== "Point") continue;
    const place: Place = { at: Date.parse(p.from), position: geometry.coordinates, wind: p.band === "wind_kmh" ? p.value : undefined };
    if (!p.forecast) came.set(place.at, place);
    else if (p.since) {
      const key = `${p.since} ${p.source} ${p.part}`;
      if (!issues.has(key)) issues.set(key, { source: p.source, issued: Date.parse(p.since), places: [] });
      issues.get(key)!.places.push(place);
    }
  }
  const inTime = (a: Place, b: Place) => a.at - b.at;
  const track = [...came.values()].sort(inTime);
  return {
    track,
    issues: [...issues.values()].sort((a, b) => a.issued - b.issued).map(({ source, issued, places }) => ({
      source,
      issued,
      places: places.sort(inTime).map((forecast) => {
        const was = placeAt(track, forecast.at);
        return { forecast, came: was, off: was && distance(was.position, forecast.position) };
      }),
    })),
  };
}

/** Where a storm was at a time, between the positions before and after it; its wind is that before. */
function placeAt(track: readonly Place[], at: number): Place | undefined {
  const i = track.findIndex((p) => p.at >= at);
  const next = track[i];
  const last = track[i - 1];
  if (!next || next.at === at) return next;
  if (!last || next.at - last.at > APART) return undefined;
  const share = (at - last.at) / (next.at - last.at);
  const [x = 0, y = 0] = last.position;
  const [east = 0, north = 0] = next.position;
  return { at, position: [wrap(x + wrap(east - x) * share), y + (north - y) * share], wind: last.wind };
}
