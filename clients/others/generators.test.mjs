// Clients in TypeScript that generators make of the description of the interface compile under strict, and read and write
// a running service. HAZARDD_URL is the service, HAZARDD_TOKEN the token of an editor.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { promisify } from "node:util";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token } = process.env;
const run = promisify(execFile);
const here = import.meta.dirname;
const flood = { hazard_Name: "Flood of a generated client", type_ID: "FLOOD", severity_ID: "WARNING", latitude: 53.5, longitude: 10 };
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
	const [made, listed] = stdout.trim().split("\n");
	assert.ok(/^\d+$/.test(made) && Number(listed) > 0, stdout);
}

const head = `declare const process: { env: Record<string, string> };
const flood = JSON.parse(process.env.FLOOD), url = process.env.HAZARDD_URL, headers = { Authorization: "Bearer " + process.env.HAZARDD_TOKEN };
`;

test("hey-api", async () => {
	await generate("openapi-ts", "-i", "openapi.json", "-o", "hey", "-c", "@hey-api/client-fetch");
	await compileAndRun("heyapi", `import { createHazard, listActiveHazards } from "./hey";
import { client } from "./hey/client.gen";
${head}client.setConfig({ baseUrl: url, headers });
const made = await createHazard({ body: flood, throwOnError: true });
const list = await listActiveHazards({ query: { type: ["FLOOD"] }, throwOnError: true });
console.log("hazard_ID" in made.data ? made.data.hazard_ID : made.data);
console.log(Array.isArray(list.data) && list.data.length);
`);
});

test("orval", async () => {
	await writeFile(`${dir}/orval.config.mjs`, `export default { hazardd: { input: "openapi.json", output: { target: "orval.gen.ts", client: "fetch", mode: "single", baseUrl: ${JSON.stringify(url)} } } };`);
	await generate("orval", "-c", "orval.config.mjs");
	await compileAndRun("orval", `import { createHazard, listActiveHazards } from "./orval.gen";
${head}const made = await createHazard(flood, { headers });
const list = await listActiveHazards({ type: ["FLOOD"] }, { headers });
if (list.status !== 200) throw new Error(String(list.status));
console.log(made.status === 201 ? made.data.hazard_ID : made.status + " " + JSON.stringify(made.data));
console.log(Array.isArray(list.data) && list.data.length);
`);
});

test("openapi-typescript and openapi-fetch", async () => {
	await generate("openapi-typescript", "openapi.json", "--output", "types.gen.ts");
	await compileAndRun("fetch", `import createClient from "openapi-fetch";
import type { paths } from "./types.gen";
${head}const client = createClient<paths>({ baseUrl: url, headers });
const made = await client.POST("/hazards", { body: flood });
const list = await client.GET("/hazards/active", { params: { query: { type: ["FLOOD"] } }, querySerializer: { array: { style: "form", explode: false } } });
console.log(made.data && "hazard_ID" in made.data ? made.data.hazard_ID : made.error);
console.log(Array.isArray(list.data) && list.data.length);
`);
});
