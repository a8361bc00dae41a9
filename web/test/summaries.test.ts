import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LostError, Problem, type Options } from "../src/api";
import type { Hazard, Summary } from "../src/model";
import { Summaries } from "../src/summaries";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const hazard = (id: number, updated: number) => [id, { hazard_ID: id, update_Date: String(updated) } as Hazard] as const;

const summary = (id: number, updated = 5_000, rest: object = {}) => ({ hazard_ID: id, updated: new Date(updated).toISOString(), ...rest }) as Summary;
const ids = (list: readonly Summary[]) => list.map((s) => s.hazard_ID);

/** A server that answers in turn, and what it was asked for. */
function server(answers: (() => Response)[], rest: object = {}) {
  const asked: string[] = [];
  const request = (path: string, options: Options = {}) => {
    asked.push(path + (options.cache ? ` ${options.cache}` : ""));
    const next = answers.length > 1 ? answers.shift()! : answers[0]!;
    try {
      return Promise.resolve(next());
    } catch (error) {
      return Promise.reject(error as Error);
    }
  };
  return { asked, summaries: new Summaries({ request, open: false, user: undefined, ...rest }) };
}
const whole = (tag: string, ...list: Summary[]) => () => new Response(JSON.stringify(list), { headers: { ETag: `"${tag}"` } });
const difference = (tag: string, total: number, gone: number[], ...changed: [number, Summary][]) => () =>
  new Response(JSON.stringify({ tag, total, gone, changed: changed.map(([index, hazard]) => ({ index, hazard })) }));

it("goes on from the list that it has: what ended is gone, what is new is in its place, the rest stays", async () => {
  const { asked, summaries } = server([whole("a", summary(1), summary(2), summary(3), summary(4)), difference("b", 4, [2], [0, summary(5)], [2, summary(1, 6_000)]), difference("b", 4, [])]);
  const [, first] = await summaries.read({});
  const [, then] = await summaries.read({});
  expect(ids(first)).toEqual([1, 2, 3, 4]);
  expect(ids(then)).toEqual([5, 3, 1, 4]);
  expect(Date.parse(then[2]!.updated)).toBe(6_000);
  expect((await summaries.read({}))[1]).toBe(then);
  expect(asked).toEqual(["/hazards/active/summary", "/hazards/active/summary?since=%22a%22", "/hazards/active/summary?since=b"]);
});

it("takes the whole list of a server that does not know the earlier one", async () => {
  const { summaries } = server([whole("a", summary(1)), whole("z", summary(2)), difference("y", 0, [2])]);
  await summaries.read({});
  expect(ids((await summaries.read({}))[1])).toEqual([2]);
  expect((await summaries.read({}))[1]).toEqual([]);
});

it("shows no list that a difference does not lead to, and reads all then", async () => {
  const { asked, summaries } = server([whole("a", summary(1)), difference("b", 5, [1]), whole("b", summary(2))]);
  await summaries.read({});
  await expect(summaries.read({})).rejects.toThrow("whole");
  expect(ids((await summaries.read({}))[1])).toEqual([2]);
  expect(asked.at(-1)).toBe("/hazards/active/summary");
});

it("asks again from the same list after an outage, and for all after an error", async () => {
  const lost = () => {
    throw new LostError("no route");
  };
  const refused = () => {
    throw new Problem(400, "since is not known here");
  };
  const { asked, summaries } = server([whole("a", summary(1)), lost, difference("b", 1, []), refused, whole("c", summary(2))]);
  await summaries.read({});
  await expect(summaries.read({})).rejects.toThrow(LostError);
  await summaries.read({});
  await expect(summaries.read({})).rejects.toThrow(Problem);
  expect(ids((await summaries.read({}))[1])).toEqual([2]);
  expect(asked.slice(1).map((path) => path.split("?")[1])).toEqual(["since=%22a%22", "since=%22a%22", "since=b", undefined]);
});

it("begins with what the browser has kept where all may read, and shows it only as the server has it now", async () => {
  const { asked, summaries } = server([whole("old", summary(1), summary(2)), difference("b", 1, [1])], { open: true });
  expect(ids((await summaries.read({}))[1])).toEqual([2]);
  expect(asked).toEqual(["/hazards/active/summary force-cache", "/hazards/active/summary?since=%22old%22"]);
  const member = server([whole("a", summary(1))], { open: true, user: { name: "ann", role: "reader", orgs: [1] } });
  await member.summaries.read({});
  expect(member.asked).toEqual(["/hazards/active/summary"]);
});

it("asks a server that refuses differences for all, and not for a difference from what is kept again", async () => {
  const refused = () => {
    throw new Problem(400, "since is not known here");
  };
  const { asked, summaries } = server([whole("old", summary(1)), refused, whole("a", summary(2))], { open: true });
  await expect(summaries.read({})).rejects.toThrow(Problem);
  expect(ids((await summaries.read({}))[1])).toEqual([2]);
  expect(asked.at(-1)).toBe("/hazards/active/summary");
});

it("reads what is missing of hazards that change all the time", async () => {
  const { asked, summaries } = server([() => whole("a", summary(1, Date.now()), summary(2))()]);
  for (let n = 0; n < 40; n++) { // a change every half second, for 20 seconds
    summaries.changed(new Map([hazard(1, Date.now())]));
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(asked.length).toBe(2); // all of it is not read that often
  summaries.end();
  const little = server([() => difference("a", 1, [], [0, summary(1, Date.now())])()]);
  little.summaries.take([summary(1)]);
  for (let n = 0; n < 40; n++) {
    little.summaries.changed(new Map([hazard(1, Date.now())]));
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(little.asked.length).toBeGreaterThanOrEqual(3);
  expect(little.asked.length).toBeLessThanOrEqual(5);
  little.summaries.end();
});

it("asks for nothing while all is known", async () => {
  const { asked, summaries } = server([whole("a")]);
  summaries.take([summary(1)]);
  summaries.changed(new Map([hazard(1, 5_000)]));
  await vi.advanceTimersByTimeAsync(70_000);
  expect(asked).toEqual([]);
  summaries.end();
});
