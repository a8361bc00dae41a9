// Esri's ArcGIS REST JS reads the feature service: descriptions, all features page by page, one feature,
// counts, extents, statistics, and what is near. HAZARDD_URL is the service with a read key, HAZARDD_COUNT the number of
// active hazards, of which HAZARDD_AREAS have an area. The first has the number HAZARDD_FIRST.
import assert from "node:assert/strict";
import test from "node:test";
import { getFeature, getLayer, getService, queryAllFeatures, queryFeatures } from "@esri/arcgis-rest-feature-service";

const { HAZARDD_URL: url, HAZARDD_COUNT: count, HAZARDD_AREAS: areas, HAZARDD_FIRST: first } = process.env;
const server = `${url}/arcgis/rest/services/hazards/FeatureServer`;

test("ArcGIS REST JS", async () => {
	const service = await getService({ url: server });
	assert.equal(service.layers.length, 6);
	const layer = await getLayer({ url: `${server}/1` });
	assert.equal(layer.geometryType, "esriGeometryPolygon");
	assert.deepEqual(layer.drawingInfo.renderer.uniqueValueInfos.find(i => i.value === "WARNING").symbol.color, [255, 0, 0, 80]);
	for (const [n, wanted] of [[0, count], [1, areas]]) {
		const all = await queryAllFeatures({ url: `${server}/${n}`, where: "1=1", outFields: ["hazard_ID"] });
		assert.equal(new Set(all.features.map(f => f.attributes.hazard_ID)).size, Number(wanted));
		assert.ok(all.features.every(f => f.geometry), `a feature of layer ${n} has no geometry`);
	}
	const one = await getFeature({ url: `${server}/0`, id: Number(first) });
	assert.equal(one.attributes.hazard_ID, Number(first));
	const box = await queryFeatures({ url: `${server}/1`, returnExtentOnly: true, returnCountOnly: true });
	assert.ok(box.count === Number(areas) && box.extent.xmin < box.extent.xmax, JSON.stringify(box));
	const near = await queryFeatures({ url: `${server}/0`, geometry: { x: 10, y: 42, spatialReference: { wkid: 4326 } }, geometryType: "esriGeometryPoint",
		distance: 5, units: "esriSRUnit_Kilometer", outSR: "25832", orderByFields: "type_ID, start_time DESC" });
	assert.ok(near.features.length > 0 && near.spatialReference.wkid === 25832, JSON.stringify(near));
	const recent = await queryFeatures({ url: `${server}/3`, where: "last_update_time > CURRENT_TIMESTAMP - INTERVAL '1' DAY", returnCountOnly: true, httpMethod: "POST" });
	assert.equal(recent.count, Number(count));
});
