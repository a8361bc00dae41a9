// The area of a hazard: how it is drawn, by clicks or as numbers, and how large it is.
import type { Feature, FeatureCollection, Geometry } from "geojson";
import { useRef, useState } from "preact/hooks";
import { usePage } from "../ui/context";
import { forSearchers } from "../ui/later";
import { alertSize, cornersOf as draftCorners, geometryOf, withCorners, type AreaFile, type Faults, type HazardDraft } from "./draft";
import { extent, formatCorner, rings, rounded, squareKilometres } from "../geometry";
import { position } from "../position";
import { explain, Fault, Field } from "./inputs";
import type { Shape } from "./remote";
import { comparison } from "./size";
import { find, listed, words } from "../words";

/** The area of a place, as the server has it. */
type Outline = Feature<Geometry>;

const PlaceSearch = forSearchers(async () => (await import("../ui/find")).PlaceSearch);

export function AreaFields({ draft, set, faults, shapes }: { draft: HazardDraft; set: (change: Partial<HazardDraft>) => void; faults: Faults; shapes: readonly Shape[] | undefined }) {
  const { editing } = usePage();
  const { area } = draft;
  const had = shapes !== undefined && shapes.length > 0;
  const { geometry } = geometryOf(draft);
  const kinds = [...(had ? (["keep"] as const) : []), "none", "polygon", "circle", "buffer", "named", "file"] as const;
  const now = area.kind === "keep" && !had ? "none" : area.kind;
  const label = {
    keep: had ? words.areaKeepSize({ km2: rounded(alertSize(shapes)) }) : words.areaKeep,
    none: words.areaNone,
    polygon: words.areaPolygon,
    circle: words.areaCircle,
    buffer: words.areaBuffer,
    named: words.areaNamed,
    file: words.areaFile,
  };
  const drawn = draftCorners(area);
  const choose = (kind: (typeof kinds)[number]) => {
    set({
      area: kind === "polygon"
        ? { kind, corners: drawn ?? cornersOf(shapes) }
        : kind === "buffer"
        ? { kind, corners: drawn ?? cornersOf(shapes), closed: area.kind === "polygon", distance: "10" }
        : kind === "circle"
        ? { kind, radius: "10" }
        : kind === "named" || kind === "file"
        ? { kind }
        : { kind: kind === "none" && !had && shapes ? "keep" : kind },
    });
    editing.placing.value = kind === "polygon" || kind === "buffer" ? "corner" : kind === "circle" ? (draft.latitude === "" || draft.longitude === "" ? "place" : "rim") : undefined;
  };
  return (
    <fieldset class="area-fields" aria-describedby={faults["area"] ? "edit-area-fault" : undefined}>
      <legend>{words.field["area"]}</legend>
      <div class="segments">
        {kinds.map((kind) => (
          <label key={kind} class={now === kind ? "on" : ""}>
            <input type="radio" name="area-kind" checked={now === kind} onChange={() => choose(kind)} />
            <span>{label[kind]}</span>
          </label>
        ))}
      </div>
      {drawn !== undefined && (
        <>
          <div class="place-row">
            <PlaceButton what="corner" />
            <button
              type="button"
              class="small"
              disabled={drawn.trim() === ""}
              onClick={() => set({ area: withCorners(area, drawn.trim().split("\n").slice(0, -1).join("\n")) })}
            >
              {words.undo}
            </button>
          </div>
          <Field name="corners" label={words.corners} faults={{}}>
            {(a) => <textarea {...a} rows={4} spellcheck={false} value={drawn} onInput={(e) => set({ area: withCorners(area, e.currentTarget.value) })} />}
          </Field>
        </>
      )}
      {area.kind === "buffer" && (
        <div class="place-row">
          <Field name="distance" label={words.distance} faults={{}}>
            {(a) => <input {...a} inputMode="decimal" value={area.distance} onInput={(e) => set({ area: { ...area, distance: e.currentTarget.value } })} />}
          </Field>
          <label class="switch">
            <input type="checkbox" checked={area.closed} onChange={(e) => set({ area: { ...area, closed: e.currentTarget.checked } })} />
            <span>{words.closed}</span>
          </label>
        </div>
      )}
      {area.kind === "buffer" && <p class="hint">{words.bufferHint}</p>}
      {area.kind === "circle" && (
        <div class="place-row">
          <Field name="radius" label={words.radius} faults={{}}>
            {(a) => <input {...a} inputMode="decimal" value={area.radius} onInput={(e) => set({ area: { kind: "circle", radius: e.currentTarget.value } })} />}
          </Field>
          <PlaceButton what="rim" />
        </div>
      )}
      {area.kind === "circle" && <p class="hint">{words.dragCircle}</p>}
      {area.kind === "named" && <NamedArea draft={draft} set={set} />}
      {area.kind === "file" && <FileArea draft={draft} set={set} />}
      {editing.placing.value === "corner" && <p class="hint">{words.clickCorner}</p>}
      {editing.placing.value === "rim" && <p class="hint">{words.clickRim}</p>}
      {had && area.kind !== "keep" && <p class="hint">{words.areaReplaces}</p>}
      {geometry && <p class="hint" role="status">{sizeInWords([geometry])}</p>}
      <Fault id="edit-area-fault" words={faults["area"]} />
    </fieldset>
  );
}

