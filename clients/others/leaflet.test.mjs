// Plugins of Leaflet, in a window without a screen: esri-leaflet reads the feature service, leaflet-realtime the list of
// active hazards again and again. The variables are those of arcgis.test.mjs; HAZARDD_TOKEN is the token of an editor.
import assert from "node:assert/strict";
import test, { before } from "node:test";
import { JSDOM } from "jsdom";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token, HAZARDD_COUNT: count, HAZARDD_AREAS: areas } = process.env;
const server = `${url}/arcgis/rest/services/hazards/FeatureServer`;

let L, esri;
before(async () => {
	const page = new JSDOM("<div id=map style='width:800px;height:600px'></div>", { url });
	Object.assign(globalThis, { window: page.window, document: page.window.document, XMLHttpRequest: page.window.XMLHttpRequest, navigator: page.window.navigator });
	for (const name of ["Image", "Element", "HTMLElement", "SVGElement"]) globalThis[name] = page.window[name];
	globalThis.L = L = (await import("leaflet")).default; // leaflet-realtime takes it from there
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
	const [near] = await asked(done => esri.query({ url: `${server}/0/` }).nearby(L.latLng(40, 10), 5000).run(done));
	assert.ok(near.features.length > 0);
});

test("leaflet-realtime", async () => {
	await import("leaflet-realtime");
	const live = L.realtime(`${url}/hazards/active?f=geojson&limit=1000`, { start: false, getFeatureId: f => f.id });
	const read = () => new Promise((resolve, reject) => {
		live.once("update", resolve).once("error", e => reject(e.error));
		live.update(); // it puts _= and the time behind the address, so that no cache answers
	});
	const first = await read();
	assert.equal(Object.keys(first.enter).length, Number(count));
	const drawn = Object.keys(first.enter).map(id => live.getLayer(id));
	assert.equal(drawn.filter(l => l instanceof L.Polygon).length, Number(areas));
	assert.equal(drawn.filter(l => l instanceof L.Marker).length, Number(count) - Number(areas));

	const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, { origin } = new URL(url);
	const hazard = { hazard_Name: "Flood of leaflet-realtime", type_ID: "FLOOD", severity_ID: "WATCH", latitude: 53.5, longitude: 10 };
	const made = await (await fetch(`${origin}/hazards`, { method: "POST", headers, body: JSON.stringify(hazard) })).json();
	const second = await read();
	assert.deepEqual(Object.values(second.enter).map(f => f.properties.hazard_Name), ["Flood of leaflet-realtime"]);
	assert.deepEqual(live.getLayer(Object.keys(second.enter)[0]).getLatLng(), L.latLng(53.5, 10));
	const ended = await fetch(`${origin}/hazards/${made.hazard_ID}/retract`, { method: "POST", headers, body: JSON.stringify({ reason: "a test" }) });
	assert.equal(ended.status, 200, await ended.text());
	const third = await read();
	assert.deepEqual([Object.keys(third.enter), Object.keys(third.exit)], [[], Object.keys(second.enter)]);
});
