// The sources' shapes of the selected hazard: on the map, and a legend in the panel.
import type { FeatureCollection, Geometry } from "geojson";
import { useEffect, useMemo } from "preact/hooks";
import type { Schemas } from "../api";
import { draw, drawnOf, type Line } from "../map/drawn";
import type { Hazard } from "../model";
import { short } from "../time";
import { byId, drawn } from "../words";
import { usePage } from "./context";
import { Section, useData } from "./parts";

type Answer = FeatureCollection<Geometry, Schemas["ShapeFeature"]["properties"]>;

export function Drawn({ h, version }: { h: Hazard; version: string }) {
  const { store, map, theme } = usePage();
  const at = store.past.value?.at;
  const path = `/hazards/${h.hazard_ID}/shapes?${new URLSearchParams({ ...(h.type_ID === "WILDFIRE" ? { earlier: "true" } : {}), ...(at === undefined ? {} : { at: new Date(at).toISOString() }) })}`;
  const { data } = useData(`${h.hazard_ID} ${path} ${version}`, (signal) => store.api.geo<Answer>(path, signal));
  const found = useMemo(() => data && drawnOf(data.features), [data]);
  const view = map.value;
  const dark = theme.value === "dark";
  useEffect(() => (view && found?.shown.length ? draw(view, found.shown, dark, short) : undefined), [view, found, dark]);
  if (!found?.lines.length) return null;
  return (
    <Section title={drawn.title} open>
      <ul class="drawn">
        {found.lines.map((l) => (
          <li key={JSON.stringify(l)}>
            <svg width="30" height="8" aria-hidden="true">
              <path d="M1 4H29" stroke="currentColor" stroke-width="5" {...(l.forecast ? { "stroke-dasharray": "8 5" } : {})} />
              <path d="M1 4H29" stroke={l.color} stroke-width="3" {...(l.forecast ? { "stroke-dasharray": "8 5" } : {})} />
            </svg>{" "}
            {inWords(l)}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function inWords(l: Line): string {
  const name = [l.role === "contour" && l.band === "intensity" ? drawn.intensity : byId(drawn.role, l.role.replace(" ", "_")), l.value, l.at === undefined ? "" : short(l.at)].filter(Boolean).join(
    " · ",
  );
  return l.forecast ? drawn.forecast({ name }) : name;
}
