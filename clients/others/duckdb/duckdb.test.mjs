// DuckDB reads hazards as GeoParquet, CSV and JSON. HAZARDD_URL is the service, with a key; HAZARDD_COUNT is the number of its active hazards, of
// which HAZARDD_AREAS have an area. It downloads no extension: the files are fetched here.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";

const { HAZARDD_URL: url, HAZARDD_COUNT: count, HAZARDD_AREAS: areas } = process.env;
let dir, db;

before(async () => {
	dir = await mkdtemp("/tmp/hazardd-duckdb-");
	db = await (await DuckDBInstance.create(":memory:")).connect();
});
after(() => rm(dir, { recursive: true }));

async function file(path, name) {
	const answer = await fetch(url + path);
	assert.equal(answer.status, 200, path);
	await writeFile(`${dir}/${name}`, Buffer.from(await answer.arrayBuffer()));
	return `'${dir}/${name}'`;
}

const rows = async sql => (await db.runAndReadAll(sql)).getRowObjectsJson();

test("GeoParquet", async () => {
	const from = `read_parquet(${await file("/hazards?f=parquet&status=A", "hazards.parquet")})`;
	const kinds = await rows(`SELECT regexp_extract(geometry::VARCHAR, '^[A-Z]+') AS kind, count(*)::INT AS n FROM ${from} GROUP BY kind ORDER BY kind`);
	assert.deepEqual(kinds, [{ kind: "POINT", n: count - areas }, { kind: "POLYGON", n: Number(areas) }]);
	const types = Object.fromEntries((await rows(`DESCRIBE SELECT * FROM ${from}`)).map(c => [c.column_name, c.column_type]));
	assert.deepEqual([types.hazard_ID, types.latitude, types.start_time, types.geometry], ["BIGINT", "DOUBLE", "TIMESTAMP WITH TIME ZONE", "GEOMETRY('OGC:CRS84')"]);
	const inSight = await rows(`SELECT hazard_Name AS name FROM ${from} WHERE bbox.xmin <= 0.35 AND bbox.xmax >= 0 AND bbox.ymin <= 40.1 AND bbox.ymax >= 40`);
	assert.deepEqual(inSight, [{ name: "Flood 0" }]);
});

test("CSV and JSON", async () => {
	for (const from of [`read_csv(${await file("/hazards/active?f=csv&limit=1000", "hazards.csv")})`, `read_json(${await file("/hazards/active?limit=1000", "hazards.json")})`]) {
		const found = await rows(`SELECT severity_ID AS severity, count(DISTINCT hazard_Name)::INT AS n, min(latitude)::DOUBLE AS south FROM ${from} GROUP BY severity ORDER BY severity`);
		assert.deepEqual(found, ["ADVISORY", "WARNING", "WATCH"].map((severity, i) => ({ severity, n: Math.floor((Number(count) + [0, 2, 1][i]) / 3), south: 40 })));
	}
});
