// The inspector of the Model Context Protocol lists the tools, finds nothing wrong with their schemas, and calls one, over HTTP and over
// standard input. The variables are those of mcp.test.mjs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token, HAZARDD_PASSWORD: password, HAZARDD: program } = process.env;
const bin = new URL("node_modules/.bin/mcp-inspector", import.meta.url).pathname;
const home = mkdtempSync(join(tmpdir(), "inspector-")); // it keeps a catalog of servers there

const ways = {
	HTTP: ["--transport", "http", "--server-url", `${url}/mcp`, "--header", `Authorization: Bearer ${token}`],
	"standard input": ["-e", `HAZARDD_MCP_PASSWORD=${password}`, "--", program, "mcp", "--server", url, "--user", "reader"],
};

async function inspect(way, ...args) {
	const { stdout } = await promisify(execFile)(process.execPath, [bin, "--cli", ...args, ...way], { env: { ...process.env, HOME: home }, maxBuffer: 16 << 20 });
	return JSON.parse(stdout);
}

for (const [name, way] of Object.entries(ways)) {
	test(name, async () => {
		const { tools } = await inspect(way, "--method", "tools/list", "--strict");
		assert.deepEqual(tools.map(t => t.name).sort(), ["as_of", "count", "coverage", "exposure", "get", "history", "search"]);
		const answer = await inspect(way, "--method", "tools/call", "--tool-name", "search", "--tool-arg", "words=flood");
		assert.ok(!answer.isError, JSON.stringify(answer.content));
		assert.match(JSON.stringify(answer.structuredContent.data), /Flood of the Elbe/);
		assert.ok(answer.structuredContent.freshness.summary);
	});
}
