// OpenLayers reads the feature service as its example does, lists of hazards as GeoJSON and KML, collections, and the
// tiles, in a window without a screen. The variables are those of arcgis.test.mjs.
import assert from "node:assert/strict";
import test, { before } from "node:test";
import { JSDOM } from "jsdom";

const { HAZARDD_URL: url, HAZARDD_COUNT: count, HAZARDD_AREAS: areas } = process.env;
const colors = { WARNING: [255, 0, 0], WATCH: [255, 255, 0], ADVISORY: [0, 255, 0] };

let VectorSource, EsriJSON, GeoJSON, KML, MVT, OGCVectorTile, VectorTile, createXYZ, tile, bbox, transformExtent;
before(async () => {
	const page = new JSDOM("", { url });
	for (const name of ["window", "document", "navigator", "XMLHttpRequest", "DOMParser", "Node", "Image", "Element", "HTMLElement", "HTMLImageElement", "HTMLCanvasElement", "HTMLVideoElement"]) globalThis[name] = page.window[name];
	VectorSource = (await import("ol/source/Vector.js")).default;
	OGCVectorTile = (await import("ol/source/OGCVectorTile.js")).default;
	VectorTile = (await import("ol/source/VectorTile.js")).default;
	({ EsriJSON, GeoJSON, KML, MVT } = await import("ol/format.js"));
	({ createXYZ } = await import("ol/tilegrid.js"));
	({ tile, bbox } = await import("ol/loadingstrategy.js"));
	({ transformExtent } = await import("ol/proj.js"));
});

// loaded reads a source in an extent, in degrees, and returns its features.
function loaded(options, extent = [-180, -85, 180, 85]) {
	const source = new VectorSource({ wrapX: false, ...options });
	const projected = transformExtent(extent, "EPSG:4326", "EPSG:3857");
	return new Promise((resolve, reject) => {
		let waiting = 0;
		source.on("featuresloadstart", () => waiting++);
		source.on("featuresloadend", () => --waiting || resolve(source));
		source.on("featuresloaderror", () => reject(new Error(`cannot read ${source.getUrl()}`)));
		source.loadFeatures(projected, 10_000, "EPSG:3857");
	});
}

const ofKind = (source, kind) => source.getFeatures().filter(f => f.getGeometry().getType() === kind).length;

test("ArcGIS, tile by tile, with a slash behind query", async () => {
	const source = extent => `${url}/arcgis/rest/services/hazards/FeatureServer/1/query/?f=json&returnGeometry=true&spatialRel=esriSpatialRelIntersects&geometry=${
		encodeURIComponent(JSON.stringify({ xmin: extent[0], ymin: extent[1], xmax: extent[2], ymax: extent[3], spatialReference: { wkid: 102100 } }))
	}&geometryType=esriGeometryEnvelope&inSR=102100&outFields=*&outSR=102100`;
	const found = await loaded({ format: new EsriJSON(), url: source, strategy: tile(createXYZ({ tileSize: 512 })) }, [-1, 39, 21, 46]);
	assert.equal(new Set(found.getFeatures().map(f => f.get("hazard_ID"))).size, Number(areas));
	const [west, south, east, north] = transformExtent(found.getExtent(), "EPSG:3857", "EPSG:4326");
	assert.ok(Math.abs(west) < 1e-6 && Math.abs(south - 40) < 1e-6 && east <= 20 && north < 45, String([west, south, east, north]));
});

test("GeoJSON", async () => {
	const found = await loaded({ format: new GeoJSON(), url: `${url}/hazards/active?f=geojson&limit=1000` });
	assert.deepEqual([ofKind(found, "Point"), ofKind(found, "Polygon")], [count - areas, Number(areas)]);
	assert.equal(new Set(found.getFeatures().map(f => f.getId())).size, Number(count));
});

test("OGC API - Features, what is in sight", async () => {
	const source = extent => `${url}/ogc/collections/points/items?f=json&limit=1000&bbox=${transformExtent(extent, "EPSG:3857", "EPSG:4326").join(",")}`;
	const found = await loaded({ format: new GeoJSON(), url: source, strategy: bbox }, [-0.1, 39.9, 0.5, 40.1]);
	assert.deepEqual(found.getFeatures().map(f => f.get("hazard_Name")).sort(), ["Flood 0", "Flood 1"]);
});

test("KML, in the colors of the severities", async () => {
	const found = await loaded({ format: new KML(), url: `${url}/hazards/active?f=kml&limit=1000` });
	assert.equal(found.getFeatures().length, Number(count));
	const flood = found.getFeatures().find(f => f.get("name").includes("Flood 0"));
	const style = [flood.getStyleFunction()(flood, 1)].flat().find(s => s.getFill()) ;
	assert.deepEqual(style.getFill().getColor().slice(0, 3), colors.WARNING);
});

// tiles reads what a source has at a zoom, and returns the features of a layer by a property.
async function tiles(source, layer, property) {
	const found = new Map();
	for (const [z, x, y] of [[5, 16, 12], [5, 17, 12], [5, 16, 11], [5, 17, 11]]) {
		const address = source.getTileUrlFunction().call(source, [z, x, y], 1, source.getProjection());
		const answer = await fetch(address);
		assert.equal(answer.status, 200, address);
		for (const f of new MVT({ layers: [layer] }).readFeatures(await answer.arrayBuffer(), { extent: source.getTileGrid().getTileCoordExtent([z, x, y]) })) found.set(f.get(property), f);
	}
	return found;
}

test("tiles, by their template", async () => {
	const { tiles: [template] } = await (await fetch(`${url}/tiles.json`)).json();
	const found = await tiles(new VectorTile({ format: new MVT(), url: template }), "areas", "hazard_ID");
	assert.equal(found.size, Number(areas));
});

test("OGC API - Tiles", async () => {
	const source = new OGCVectorTile({ url: `${url}/ogc/tiles/WebMercatorQuad`, format: new MVT() });
	await new Promise((resolve, reject) => source.on("change", () => ({ ready: resolve, error: reject })[source.getState()]?.()));
	const found = await tiles(source, "danger", "severity");
	assert.deepEqual([...found.keys()].sort(), ["ADVISORY", "WARNING", "WATCH"]);
});