/**
 * A district or zone by name: its outline becomes the area and, if there is no position yet, its
 * middle becomes the position.
 */
function NamedArea({ draft, set }: { draft: HazardDraft; set: (change: Partial<HazardDraft>) => void }) {
  const { store, map } = usePage();
  const [failed, setFailed] = useState(false);
  const place = draft.area.kind === "named" ? draft.area.place : undefined;
  if (place) {
    return (
      <div class="place-row">
        <p>
          <strong>
            <bdi>{place.name}</bdi>
          </strong>{" "}
          <span class="muted">{place.code}</span>
        </p>
        <button type="button" class="small" onClick={() => set({ area: { kind: "named" } })}>{words.changeNamed}</button>
      </div>
    );
  }
  return (
    <>
      <PlaceSearch
        id="area-name"
        kinds={["area"]}
        chosen={(p) => {
          setFailed(false);
          store.api.geo<Outline>(`/places/${encodeURIComponent(p.code!)}`).then(
            ({ geometry }) => {
              const [latitude, longitude] = formatCorner([p.lon, p.lat]).split(", ") as [string, string];
              set({ area: { kind: "named", place: { code: p.code!, name: p.name, geometry } }, ...(draft.latitude === "" && draft.longitude === "" ? { latitude, longitude } : {}) });
              const reach = extent(geometry);
              if (reach) void map.value?.look(reach.box);
            },
            () => setFailed(true),
          );
        }}
      />
      {failed && <p class="fault" role="alert">{find.unplaced}</p>}
    </>
  );
}

/**
 * The areas of a file, which the server parses. One or all become the area and, if there is no
 * position yet, their middle becomes the position.
 */
function FileArea({ draft, set }: { draft: HazardDraft; set: (change: Partial<HazardDraft>) => void }) {
  const { store, map } = usePage();
  const [fault, setFault] = useState("");
  const latest = useRef<File>(undefined);
  const read = draft.area.kind === "file" ? draft.area.read : undefined;
  const take = (now: AreaFile) => {
    const geometry = now.chosen === undefined ? now.whole : now.areas[now.chosen]!.geometry;
    const reach = extent(geometry);
    const [latitude, longitude] = reach ? formatCorner(reach.middle).split(", ") as [string, string] : ["", ""];
    set({ area: { kind: "file", read: now }, ...(draft.latitude === "" && draft.longitude === "" ? { latitude, longitude } : {}) });
    if (reach) void map.value?.look(reach.box);
  };
  const choose = async (file: File) => {
    latest.current = file;
    setFault("");
    try {
      const answer = await store.api.request("/areas/read", { method: "POST", body: file, timeout: 0 });
      const all = (await answer.json()) as ReadAreas;
      if (latest.current !== file) return; // another was chosen meanwhile
      take({ file: file.name, whole: all.whole, areas: all.features.map((f) => ({ name: f.properties.name, geometry: f.geometry })), left: all.left_out });
    } catch (error) {
      if (latest.current !== file) return;
      set({ area: { kind: "file" } });
      const why = explain(error);
      if (why) setFault(`${file.name}: ${why}`);
    }
  };
  return (
    <>
      <Field name="area-file" label={words.areaFileLabel} hint={words.areaFileHint} faults={fault ? { "area-file": fault } : {}}>
        {(a) => <input {...a} type="file" accept=".geojson,.json,.kml,.kmz,.gml,.xml,.zip" onChange={(e) => e.currentTarget.files?.[0] && void choose(e.currentTarget.files[0])} />}
      </Field>
      {read && (
        <>
          <p>
            <strong>
              <bdi>{read.file}</bdi>
            </strong>{" "}
            {read.left > 0 && <span class="muted">{words.areaFileLeft({ n: read.left })}</span>}
          </p>
          {read.areas.length > 1 && (
            <Field name="area-choice" label={words.areaFileChoice} faults={{}}>
              {(a) => (
                <select {...a} value={read.chosen ?? ""} onChange={(e) => take({ ...read, chosen: e.currentTarget.value === "" ? undefined : Number(e.currentTarget.value) })}>
                  <option value="">{words.areaFileAll({ n: read.areas.length })}</option>
                  {read.areas.map((one, i) => <option key={i} value={i}>{one.name || words.areaFileNumber({ n: i + 1 })}</option>)}
                </select>
              )}
            </Field>
          )}
        </>
      )}
    </>
  );
}

