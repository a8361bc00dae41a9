import { expect, test } from "vitest";
import { BARS, countAt, moments, type Activity } from "../src/activity";
import { LoggedOutError, Problem, type Api } from "../src/api";
import { newsBetween } from "../src/since";
import { hazard } from "./hazard";

test("the moments of a range are the same for a while, so that nothing is asked twice", () => {
  const day = 86_400_000;
  expect(moments(day, 100 * day + 1_000)).toEqual(moments(day, 100 * day + 3_599_000));
  expect(moments(day, 100 * day)[0]).toBe(100 * day);
  expect(moments(day, 100 * day)).toHaveLength(BARS);
});

test("what is not recorded is not none; what is refused is not known; a login that ended asks no more", async () => {
  const answers: (() => Promise<Response>)[] = [
    async () => Response.json({ count: 7 }, { headers: { "Hazardd-Change": "9" } }),
    async () => Response.json({ count: 2 }, { headers: { "Hazardd-Change": "9" } }),
    async () => Response.json({ count: 0 }, { headers: { "Hazardd-Change": "9" } }),
    async () => Response.json({ count: 0 }, { headers: { "Hazardd-Change": "0" } }),
    () => Promise.reject(new Problem(400, "too long ago")),
    () => Promise.reject(new LoggedOutError()),
  ];
  const found = new Map<number, Activity | null>();
  const api = { request: () => answers.shift()!() } as unknown as Api;
  await countAt(api, [6, 5, 4, 3, 2, 1], (at, a) => found.set(at, a), new AbortController().signal);
  expect([...found]).toEqual([[6, { hazards: 7, warnings: 2 }], [5, { hazards: 0, warnings: 0 }], [4, null], [3, null]]);
  expect(answers).toEqual([]);
});

test("what came, changed and ended, without drills", () => {
  const drill = { category_ID: "EXERCISE" } as const;
  const before = [hazard({ hazard_ID: 1 }), hazard({ hazard_ID: 2 }), hazard({ hazard_ID: 3 }), hazard({ hazard_ID: 4, ...drill })];
  const now = [hazard({ hazard_ID: 1 }), hazard({ hazard_ID: 2, last_Update: "2000" }), hazard({ hazard_ID: 5 }), hazard({ hazard_ID: 6, ...drill })];
  const { came, changed, ended } = newsBetween(before, new Map(now.map((h) => [h.hazard_ID, h])));
  expect([came, changed, ended].map((list) => list.map((h) => [h.hazard_ID, h.last_Update]))).toEqual([[[5, "1000"]], [[2, "2000"]], [[3, "1000"]]]);
});
