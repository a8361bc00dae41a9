// Runs clients/cases.json against the server that HAZARDD_CASES names, as the clients in Go and Python do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import { Client, HazarddError } from "../index.js";

const server = process.env.HAZARDD_CASES;
const cases = JSON.parse(readFileSync(new URL("../../cases.json", import.meta.url), "utf8"));

async function control(what) {
  const answer = await fetch(`${server}/${encodeURIComponent(what)}`, { method: "POST" });
  return answer.text();
}

async function client({ login, page = 100 }) {
  const world = JSON.parse(await control("world"));
  let { url } = world, by = { username: login === "editor" ? "editor" : "reader", password: world.password };
  if (login === "wrong") by.password = "wrong wrong wrong";
  if (login === "factor") url = await control("factor");
  if (login === "nowhere") url = "http://127.0.0.1:9";
  if (login === "refused") by.token = "a.b.c";
  if (login === "refresh") by = { refreshToken: await control("refresh") };
  if (login === "limited" || login === "impatient") url = await control("limited");
  if (login === "impatient") by.patience = 0;
  return new Client(url, { ...by, pageSize: page });
}

const nameOf = (record) => record.hazard_Name ?? record.title ?? record.type;

async function all(list) {
  const names = [];
  for await (const one of list) names.push(nameOf(one));
  return names;
}

async function run(one) {
  const world = JSON.parse(await control("world"));
  const filter = Object.fromEntries(Object.entries(one.filter ?? {}).map(([k, v]) => [k, v === "$BEFORE" ? world.before : v]));
  const id = (one.id ?? "").replace("$FLOOD", world.flood), c = await client(one);
  switch (one.call) {
    case "count": return c.count(filter);
    case "hazard": return [nameOf(await c.hazard(id))];
    case "products": return all(await c.products(id));
    case "hazardChanges": return all(c.hazardChanges(id));
    case "writes": {
      const made = await c.createHazard({ hazard_Name: "Made here", type_ID: "STORM", severity_ID: "WATCH", latitude: 1, longitude: 2 });
      const note = await c.createProduct(made.uuid, { title: "Note", product_Type: "TEXT_PRODUCT", data: "d" });
      const names = [made, await c.patchHazard(made.uuid, { hazard_Name: "Named here" }), note, await c.patchProduct(note.uuid, { title: "Better note" })].map(nameOf);
      await c.deleteProduct(note.uuid);
      return [...names, String((await c.products(made.uuid)).length), (await c.endHazard(made.uuid)).status];
    }
    case "changes": return all(c.changes(one.after));
    case "events": {
      const told = [], after = one.after ?? (await c.active()).change;
      const acts = (async () => {
        for (const act of one.script ?? []) await control(act);
      })();
      for await (const event of c.events(after, filter)) {
        told.push(event.reset ? "reset" : nameOf(event.data.hazard));
        if (told.length === one.names.length) break;
      }
      await acts;
      return told;
    }
    case "active": {
      const list = await c.active(filter);
      if ("possible" in one) assert.strictEqual(list.possible, one.possible);
      return all(list);
    }
    default: return all(c[one.call](filter));
  }
}

for (const one of cases) {
  test(one.name, { skip: !server && "go test ./clients starts the server for this" }, async () => {
    if (!one.error) return assert.deepEqual(await run(one), one.names ?? one.is);
    await assert.rejects(run(one), (e) => {
      assert.ok(e instanceof HazarddError, String(e));
      assert.equal(e.kind, one.error, String(e));
      assert.ok(String(e).includes(one.says ?? ""));
      if (one.retryAfter) assert.equal(e.retryAfter, one.retryAfter);
      return true;
    });
  });
}

test("a call that is cancelled logs nobody out", { skip: !server && "as above" }, async () => {
  const { url } = JSON.parse(await control("world"));
  const c = new Client(url, { refreshToken: await control("refresh") });
  const stop = new AbortController();
  const cut = c.count({}, { signal: stop.signal });
  stop.abort();
  await assert.rejects(cut, { name: "AbortError" });
  assert.equal(await c.count({ type: "FLOOD" }), 1);
});

test("nothing secret is printed", () => {
  const c = new Client("http://127.0.0.1", { username: "a", password: "secret" });
  assert.ok(!(inspect(c, { showHidden: true }) + JSON.stringify(c)).includes("secret"));
});