interface ReadAreas extends FeatureCollection<Geometry, { readonly name: string }> {
  readonly whole: Geometry;
  readonly left_out: number;
}

/** Corners that are dragged by hand; more are left to other tools. */
const MOST_CORNERS = 60;

/** The corners of an area that is one plain polygon, to begin with. */
function cornersOf(shapes: readonly Shape[] | undefined): string {
  const [first, ...more] = (shapes ?? []).filter((s) => s.role === "alert");
  if (first?.geometry.type !== "Polygon" || more.length > 0 || first.geometry.coordinates.length > 1) return "";
  const ring = first.geometry.coordinates[0]!.slice(0, -1);
  return ring.length > MOST_CORNERS ? "" : ring.map(formatCorner).join("\n");
}

/** Switches the meaning of clicks on the map on and off. */
export function PlaceButton({ what }: { what: "place" | "corner" | "rim" }) {
  const { editing, map } = usePage();
  const on = editing.placing.value === what;
  if (!map.value) return null; // without a map, coordinates are entered as numbers
  return (
    <button type="button" class={`small ${on ? "on" : ""}`} aria-pressed={on} onClick={() => (editing.placing.value = on ? undefined : what)}>
      {on ? words.stopMap : words.onMap}
    </button>
  );
}

const sizeInWords = (shapes: readonly Geometry[]): string => {
  const km2 = shapes.reduce((sum, g) => sum + squareKilometres(g), 0);
  return words.size({ km2: rounded(km2), compared: comparison(km2) });
};

/** The most names listed. */
const NAMES = 12;

/** An area as people must see it before they warn it: its outline, its size, how far it reaches, and the places in it that the map knows. */
export function AreaPicture({ shapes, places }: { shapes: readonly Geometry[]; places: readonly string[] }) {
  const whole: Geometry = { type: "GeometryCollection", geometries: [...shapes] };
  const reach = extent(whole);
  if (!reach) return <p class="fault">{words.noArea}</p>;
  const [west, south, east, north] = reach.box;
  const squeeze = Math.cos((reach.middle[1]! * Math.PI) / 180); // degrees of longitude are shorter than those of latitude
  const [w, h] = [(east - west) * squeeze, north - south];
  const scale = 100 / Math.max(w, h, 1e-9);
  const path = rings(whole).map((ring) => `M${ring.map(([x, y]) => `${((x! - west) * squeeze * scale).toFixed(1)},${((north - y!) * scale).toFixed(1)}`).join("L")}Z`).join("");
  const [longitude, latitude] = reach.middle;
  const middle = position(latitude!, longitude!, 2);
  return (
    <div class="area-picture">
      <svg viewBox={`-4 -4 ${(w * scale + 8).toFixed(1)} ${(h * scale + 8).toFixed(1)}`} aria-hidden="true">
        <path d={path} fill-rule="evenodd" />
      </svg>
      <div>
        <p class="area-size">{sizeInWords(shapes)}</p>
        <p>{words.reach({ width: rounded(reach.width), height: rounded(reach.height), middle })}</p>
        {places.length > 0 && <p>{words.places({ names: listed(places.slice(0, NAMES)), more: Math.max(0, places.length - NAMES) })}</p>}
      </div>
    </div>
  );
}
