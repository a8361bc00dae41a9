// The ArcGIS Maps SDK draws every hazard, in the colors of the severities, and no request of its is refused. The variables
// are those of ../arcgis.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import test from "node:test";
import { build } from "esbuild";
import { chromium } from "../../../web/node_modules/@playwright/test/index.mjs";

const { HAZARDD_URL: url, HAZARDD_COUNT: count, HAZARDD_AREAS: areas, OUT: out, CHROMIUM: executablePath = "/usr/bin/chromium" } = process.env;
const here = import.meta.dirname;
const types = { ".js": "text/javascript", ".html": "text/html", ".json": "application/json", ".css": "text/css", ".wasm": "application/wasm" };

test("the ArcGIS Maps SDK", async t => {
	await build({ entryPoints: [`${here}/page.js`], bundle: true, format: "esm", splitting: true, outdir: out, logLevel: "error", loader: { ".wasm": "file", ".svg": "dataurl" } });
	const files = createServer(async (request, response) => {
		const path = new URL(request.url, "http://localhost").pathname;
		if (path === "/") return response.setHeader("Content-Type", "text/html").end("<div id=view style='width:900px;height:600px'></div><script type=module src=/page.js></script>");
		try {
			const content = await readFile(path.startsWith("/assets/") ? `${here}/node_modules/@arcgis/core${path}` : out + path);
			response.setHeader("Content-Type", types[extname(path)] ?? "application/octet-stream").end(content);
		} catch {
			response.writeHead(404).end();
		}
	}).listen(0, "127.0.0.1");
	t.after(() => files.close());
	const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-web-security"] });
	t.after(() => browser.close());
	const page = await browser.newPage({ viewport: { width: 900, height: 600 } });
	const refused = [];
	page.on("response", answer => answer.url().startsWith(url) && answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
	await new Promise(resolve => files.listening ? resolve() : files.once("listening", resolve));
	await page.goto(`http://127.0.0.1:${files.address().port}/`);
	await page.waitForFunction(() => window.draw, null, { timeout: 120_000 });
	const found = await page.evaluate(server => window.draw(server), `${url}/arcgis/rest/services/hazards/FeatureServer`);
	assert.deepEqual(refused, []);
	for (const [layer, wanted] of [[0, Number(count)], [1, Number(areas)]]) {
		assert.deepEqual({ drawn: wanted, counted: wanted, count: wanted }, { drawn: found[layer].drawn, counted: found[layer].counted, count: found[layer].count }, `layer ${layer}`);
	}
	for (let tries = 0; ; tries++) { // the last frame may not be drawn yet
		const pixels = await page.evaluate(png => window.pixels(png), (await page.screenshot()).toString("base64"));
		if (Object.values(pixels).every(n => n > 50)) break;
		assert.ok(tries < 100, `pixels in the colors of the severities: ${JSON.stringify(pixels)}`);
	}
});
