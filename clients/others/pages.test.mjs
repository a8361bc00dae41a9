// The pages of docs/integrate.md draw hazards in the colors of their severities. HAZARDD_URL is the service, with a key.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test, { after, before } from "node:test";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const { HAZARDD_URL: url, CHROMIUM: executablePath = "/usr/bin/chromium" } = process.env;
const here = import.meta.dirname;
const pages = [...(await readFile(`${here}/../../docs/integrate.md`, "utf8")).matchAll(/^```html\n(.*?)^```/gms)].map(m => m[1].replaceAll("https://hazards.example.org", url));
let browser;

before(async () => {
	browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-web-security"] });
});
after(() => browser.close());

// colors counts pixels that are mostly red (warnings), or green (advisories).
async function colors(page) {
	return page.evaluate(async png => {
		const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
		const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext("2d");
		context.drawImage(bitmap, 0, 0);
		const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
		const count = { red: 0, green: 0 };
		for (let i = 0; i < data.length; i += 4) {
			const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
			if (r > 200 && g < 190 && b < 190 && r - g > 50) count.red++;
			if (g > 200 && r < 235 && b < 235 && g - r > 20 && g - b > 20) count.green++;
		}
		return count;
	}, (await page.screenshot()).toString("base64"));
}

for (const [name, html] of [["MapLibre", pages[0]], ["Leaflet", pages[1]]]) {
	test(name, async () => {
		assert.ok(html && html.trim().split("\n").length <= 26, "a page of about twenty lines");
		const page = await browser.newPage({ viewport: { width: 900, height: 600 } });
		const wrong = [];
		page.on("pageerror", e => wrong.push(String(e)));
		page.on("response", answer => answer.url().startsWith(url) && answer.status() >= 400 && wrong.push(`${answer.status()} ${answer.url()}`));
		await page.route("https://unpkg.com/**", route => {
			const [, library, , path] = /unpkg\.com\/(.*?)@([\d.]+)\/(.*)/.exec(route.request().url());
			return route.fulfill({ path: `${library === "leaflet" ? here : `${here}/../../web`}/node_modules/${library}/${path}`, headers: { "Access-Control-Allow-Origin": "*" } });
		});
		await page.route("http://page.test/", route => route.fulfill({ contentType: "text/html", body: html }));
		await page.goto("http://page.test/");
		for (let tries = 0; ; tries++) {
			const found = await colors(page);
			if (found.red > 100 && found.green > 100) break;
			assert.ok(tries < 60, `${JSON.stringify(found)}, ${wrong}`);
			await page.waitForTimeout(500);
		}
		assert.deepEqual(wrong, []);
		await page.close();
	});
}

test("a page follows the stream with tickets", async () => {
	const [, code] = /^```js\n(.*?)^```/ms.exec(await readFile(`${here}/../../docs/interface.md`, "utf8"));
	const { HAZARDD_TOKEN: token } = process.env, { origin } = new URL(url);
	const page = await browser.newPage();
	await page.goto(`${origin}/healthz`);
	const heard = page.evaluate(`const token = ${JSON.stringify(token)}; ${code}; new Promise(told => follow(0, c => c.hazard.hazard_Name === "Flood of the stream" && told(c.hazard.type_ID)))`);
	const body = JSON.stringify({ hazard_Name: "Flood of the stream", type_ID: "FLOOD", severity_ID: "WATCH", latitude: 53.5, longitude: 10 });
	const made = await fetch(`${origin}/hazards`, { method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body });
	assert.equal(made.status, 201);
	assert.equal(await heard, "FLOOD");
	await page.close();
});
