// esri-leaflet, the plugin of Leaflet, reads the feature service, in a window without a screen. The variables are those of
// arcgis.test.mjs.
import assert from "node:assert/strict";
import test, { before } from "node:test";
import { JSDOM } from "jsdom";

const { HAZARDD_URL: url, HAZARDD_AREAS: areas } = process.env;
const server = `${url}/arcgis/rest/services/hazards/FeatureServer`;

let L, esri;
before(async () => {
	const page = new JSDOM("<div id=map style='width:800px;height:600px'></div>", { url });
	Object.assign(globalThis, { window: page.window, document: page.window.document, XMLHttpRequest: page.window.XMLHttpRequest, navigator: page.window.navigator });
	for (const name of ["Image", "Element", "HTMLElement", "SVGElement"]) globalThis[name] = page.window[name];
	L = (await import("leaflet")).default;
	esri = await import("esri-leaflet");
});

const asked = ask => new Promise((resolve, reject) => ask((error, ...answer) => error ? reject(new Error(JSON.stringify(error))) : resolve(answer)));

test("esri-leaflet", async () => {
	const layer = `${server}/1/`; // it ends addresses with a slash
	const [metadata] = await asked(done => esri.featureLayer({ url: layer }).metadata(done));
	assert.equal(metadata.id, 1);
	const query = () => esri.query({ url: layer });
	assert.equal((await asked(done => query().count(done)))[0], Number(areas));
	assert.equal((await asked(done => query().ids(done)))[0].length, Number(areas));
	const [bounds] = await asked(done => query().bounds(done));
	assert.ok(bounds.isValid());
	const [found] = await asked(done => query().where("severity_ID='WARNING'").intersects(L.latLngBounds([40, 0], [60, 20])).limit(3).run(done));
	assert.ok(found.features.length === 3 && found.features.every(f => f.geometry.type === "Polygon"), JSON.stringify(found).slice(0, 300));
	const [near] = await asked(done => esri.query({ url: `${server}/0/` }).nearby(L.latLng(42, 10), 5000).run(done));
	assert.ok(near.features.length > 0);
});
