// What sources draw of the selected hazard, on the map: cones, tracks, winds, contours, perimeters. It is loaded with the panel's part that names them.
import type { Feature, FeatureCollection, Geometry, Position } from "geojson";
import type { FilterSpecification, Map as Drawn } from "maplibre-gl";
import type { Schemas } from "../api";
import { regular } from "../basemap";
import { growth } from "../vocabulary.drawn";
import { wrap } from "../geometry";
import { measured } from "../measures";
import { takeOff } from "./overlay";
import type { MapView } from "./view";

export type Shape = Feature<Geometry, Schemas["ShapeFeature"]["properties"]>;

/** A line of the legend: what all shapes are that are drawn alike. */
export interface Line {
  readonly role: string;
  /** The quantity of the value. */
  readonly band: string | undefined;
  readonly color: string;
  readonly forecast: boolean;
  readonly value: string;
  /** When it was so; of perimeters, which are told apart by it. */
  readonly at?: number;
}

/** Contours below are felt by few. */
const LEAST_CONTOUR = 4;
const MOST_LINES = 12;

/** What is drawn, older perimeters over the newer ones that they are part of, and what names it, the worst first. */
export function drawnOf(all: readonly Shape[]): { readonly shown: readonly Shape[]; readonly lines: readonly Line[] } {
  const windNow = all.some(({ properties: p }) => p.role === "wind radius" && !p.forecast);
  const kept = all.filter(({ properties: p }) =>
    !(p.role === "wind radius" && p.forecast && windNow) && !(p.role === "contour" && p.band === "intensity" && (p.value! < LEAST_CONTOUR || p.value! % 1 !== 0))
  );
  const from = (s: Shape) => Date.parse(s.properties.from);
  const times = [...new Set(kept.filter((s) => s.properties.role === "perimeter").map(from))].sort((a, b) => a - b);
  const shown = kept
    .map((s): Shape => {
      if (s.properties.role !== "perimeter" || times.length < 2) return s;
      return { ...s, properties: { ...s.properties, color: growth[Math.floor((times.indexOf(from(s)) * (growth.length - 1)) / (times.length - 1))]! } };
    })
    .sort((a, b) => (a.properties.role === "perimeter" && b.properties.role === "perimeter" ? from(b) - from(a) : 0));
  const lines = new Map<string, Line & { readonly size: number }>();
  for (const s of shown) {
    const { role, color, forecast, band, value, unit, word } = s.properties;
    if (role === "position") continue; // its colour is that of the winds
    const line = {
      role,
      band,
      color,
      forecast,
      value: word ?? (value === undefined ? "" : measured(value, unit)),
      size: value ?? 0,
      ...(role === "perimeter" ? { at: from(s) } : {}),
    };
    lines.set([role, line.value, forecast, line.at].join(), line);
  }
  return { shown, lines: [...lines.values()].sort((a, b) => (a.role === b.role ? b.size - a.size || (b.at ?? 0) - (a.at ?? 0) : 0)).slice(0, MOST_LINES) };
}

/** The cone of a storm has no colour of its own: on the dark map it is light. */
const LIGHT = "#c9d3db";

/** Where the words of a position may stand, as their anchor and the way to them; the first of equals is taken. */
const SIDES = { "top-left": [1, -1], "bottom-left": [1, 1], "bottom-right": [-1, 1], "top-right": [-1, -1] } as const;
export type Side = keyof typeof SIDES;
/** The angle from a line at which words are free of it. */
const FREE = 1.2;

/**
 * Where the words of the n-th position of a track stand: not on the lines to its neighbors, and rather towards the middle of the track than at the edge of
 * the screen.
 */
