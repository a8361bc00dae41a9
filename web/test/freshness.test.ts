import { expect, test } from "vitest";
import { freshness, trust } from "../src/freshness";

test.each([
  ["all is well", { "Hazardd-Change": "42", "Hazardd-Sources": "ok=10; stale=0" }, { change: 42, sources: { ok: 10, stale: 0, failing: 0, starting: 0, names: [] }, viewAge: undefined }],
  ["a source is stale", { "Hazardd-Sources": 'ok=9; stale=1; names="gdacs"' }, { change: undefined, sources: { ok: 9, stale: 1, failing: 0, starting: 0, names: ["gdacs"] }, viewAge: undefined }],
  ["the store is damaged", { "Hazardd-Sources": "ok=9; damaged=2" }, { change: undefined, sources: { ok: 9, stale: 0, failing: 0, starting: 0, damaged: 2, names: [] }, viewAge: undefined }],
  ["several are", { "Hazardd-Sources": 'ok=8; stale=2; names="gdacs,nhc"' }, { change: undefined, sources: { ok: 8, stale: 2, failing: 0, starting: 0, names: ["gdacs", "nhc"] }, viewAge: undefined }],
  ["none can be read", { "Hazardd-Sources": 'ok=0; stale=0; failing=2; starting=3; names="gdacs,nhc"' }, {
    change: undefined,
    sources: { ok: 0, stale: 0, failing: 2, starting: 3, names: ["gdacs", "nhc"] },
    viewAge: undefined,
  }],
  ["the store is away", { "Hazardd-View-Age": "17" }, { change: undefined, sources: undefined, viewAge: 17 }],
  ["a server of the base interface alone", {}, { change: undefined, sources: undefined, viewAge: undefined }],
])("headers say how fresh an answer is: %s", (_, headers, want) => expect(freshness(new Headers(headers as Record<string, string>))).toEqual(want));

// M2.
test.each([
  ["ok=10; stale=0", "good"],
  ['ok=9; stale=0; failing=1; names="nws"', "partly"],
  ["ok=9; stale=0; starting=1", "partly"],
  ['ok=0; stale=0; failing=10; names="nws"', "unread"],
  ["ok=0; stale=0; starting=10", "unread"],
  ['ok=0; stale=10; names="nws"', "unread"],
  ["ok=0; stale=0", "none"],
  ["ok=10; damaged=1", "partly"],
  ["ok=0; damaged=1", "partly"],
])("sources that are %s are worth: %s", (said, want) => expect(trust(freshness(new Headers({ "Hazardd-Sources": said })).sources)).toBe(want));
