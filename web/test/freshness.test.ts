import { expect, test } from "vitest";
import { freshness } from "../src/freshness";

test.each([
  ["all is well", { "Hazardd-Change": "42", "Hazardd-Sources": "ok=10; stale=0" }, { change: 42, sources: { ok: 10, stale: 0, names: [] }, viewAge: undefined }],
  ["a source is stale", { "Hazardd-Sources": 'ok=9; stale=1; names="gdacs"' }, { change: undefined, sources: { ok: 9, stale: 1, names: ["gdacs"] }, viewAge: undefined }],
  ["several are", { "Hazardd-Sources": 'ok=8; stale=2; names="gdacs,nhc"' }, { change: undefined, sources: { ok: 8, stale: 2, names: ["gdacs", "nhc"] }, viewAge: undefined }],
  ["the store is away", { "Hazardd-View-Age": "17" }, { change: undefined, sources: undefined, viewAge: 17 }],
  ["a server of the base interface alone", {}, { change: undefined, sources: undefined, viewAge: undefined }],
])("headers say how fresh an answer is: %s", (_, headers, want) => expect(freshness(new Headers(headers as Record<string, string>))).toEqual(want));
