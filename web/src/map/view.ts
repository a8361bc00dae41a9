// The map itself: MapLibre, and what is drawn on it.
import maplibregl, { type StyleSpecification } from "maplibre-gl";
import workerAddress from "maplibre-gl/dist/maplibre-gl-csp-worker.js?url";

maplibregl.setWorkerUrl(workerAddress);

const plain: StyleSpecification = { version: 8, sources: {}, layers: [{ id: "background", type: "background", paint: { "background-color": "#dfe6ec" } }] };

export class MapView {
  readonly map: maplibregl.Map;
  constructor(container: HTMLElement) {
    this.map = new maplibregl.Map({ container, style: plain, center: [0, 20], zoom: 1.5, attributionControl: false });
  }
}
