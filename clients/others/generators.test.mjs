// Clients in TypeScript that generators make of the description of the interface compile under strict, and each makes a hazard
// with an area, lists it, reads it, its geometry and its changes, and is told of an error, by the types alone. HAZARDD_URL is the service, HAZARDD_TOKEN the token of an editor.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { promisify } from "node:util";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token } = process.env;
const run = promisify(execFile);
const here = import.meta.dirname;
const area = { type: "Polygon", coordinates: [[[9, 53], [11, 53], [11, 54], [9, 54], [9, 53]]] };
const flood = { hazard_Name: "Flood of a generated client", type_ID: "FLOOD", severity_ID: "WARNING", latitude: 53.5, longitude: 10, area };
let dir;

before(async () => {
	dir = await mkdtemp("/tmp/hazardd-generators-");
	await symlink(`${here}/node_modules`, `${dir}/node_modules`);
	const document = await (await fetch(`${url}/openapi.json`)).text();
	await writeFile(`${dir}/openapi.json`, document);
	await writeFile(`${dir}/package.json`, `{"type": "module"}`);
});
after(() => rm(dir, { recursive: true }));

const generate = (program, ...args) => run(`${here}/node_modules/.bin/${program}`, args, { cwd: dir, maxBuffer: 64 << 20 });

// compile compiles a program and what it imports, and runs it.
async function compileAndRun(name, program) {
	await writeFile(`${dir}/${name}.ts`, program);
	await writeFile(`${dir}/tsconfig.${name}.json`, JSON.stringify({ files: [`${name}.ts`], compilerOptions: {
		strict: true, target: "es2022", module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom", "dom.iterable"], outDir: `out-${name}`, types: [], skipLibCheck: true,
	} }));
	try {
		await generate("tsc", "-p", `tsconfig.${name}.json`);
	} catch (e) {
		assert.fail(e.stdout.slice(0, 2000));
	}
	await run(`${here}/node_modules/.bin/esbuild`, [`out-${name}/${name}.js`, "--bundle", "--platform=node", "--format=esm", `--outfile=${name}.mjs`], { cwd: dir });
	const { stdout } = await run("node", [`${dir}/${name}.mjs`], { env: { ...process.env, FLOOD: JSON.stringify(flood) } });
	const { made, listed, geometry, created, missing } = JSON.parse(stdout);
	assert.ok(made > 0 && listed > 0, stdout);
	assert.deepEqual({ geometry, created, missing }, { geometry: area.coordinates, created: made, missing: 404 });
}

const head = `declare const process: { env: Record<string, string> };
const flood = JSON.parse(process.env.FLOOD), url = process.env.HAZARDD_URL, headers = { Authorization: "Bearer " + process.env.HAZARDD_TOKEN };
`;

// What each program tells at its end; the types of the geometry g and of the change c are known by their discriminators.
const tail = `console.log(JSON.stringify({ made: id, listed, geometry: g.type === "Polygon" && g.coordinates, created: c.type === "hazard.created" && c.hazard.hazard_ID, missing }));
`;

test("hey-api", async () => {
	await generate("openapi-ts", "-i", "openapi.json", "-o", "hey", "-c", "@hey-api/client-fetch");
	await compileAndRun("heyapi", `import { createHazard, getHazard, listActiveAreas, listActiveHazards, listHazardChanges } from "./hey";
import { client } from "./hey/client.gen";
${head}client.setConfig({ baseUrl: url, headers });
const made = await createHazard({ body: flood, throwOnError: true });
if (!("hazard_ID" in made.data)) throw new Error(JSON.stringify(made.data));
const id = made.data.hazard_ID, path = { "hazard-id": String(id) };
const list = await listActiveHazards({ query: { type: ["FLOOD"] }, throwOnError: true });
const areas = await listActiveAreas({ query: { ids: [id] }, throwOnError: true }); // of other answers it types the first form alone, JSON
const changes = await listHazardChanges({ path, throwOnError: true });
const none = await getHazard({ path: { "hazard-id": "999999" } });
const listed = Array.isArray(list.data) && list.data.length, missing = typeof none.error === "object" && none.error.status;
const g = areas.data.features[0]!.geometry!, c = changes.data[0]!;
${tail}`);
});

test("orval", async () => {
	await writeFile(`${dir}/orval.config.mjs`, `export default { hazardd: { input: "openapi.json", output: { target: "orval.gen.ts", client: "fetch", mode: "single", baseUrl: ${JSON.stringify(url)} } } };`);
	await generate("orval", "-c", "orval.config.mjs");
	await compileAndRun("orval", `import { createHazard, getHazard, listActiveHazards, listHazardChanges, type HazardFeature } from "./orval.gen";
${head}const made = await createHazard(flood, { headers });
if (made.status !== 201) throw new Error(made.status + " " + JSON.stringify(made.data));
const id = made.data.hazard_ID;
const list = await listActiveHazards({ type: ["FLOOD"] }, { headers });
const one = await getHazard(String(id), { f: "geojson" }, { headers });
const changes = await listHazardChanges(String(id), {}, { headers });
const none = await getHazard("999999", {}, { headers });
if (list.status !== 200 || one.status !== 200 || changes.status !== 200 || none.status !== 404) throw new Error([list.status, one.status, changes.status, none.status].join());
const listed = Array.isArray(list.data) && list.data.length, missing = none.data.status;
const g = (one.data as HazardFeature).geometry, c = changes.data[0]!;
${tail}`);
});

test("openapi-typescript and openapi-fetch", async () => {
	await generate("openapi-typescript", "openapi.json", "--output", "types.gen.ts");
	await compileAndRun("fetch", `import createClient from "openapi-fetch";
import type { components, paths } from "./types.gen";
${head}const client = createClient<paths>({ baseUrl: url, headers });
const made = await client.POST("/hazards", { body: flood });
if (!made.data || !("hazard_ID" in made.data)) throw new Error(JSON.stringify(made.error));
const id = made.data.hazard_ID, path = { "hazard-id": String(id) };
const list = await client.GET("/hazards/active", { params: { query: { type: ["FLOOD"] } }, querySerializer: { array: { style: "form", explode: false } } });
const one = await client.GET("/hazards/{hazard-id}", { params: { path, query: { f: "geojson" } } });
const changes = await client.GET("/hazards/{hazard-id}/changes", { params: { path } });
const none = await client.GET("/hazards/{hazard-id}", { params: { path: { "hazard-id": "999999" } } });
const listed = Array.isArray(list.data) && list.data.length, missing = typeof none.error === "object" && none.error.status;
const g = (one.data as components["schemas"]["HazardFeature"]).geometry, c = changes.data![0]!;
${tail}`);
});
