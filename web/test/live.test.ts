import { describe, expect, test, vi } from "vitest";
import { LostError, Problem, type Api, type Options } from "../src/api";
import { follow, type Sink, type Surroundings } from "../src/live";
import type { Change, Hazard } from "../src/model";
import { hazard } from "./hazard";

/** A server that answers as the script says, request by request; the following ends with the script. */
function run(script: ((path: string, options: Options) => Response | Promise<Response>)[]) {
  const over = new AbortController();
  const told: string[] = [];
  const asked: { path: string; headers: Readonly<Record<string, string>> }[] = [];
  const pauses: number[] = [];
  const api = {
    request: async (path: string, options: Options = {}) => {
      if (options.method === "HEAD") return new Response(null);
      asked.push({ path, headers: options.headers ?? {} });
      const next = script.shift();
      if (!next) {
        over.abort();
        throw new LostError("the script is over");
      }
      return next(path, options);
    },
  } as unknown as Api;
  const sink: Sink = {
    all: (list: readonly Hazard[], fresh) => told.push(`all ${list.length} as of ${fresh.change}`),
    change: (c: Change) => told.push(`change ${c.change}`),
    reset: () => told.push("reset"),
    heard: () => {},
    lost: (why) => told.push(`lost: ${why}`),
  };
  const around: Surroundings = {
    pause: async (ms, signal) => {
      // The beat of an open stream waits for its end, every other pause is over at once.
      if (ms === 5_000) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      else pauses.push(ms);
    },
    hidden: () => false,
    random: () => 0.5,
  };
  return follow(api, sink, over.signal, around).then(() => ({ told, asked, pauses }));
}

const list = (change: number, n = 1) => () =>
  new Response(JSON.stringify(Array.from({ length: n }, (_, i) => hazard({ hazard_ID: i + 1 }))), { headers: { "Hazardd-Change": String(change), ETag: `"${change}"` } });
const same = () => new Response(null, { status: 304 });
const none = () => new Response("no such path", { status: 404 });
const stream = (...events: string[]) => () => new Response(events.join(""), { headers: { "Content-Type": "text/event-stream" } });
const event = (n: number, name = "hazard.updated") => `id: ${n}\nevent: ${name}\ndata: {"change":${n}}\n\n`;
const dead = () => Promise.reject(new LostError("no route"));

