import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Hazard } from "../src/model";
import { Summaries } from "../src/summaries";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const hazard = (id: number, updated: number) => [id, { hazard_ID: id, update_Date: String(updated) } as Hazard] as const;

it("reads what is missing of hazards that change all the time", async () => {
  const asked: string[] = [];
  const request = (path: string) => {
    asked.push(decodeURIComponent(path));
    return Promise.resolve(new Response(JSON.stringify([{ hazard_ID: 1, updated: new Date(Date.now()).toISOString() }])));
  };
  const summaries = new Summaries({ request });
  for (let n = 0; n < 40; n++) { // a change every half second, for 20 seconds
    summaries.changed(new Map([hazard(1, Date.now())]));
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(asked.length).toBeGreaterThanOrEqual(3);
  expect(asked.length).toBeLessThanOrEqual(5);
  expect(asked[0]).toContain("hazard_ID+IN+(1)");
  summaries.end();
});

it("asks for nothing while all is known, and for all when much is missing", async () => {
  const asked: string[] = [];
  const request = (path: string) => {
    asked.push(path);
    return Promise.resolve(new Response("[]"));
  };
  const summaries = new Summaries({ request });
  summaries.take([{ hazard_ID: 1, updated: new Date(5_000).toISOString() } as never]);
  summaries.changed(new Map([hazard(1, 5_000)]));
  await vi.advanceTimersByTimeAsync(70_000);
  expect(asked).toEqual([]);
  summaries.changed(new Map(Array.from({ length: 200 }, (_, n) => hazard(n + 2, 5_000))));
  await vi.advanceTimersByTimeAsync(70_000);
  expect(asked).toEqual(["/hazards/active/summary"]);
  summaries.end();
});
