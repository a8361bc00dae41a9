// What was forecast of a storm beside what came, on the map: the forecast thin and dashed, the track solid, and a line between two positions of one time.
import type { Feature, FeatureCollection, Position } from "geojson";
import type { FilterSpecification, Map as Drawn } from "maplibre-gl";
import { wrap } from "../geometry";
import type { Issue, Story } from "../story";
import { takeOff } from "./overlay";
import type { MapView } from "./view";

/** Draws a forecast and the track; what it returns takes them off. */
export function drawStory(view: MapView, story: Story, issue: Issue, dark: boolean): () => void {
  const line = (kind: string, positions: readonly Position[]): Feature => ({ type: "Feature", properties: { kind }, geometry: { type: "LineString", coordinates: unbroken(positions) } });
  const began = story.track.filter((p) => p.at <= issue.issued).at(-1);
  const data: FeatureCollection = {
    type: "FeatureCollection",
    features: [
      line("track", story.track.map((p) => p.position)),
      line("forecast", [...(began ? [began.position] : []), ...issue.places.map((p) => p.forecast.position)]),
      ...issue.places.flatMap(({ forecast, came }) => (came ? [line("off", [forecast.position, came.position])] : [])),
      ...issue.places.map(({ forecast }): Feature => ({ type: "Feature", properties: { kind: "forecast" }, geometry: { type: "Point", coordinates: forecast.position } })),
      ...story.track.map((p): Feature => ({ type: "Feature", properties: { kind: "track" }, geometry: { type: "Point", coordinates: p.position } })),
    ],
  };
  const [ink, paper] = dark ? ["#ffffff", "#10181f"] : ["#10181f", "#ffffff"];
  view.overlay("story", (map: Drawn, before: string) => {
    const of = (kind: string, type: string): FilterSpecification => ["all", ["==", ["get", "kind"], kind], ["==", ["geometry-type"], type]];
    map.addSource("story", { type: "geojson", data });
    const add = (id: string, filter: FilterSpecification, paint: Record<string, unknown>) =>
      map.addLayer({ id: `story-${id}`, type: id.endsWith("at") ? "circle" : "line", source: "story", filter, paint } as Parameters<Drawn["addLayer"]>[0], before);
    add("casing", of("track", "LineString"), { "line-color": paper, "line-width": 5 });
    add("track", of("track", "LineString"), { "line-color": ink, "line-width": 3 });
    add("off", of("off", "LineString"), { "line-color": ink, "line-width": 1, "line-opacity": 0.6 });
    add("forecast", of("forecast", "LineString"), { "line-color": ink, "line-width": 1.6, "line-dasharray": [3, 3] });
    add("track-at", of("track", "Point"), { "circle-radius": 4, "circle-color": ink, "circle-stroke-color": paper, "circle-stroke-width": 1.5 });
    add("forecast-at", of("forecast", "Point"), { "circle-radius": 4, "circle-color": paper, "circle-stroke-color": ink, "circle-stroke-width": 1.5 });
  });
  return () => takeOff(view, "story", ["story"]);
}

/** The same positions, each as near to the one before as the world allows: a line that crosses 180 degrees does not go round it. */
function unbroken(positions: readonly Position[]): Position[] {
  let last: number | undefined;
  return positions.map(([x = 0, y = 0]) => {
    last = last === undefined ? x : last + wrap(x - last);
    return [last, y];
  });
}
