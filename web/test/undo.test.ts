import { expect, test } from "vitest";
import { returning, undoOf } from "../src/edit/undo";
import type { Change } from "../src/model";

const change = (n: number, type: Change["type"], other: object = {}) => ({ change: n, time: "2026-11-22T06:00:00Z", type, hazard: {}, ...other }) as Change;
const merged = change(5, "hazard.merged", { user: "ada", successor: "x", fields: [{ field: "status", from: "A", to: "E" }, { field: "update_Date", from: "1", to: "2" }] });

test.each(
  [
    ["a merge", merged, [], { kind: "merge" }],
    ["an end by a person", change(5, "hazard.expired", { user: "ada" }), [], { kind: "end" }],
    ["a retraction", change(5, "hazard.expired", { user: "ada", retracted: true }), [], { kind: "retract" }],
    ["a split", change(5, "hazard.split", { user: "ada" }), [], { kind: "split" }],
    ["an end by the clock", change(5, "hazard.expired"), [], { kind: "not", why: expect.stringContaining("Its end came") }],
    ["an end by a source", change(5, "hazard.expired", { source: "nws" }), [], { kind: "not", why: expect.stringContaining("nws ended it") }],
    ["what was taken back", merged, [change(7, "hazard.updated", { user: "ada", undoes: 5 })], { kind: "not", why: "Undone by change #7." }],
    ["an update", change(5, "hazard.updated", { user: "ada" }), [], undefined],
    ["a product", change(5, "product.deleted", { user: "ada", product: {} }), [], undefined],
  ] as const,
)("%s", (_, c, later, want) => expect(undoOf(c, [c, ...later], true)).toEqual(want));

test("who may not write the hazard reads why", () => expect(undoOf(merged, [merged], false)).toEqual({ kind: "not", why: expect.stringContaining("Only its organization") }));

test("what comes back is what the change took away", () => expect(returning(merged)).toEqual([{ field: "status", before: "E", now: "A", mine: undefined }]));
