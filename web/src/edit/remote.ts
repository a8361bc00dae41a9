// The present state of a hazard or product at the service, with the ETag for a conditional write.
import type { Feature, FeatureCollection, Geometry } from "geojson";
import type { Api } from "../api";
import type { Hazard, Product } from "../model";
import { alertSize, type Instructed } from "./draft";

export interface Shape {
  readonly role: string;
  readonly geometry: Geometry;
}

export interface HazardState {
  readonly h: Instructed;
  readonly tag: string;
  readonly shapes: readonly Shape[];
}

/** Reads a hazard, what to do, and its area. The hazard comes first: should it change in between, a write on this state is refused. */
export async function readHazard(api: Api, id: number | string, signal?: AbortSignal): Promise<HazardState> {
  const answer = await api.request(`/hazards/${id}`, { signal });
  const h = (await answer.json()) as Hazard;
  const { properties } = await api.geo<Feature<Geometry | null, { instruction: string }>>(`/hazards/${id}?f=geojson`, signal);
  const areas = await api.geo<FeatureCollection<Geometry, { role: string; from?: string }>>(`/hazards/${id}/alert-geography`, signal);
  return {
    h: { ...h, ...(ownPage(h) ? { snc_url: "" } : {}), instruction: properties.instruction },
    tag: answer.headers.get("ETag") ?? "",
    // A shape with a time was drawn by a source, such as a cone, and is not an area of the hazard.
    shapes: areas.features.filter((f) => f.properties.role !== "point" && f.properties.from === undefined).map((f) => ({ role: f.properties.role, geometry: f.geometry })),
  };
}

/** A hazard without its own page gets the service's page, which is not an editor's input. */
const ownPage = (h: Hazard): boolean => (h.snc_url ?? "").endsWith(`/h/${h.uuid}`);

/** A state's fields, the area among them, so that two states can be compared. */
export const record = (s: HazardState): object => ({ ...s.h, area: { size: alertSize(s.shapes), key: s.shapes } });

export interface ProductState {
  readonly product: Product;
  readonly tag: string;
}

export async function readProduct(api: Api, id: number): Promise<ProductState> {
  const answer = await api.request(`/products/${id}`);
  const [product] = (await answer.json()) as Product[];
  return { product: product!, tag: answer.headers.get("ETag") ?? "" };
}
