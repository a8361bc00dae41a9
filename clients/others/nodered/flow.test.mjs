// The flow of docs/integrate.md in the real Node-RED: it polls hazardd, and takes its webhooks.
// HAZARDD_URL is the service, HAZARDD_TOKEN the token of an editor.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import RED from "node-red";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token } = process.env, { origin } = new URL(url);

test("Node-RED polls hazards and takes webhooks", { timeout: 240_000 }, async () => {
	const [, text] = /^### Node-RED.*?```json\n(.*?)^```/ms.exec(await readFile(`${import.meta.dirname}/../../../docs/integrate.md`, "utf8"));
	const dir = await mkdtemp("/tmp/hazardd-nodered-");
	await writeFile(`${dir}/flows.json`, text.replaceAll("https://hazards.example.org", url));
	let handle;
	const server = http.createServer((q, a) => handle(q, a));
	const seen = { hazards: "", change: "" };
	const read = m => {
		if (m.name in seen) seen[m.name] += m.msg;
	};
	const until = async (name, what) => {
		while (!seen[name].includes(what)) await setTimeout(50);
	};
	const api = (path, body) => fetch(origin + path, { method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: JSON.stringify(body) });
	try {
		await new Promise(done => server.listen(0, "127.0.0.1", done));
		const logging = { console: { level: "off" }, test: { level: "info", handler: () => read } };
		RED.init(server, { userDir: dir, flowFile: "flows.json", httpAdminRoot: false, httpNodeRoot: "/", logging });
		handle = RED.httpNode;
		await RED.start();
		await until("hazards", "Flood");
		assert.equal((await api("/webhooks", { url: `http://127.0.0.1:${server.address().port}/hazards` })).status, 201);
		assert.equal((await api("/hazards", { hazard_Name: "Storm over Node-RED", type_ID: "STORM", severity_ID: "WATCH", latitude: 1, longitude: 2 })).status, 201);
		await until("change", "Storm over Node-RED");
	} finally {
		await RED.stop();
		server.closeAllConnections();
		await new Promise(done => server.close(done));
		await rm(dir, { recursive: true });
	}
});
