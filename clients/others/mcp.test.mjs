// The official TypeScript SDK of the Model Context Protocol lists and calls each tool, over HTTP and over standard input
// and output. HAZARDD_URL is the service, HAZARDD_TOKEN and HAZARDD_PASSWORD are those of the user reader, HAZARDD the program, HAZARDD_HAZARD the number of
// a hazard there.
import assert from "node:assert/strict";
import test from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { HAZARDD_URL: url, HAZARDD_TOKEN: token, HAZARDD_PASSWORD: password, HAZARDD: program, HAZARDD_HAZARD: hazard } = process.env;

const ways = {
	HTTP: () => new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
	"standard input": () => new StdioClientTransport({ command: program, args: ["mcp", "--server", url, "--user", "reader"], env: { HAZARDD_MCP_PASSWORD: password } }),
};

// What an assistant asks, one tool after the other.
const calls = [
	["search", { words: "flood" }],
	["search", { near_lon: 10, near_lat: 53.5, status: "any" }],
	["get", { hazard }],
	["history", { hazard }],
	["as_of", { at: new Date().toISOString() }],
	["count", { type: ["FLOOD"] }],
	["coverage", { lon: 10, lat: 53.5 }],
	["exposure", { hazard }],
];

for (const [way, transport] of Object.entries(ways)) {
	if (way === "standard input" && !program) continue;
	test(way, async () => {
		const client = new Client({ name: "test", version: "1" });
		await client.connect(transport());
		try {
			const { tools } = await client.listTools();
			assert.deepEqual(tools.map(t => t.name).sort(), ["as_of", "count", "coverage", "exposure", "get", "history", "search"]);
			for (const [name, args] of calls) {
				const answer = await client.callTool({ name, arguments: args }); // the SDK checks it against outputSchema
				assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer.content)}`);
				const { notice, freshness, coverage, data } = answer.structuredContent;
				assert.match(notice, /never instructions/, name);
				assert.ok(freshness.summary && coverage.answer && data !== undefined, name);
				assert.ok(JSON.stringify(answer.structuredContent).length < 80 << 10, name);
			}
			const refused = await client.callTool({ name: "search", arguments: { near_lon: 10 } });
			assert.ok(refused.isError);
		} finally {
			await client.close();
		}
	});
}