export function sideOf(n: number, track: readonly Position[]): Side {
  const way = (to: Position): [number, number] => [wrap(to[0]! - track[n]![0]!), to[1]! - track[n]![1]!];
  const easts = track.map((p) => way(p)[0]);
  const middle = Math.min(...easts) + Math.max(...easts);
  const free = ([x, y]: readonly [number, number]): number =>
    Math.min(
      FREE,
      ...[track[n - 1], track[n + 1]].map((p) => {
        const [east, north] = p ? way(p) : [-x, -y];
        return Math.acos((east * x + north * y) / (Math.hypot(east, north) * Math.SQRT2 || 1));
      }),
    ) + (x * middle > 0 ? 0.5 : 0);
  const sides = Object.keys(SIDES) as Side[];
  return sides.reduce((best, side) => (free(SIDES[side]) > free(SIDES[best]) + 0.01 ? side : best));
}

/** Draws shapes beneath the marks of hazards; what it returns takes them off. `time` writes when a storm or a wave is expected somewhere. */
export function draw(view: MapView, shown: readonly Shape[], dark: boolean, time: (at: number) => string): () => void {
  const track = shown.filter((s) => s.properties.role === "position" && s.geometry.type === "Point")
    .sort((a, b) => Date.parse(a.properties.from) - Date.parse(b.properties.from)).map((s) => s.geometry);
  const places = track.map((g) => (g.type === "Point" ? g.coordinates : []));
  const data: FeatureCollection = {
    type: "FeatureCollection",
    features: shown.map(({ geometry, properties: { role, color, forecast, from, value, unit } }) => ({
      type: "Feature",
      geometry,
      properties: {
        role,
        color: dark && role === "cone" ? LIGHT : color,
        forecast,
        ...((role === "position" || role === "coast") && forecast && geometry.type === "Point"
          ? {
            side: role === "position" ? sideOf(track.indexOf(geometry), places) : "top-left",
            time: [time(Date.parse(from)), role === "position" && value !== undefined ? measured(value, unit) : ""].filter(Boolean).join("\n"),
          }
          : {}),
      },
    })),
  };
  view.overlay("drawn", (map: Drawn, before: string) => {
    const point: FilterSpecification = ["==", ["geometry-type"], "Point"];
    const line = (forecast: boolean): FilterSpecification => ["all", ["!", point], ["==", ["get", "forecast"], forecast]];
    map.addSource("drawn", { type: "geojson", data, tolerance: 0.5 });
    map.addLayer({
      id: "drawn-area",
      type: "fill",
      source: "drawn",
      filter: ["==", ["geometry-type"], "Polygon"],
      paint: { "fill-color": ["get", "color"], "fill-opacity": ["case", ["==", ["get", "role"], "cone"], 0.1, 0.22] },
    }, before);
    map.addLayer({ id: "drawn-casing", type: "line", source: "drawn", filter: line(false), paint: { "line-color": "#10181f", "line-width": 3.6 } }, before);
    map.addLayer({ id: "drawn-line", type: "line", source: "drawn", filter: line(false), paint: { "line-color": ["get", "color"], "line-width": 2 } }, before);
    map.addLayer({ id: "drawn-dashed", type: "line", source: "drawn", filter: line(true), paint: { "line-color": ["get", "color"], "line-width": 2.4, "line-dasharray": [2, 1.4] } }, before);
    map.addLayer({
      id: "drawn-position",
      type: "circle",
      source: "drawn",
      filter: point,
      paint: { "circle-radius": 4.5, "circle-color": ["get", "color"], "circle-stroke-color": "#10181f", "circle-stroke-width": 1.4 },
    }, before);
    map.addLayer({
      id: "drawn-time",
      type: "symbol",
      source: "drawn",
      filter: ["has", "time"],
      layout: {
        "text-field": ["get", "time"],
        "text-font": [...regular],
        "text-size": 12,
        "text-anchor": ["get", "side"],
        "text-radial-offset": 0.6,
        "text-justify": "auto",
        "text-max-width": 16,
      },
      paint: { "text-color": dark ? "#e8edf2" : "#10181f", "text-halo-color": dark ? "#0d141a" : "#ffffff", "text-halo-width": 1.6 },
    }, before);
  });
  return () => takeOff(view, "drawn", ["drawn"]);
}