describe("following the server", () => {
  test("takes the list, then the changes after it", async () => {
    const { told, asked } = await run([list(7, 2), stream(event(8), event(9))]);
    expect(told.slice(0, 3)).toEqual(["all 2 as of 7", "change 8", "change 9"]);
    expect(asked[1]).toMatchObject({ path: "/events", headers: { "Last-Event-ID": "7" } });
  });
  test("resumes a stream that ended after its last change", async () => {
    const { told, asked } = await run([list(7), stream(event(8)), same, stream(event(9))]);
    expect(told).toEqual(expect.arrayContaining(["change 8", "change 9"]));
    expect(asked.filter((a) => a.path === "/events").map((a) => a.headers["Last-Event-ID"])).toEqual(["7", "8"]);
  });
  test("takes no change twice", async () => {
    const { told } = await run([list(7), stream(event(7), event(8), event(8))]);
    expect(told.filter((t) => t.startsWith("change"))).toEqual(["change 8"]);
  });
  test("reads all again after a reset, whatever its tag was", async () => {
    const { told, asked } = await run([list(7), stream(`event: reset\ndata: {}\n\n`), list(1_000_000, 3), stream()]);
    expect(told).toContain("all 3 as of 1000000");
    expect(asked[2]!.headers).not.toHaveProperty("If-None-Match");
  });
  test("takes no list that is older than what the stream has told", async () => {
    const { told } = await run([list(7), stream(event(9)), list(8, 5), stream()]);
    expect(told).not.toContain("all 5 as of 8");
  });
  test("asks again and again where there is no stream, and within a second", async () => {
    const { told, asked, pauses } = await run([list(7), none, same, list(8, 2), same]);
    expect(told).toEqual(expect.arrayContaining(["all 1 as of 7", "all 2 as of 8"]));
    expect(asked.filter((a) => a.path === "/events")).toHaveLength(1);
    expect(asked.at(-2)!.headers).toEqual({ "If-None-Match": '"8"' });
    expect(Math.max(...pauses)).toBeLessThan(1_000);
  });
  const gone = () => new Response("", { status: 410 });
  test("notices without a stream that the store was set back, and takes no older answer for that", async () => {
    const { told, asked } = await run([list(7), none, list(5), () => new Response("[]"), list(5, 3), gone]);
    expect(told.slice(0, 3)).toEqual(["all 1 as of 7", "reset", "all 3 as of 5"]);
    expect(asked[3]).toMatchObject({ path: "/changes?after=7&limit=1" });
  });
  test("asks for the stream again when all its places were taken", async () => {
    const full = () => new Response("", { status: 429, headers: { "Retry-After": "10" } });
    const { told, asked } = await run([list(7), full, same, same, same, stream(event(8))]);
    expect(asked.filter((a) => a.path === "/events")).toHaveLength(2);
    expect(told).toContain("change 8");
  });
  test("tells at once that it is lost, tries again with longer pauses, and heals", async () => {
    const { told, pauses } = await run([list(7), none, dead, dead, dead, list(8, 2)]);
    expect(told.slice(1, 5)).toEqual(["lost: no route", "lost: no route", "lost: no route", "all 2 as of 8"]);
    expect(pauses.slice(0, 3)).toEqual([500, 1_000, 2_000]);
  });
  /** A public page whose stream is open, and says something every so many milliseconds, while all beats are refused; until it has asked so often. */
  async function refused(until: number, says: number) {
    vi.useFakeTimers({ toFake: ["Date"] });
    const over = new AbortController();
    const asked: string[] = [];
    const lost: string[] = [];
    const begun = Date.now();
    const at: number[] = [];
    let say = () => {};
    let said = begun;
    const api = {
      open: true,
      request: async (path: string, options: Options = {}) => {
        asked.push(`${options.method ?? "GET"} ${path}`);
        if (asked.length === until) over.abort();
        if (options.method === "HEAD") {
          at.push((Date.now() - begun) / 1_000);
          throw new Problem(503, "too many requests of all addresses", [], 1);
        }
        if (path !== "/events") return list(7)();
        return new Response(
          new ReadableStream({
            start: (c) => {
              say = () => c.enqueue(new TextEncoder().encode(": still here\n\n"));
              options.signal!.addEventListener("abort", () => c.error(new Error("aborted")));
            },
          }),
        );
      },
    } as unknown as Api;
    const around: Surroundings = {
      pause: async (ms) => {
        vi.setSystemTime(Date.now() + ms);
        if (Date.now() - said >= says) {
          said = Date.now();
          say();
          await new Promise((resolve) => setTimeout(resolve)); // what is said is read
        }
      },
      hidden: () => false,
      random: () => 0.5,
    };
    const sink = { all: () => {}, change: () => {}, reset: () => {}, heard: () => {}, lost: (why: string) => void lost.push(`${(Date.now() - begun) / 1_000} s: ${why}`) };
    await follow(api, sink, over.signal, around).finally(() => vi.useRealTimers());
    return { asked, at, lost };
  }
  test("keeps its stream when the server refuses what is asked beside it, and asks that more rarely", async () => {
    const { asked, at, lost } = await refused(8, 15_000);
    expect(lost).toEqual([]);
    expect(asked).toEqual(["GET /hazards/active", "GET /events", ...Array(6).fill("HEAD /hazards/active")]);
    expect(at.map((t, i) => t - (at[i - 1] ?? 0))).toEqual([5, 10, 15, 25, 45, 65]);
  });
  test("is lost when the server refuses what is asked beside a stream that has gone silent", async () => {
    const { lost } = await refused(8, Infinity);
    expect(lost[0]).toBe("25 s: the stream is lost");
  });
});
