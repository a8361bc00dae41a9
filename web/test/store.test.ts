import { describe, expect, test, vi } from "vitest";
import { Api } from "../src/api";
import { freshness } from "../src/freshness";
import type { Areas } from "../src/map/areas";
import type { Change, Hazard } from "../src/model";
import { Store } from "../src/store";
import { noState } from "../src/url";
import { hazard } from "./hazard";

const END = String(Date.now() + 3_600_000);

/** A page's store, and the answers that it waits for, by path. */
export function page() {
  const waiting: { path: string; answer: (r: Response) => void }[] = [];
  const api = new Api("", (path) => new Promise((answer) => waiting.push({ path: String(path), answer })));
  api.open = true;
  const steps: (() => void)[] = [];
  const pauses: number[] = [];
  const areas = { news: { value: 0 }, unknown: () => 0, contains: () => false, touches: () => true, knownAs: () => undefined } as unknown as Areas;
  const store = new Store(api, areas, noState, (then, pause) => {
    steps.push(then);
    pauses.push(pause);
  });
  return {
    store,
    api,
    waiting,
    /** How long each step was to wait. */
    pauses,
    /** The pause before the next step is over. */
    step: () => steps.splice(0).forEach((then) => then()),
  };
}

const settled = async () => {
  for (let i = 0; i < 8; i++) await Promise.resolve();
};

const body = (json: unknown, change: number | undefined) =>
  new Response(JSON.stringify(json), { headers: { "Content-Type": "application/json", ...(change === undefined ? {} : { "Hazardd-Change": String(change) }) } });
const asOf = (change: number) => freshness(new Headers({ "Hazardd-Change": String(change) }));
const event = (change: number, h: Hazard) => ({ change, time: "", type: "hazard.updated" as const, hazard: h });

/** Pseudo-random numbers below n, the same for a seed (mulberry32). */
const random = (seed: number) => (n: number) => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
};

describe("a record never replaces one of a later change", () => {
  test("when a slow re-read, or the answer of a save, comes after the stream", async () => {
    const { store, api, waiting, step } = page();
    const one = (severity_ID: Hazard["severity_ID"]) => hazard({ severity_ID, end_Date: END });
    store.all([one("WATCH")], asOf(5));
    const read = api.get<"/hazards/{hazard-id}">("/hazards/1").then((h) => store.take(h));
    const saved = api.write<Hazard>("PATCH", "/hazards/1", {}).then((h) => store.take(h!));
    store.change(event(8, one("WARNING")));
    step();
    for (const w of waiting.splice(0)) if (w.path === "/hazards/1") w.answer(body(one("WATCH"), 6));
    await Promise.all([read, saved]);
    step();
    expect(store.live.value.get(1)!.severity_ID).toBe("WARNING");
  });

  test("nor brings back what has ended since", async () => {
    const { store, api, waiting, step } = page();
    store.all([hazard({ end_Date: END })], asOf(5));
    const read = api.get<"/hazards/{hazard-id}">("/hazards/1").then((h) => store.take(h));
    store.change(event(8, hazard({ end_Date: END, status: "E" })));
    step();
    waiting.find((w) => w.path === "/hazards/1")!.answer(body(hazard({ end_Date: END }), 7));
    await read;
    step();
    store.all([hazard({ end_Date: END })], asOf(7));
    expect(store.live.value.size).toBe(0);
  });

  test("in the panel of a hazard that is over, too", async () => {
    const { store, waiting, step } = page();
    const uuid = hazard().uuid;
    store.all([], asOf(5));
    store.select(uuid);
    void store.findSelected();
    store.change(event(9, hazard({ status: "E", hazard_Name: "later" })));
    step();
    waiting.find((w) => w.path === `/hazards/${uuid}`)!.answer(body(hazard({ status: "E", hazard_Name: "earlier" }), 8));
    await settled();
    expect(store.selectedHazard.value?.hazard_Name).toBe("later");
  });

  test("until the server has another history, in which answers from before do not count", async () => {
    const { store, api, waiting, step } = page();
    store.all([hazard({ end_Date: END, hazard_Name: "void" })], asOf(500));
    const read = api.get<"/hazards/{hazard-id}">("/hazards/1").then((h) => store.take(h));
    store.reset();
    store.all([hazard({ end_Date: END, hazard_Name: "true" })], asOf(300));
    waiting.find((w) => w.path === "/hazards/1")!.answer(body(hazard({ end_Date: END, hazard_Name: "void" }), 500));
    await read;
    step();
    store.change(event(301, hazard({ end_Date: END, hazard_Name: "next" })));
    step();
    expect(store.live.value.get(1)!.hazard_Name).toBe("next");
  });

  // The log of a server, read by every way there is, each answer as late as it likes.
  test("in any order", async () => {
    const hazards = 4;
    for (let seed = 1; seed <= 100; seed++) {
      const below = random(seed);
      const { store, api, waiting, step } = page();
      // states[n]: all hazards as of change n.
      const states: ReadonlyMap<number, Hazard>[] = [new Map()];
      const changes: Change[] = [];
      for (let n = 1; n <= 30; n++) {
        const id = 1 + below(hazards);
        const h = hazard({ hazard_ID: id, end_Date: END, status: below(3) === 0 ? "E" : "A", hazard_Name: `as of ${n}`, update_Date: String(below(5)) });
        states.push(new Map(states.at(-1)!).set(id, h));
        changes.push(event(n, h));
      }
      /** As of which change each hazard is known. */
      const known = new Map<number, number>();
      const tell = (id: number, n: number) => known.set(id, Math.max(known.get(id) ?? 0, n));
      let streamed = 0;
      const answers: (() => Promise<void>)[] = [];
      const asked = (n: number, id: number) => {
        const record = states[n]!.get(id);
        if (!record) return;
        const read = (below(2) ? api.get<"/hazards/{hazard-id}">(`/hazards/${id}`) : api.write<Hazard>("PATCH", `/hazards/${id}`, {})) as Promise<Hazard>;
        const { answer } = waiting.filter((w) => w.path === `/hazards/${id}`).at(-1)!;
        answers.push(async () => {
          answer(body(record, n));
          store.take(await read);
          tell(id, n);
        });
      };
      for (let i = 0; i < 120; i++) {
        const n = below(31);
        switch (below(5)) {
          case 0:
            asked(n, 1 + below(hazards));
            break;
          case 1:
            store.all([...states[n]!.values()].filter((h) => h.status === "A"), asOf(n));
            for (let id = 1; id <= hazards; id++) tell(id, n);
            break;
          case 2:
            if (streamed < changes.length) {
              const c = changes[streamed++]!;
              store.change(c);
              tell(c.hazard!.hazard_ID, c.change);
            }
            break;
          case 3:
            await answers.splice(below(answers.length + 1), 1)[0]?.();
            break;
          default:
            step();
        }
        if (below(4) > 0) continue;
        step();
        for (let id = 1; id <= hazards; id++) {
          const want = states[known.get(id) ?? 0]!.get(id);
          expect(store.live.value.get(id)?.hazard_Name, `seed ${seed}, step ${i}, hazard ${id}`).toBe(want?.status === "A" ? want.hazard_Name : undefined);
        }
      }
    }
  });
});

describe("cards and titles follow the records", () => {
  const warning = (with_: Partial<Hazard> = {}) => hazard({ end_Date: END, ...with_ });
  /** A warning has come, and its card is there. */
  function told() {
    const { store, step } = page();
    store.all([], asOf(1));
    store.change(event(2, warning()));
    step();
    const words = () => store.said.value.map((s) => s.words);
    const next = (change: number, h: Hazard, more: { readonly reason?: Change["reason"] } = {}) => {
      store.change({ ...event(change, h), ...more });
      step();
    };
    expect(store.warned.value).toHaveLength(1);
    return { store, words, next };
  }
  test.each<[string, Partial<Hazard>, Partial<Change>, string, string]>([
    ["ended", { status: "E" }, { type: "hazard.expired", reason: "cancelled" }, "ended", "Flood: cancelled by the source."],
    ["retracted", { status: "E", severity_ID: "TERMINATION" }, { type: "hazard.expired", reason: "retracted" }, "retracted", "Flood: retracted: it was false."],
    ["lowered", { severity_ID: "ADVISORY" }, {}, "lowered", "Flood: Now Advisory."],
  ])("that are %s: no card says more, none is counted, and it is told once", (_, h, more, kind, said) => {
    const { store, words, next } = told();
    next(3, warning(h), more);
    next(4, warning({ ...h, hazard_Name: "Flood" }), more);
    expect(store.warned.value).toEqual([]);
    expect(store.notices.value.map((n) => n.kind)).toEqual([kind]);
    expect(words().filter((w) => w === said)).toHaveLength(1);
  });
  test("at its own end, and when a list has it no longer", () => {
    const { store, words } = told();
    store.all([], asOf(3));
    expect(store.notices.value.map((n) => n.kind)).toEqual(["ended"]);
    expect(words()).toContain("Flood: Ended.");
    const { store: other } = page();
    other.all([], asOf(1));
    other.all([hazard({ end_Date: String(Date.now() + 60_000) })], asOf(2));
    other.api.skew = 120_000;
    other.tick();
    expect(other.notices.value.map((n) => n.kind)).toEqual(["ended"]);
  });
  test("a warning that comes back counts again", () => {
    const { store, next } = told();
    next(3, warning({ status: "E" }));
    next(4, warning());
    expect(store.notices.value.map((n) => n.kind)).toEqual(["new"]);
    expect(store.warned.value).toHaveLength(1);
  });
  test("the end of the selected hazard is told, whatever its level; that of another is not", () => {
    const { store, words, next } = told();
    const low = (id: number, more: Partial<Hazard> = {}) => warning({ hazard_ID: id, severity_ID: "INFORMATION", hazard_Name: `Fog ${id}`, ...more });
    store.all([warning(), low(7), low(8)], asOf(10));
    store.acknowledge(store.notices.value);
    store.select(low(7).uuid);
    next(11, low(7, { status: "E" }), { reason: "expired" });
    next(12, low(8, { status: "E" }), { reason: "expired" });
    expect(words()).toContain("Fog 7: its end came.");
    expect(words().join()).not.toContain("Fog 8: its end");
  });
  test("three warnings of one name are told three times, each on its own", () => {
    const { store, step } = page();
    store.all([], asOf(1));
    for (const id of [1, 2, 3]) store.change(event(1 + id, warning({ hazard_ID: id })));
    step();
    expect(store.said.value.map((s) => s.words)).toEqual(["New Warning: Flood.", "New Warning: Flood.", "New Warning: Flood."]);
    expect(new Set(store.said.value.map((s) => s.id)).size).toBe(3);
  });
});

describe("hazards in short", () => {
  const brief = (with_: Partial<Hazard> = {}) => hazard({ description: "", end_Date: END, brief: true, ...with_ });
  const whole = (with_: Partial<Hazard> = {}) => hazard({ description: "The dam holds.", end_Date: END, ...with_ });

  test("never replace what is known of the same version", async () => {
    const { store, step } = page();
    store.all([brief(), brief({ hazard_ID: 2 })], asOf(5));
    store.change(event(6, whole()));
    step();
    store.all([brief(), brief({ hazard_ID: 2 })], asOf(7));
    expect([...store.live.value.values()].map((h) => h.description)).toEqual(["The dam holds.", ""]);
    store.all([brief({ update_Date: "2000" })], asOf(8));
    expect([...store.live.value.values()].map((h) => [h.brief, h.update_Date])).toEqual([[true, "2000"]]);
  });

  test("become whole when they are selected", async () => {
    const { store, waiting, step } = page();
    store.all([brief()], asOf(5));
    store.select(brief().uuid);
    void store.findSelected();
    await settled();
    expect(store.selectedHazard.value?.brief).toBe(true);
    waiting.find((w) => w.path.startsWith("/hazards/0000"))!.answer(body(whole(), 5));
    await expect.poll(() => (step(), store.selectedHazard.value)).toMatchObject({ description: "The dam holds." });
    expect(store.selectedHazard.value?.brief).toBeUndefined();
  });

  test("stay at an end that may have been an expected one, until the server has said what it was", async () => {
    for (const autoexpire of ["N", "Y"] as const) {
      const { store, waiting, step } = page();
      const over = { end_Date: "9000" };
      store.all([brief(over)], asOf(5));
      store.tick();
      expect(store.live.value.size).toBe(1);
      waiting.find((w) => w.path === "/hazards/1")!.answer(body(whole({ ...over, autoexpire, status: autoexpire === "Y" ? "E" : "A" }), 5));
      await expect.poll(() => (step(), [...store.live.value.values()].map((h) => h.brief))).toEqual(autoexpire === "N" ? [undefined] : []);
    }
  });

  test("end by the clock without a connection", () => {
    const { store } = page();
    store.all([brief({ end_Date: "9000" })], asOf(5));
    store.lost("");
    store.tick();
    expect(store.live.value.size).toBe(0);
  });

  test("are found by words that the server finds in their texts", async () => {
    const { store, waiting } = page();
    store.all([brief(), brief({ hazard_ID: 2 })], asOf(5));
    store.setFilter({ text: "dam" });
    expect(store.matching.value.size).toBe(0);
    const asked = store.search("dam", new AbortController().signal);
    waiting.find((w) => w.path === "/hazards/active/summary?q=dam")!.answer(body([{ hazard_ID: 2 }], 5));
    await asked;
    expect([...store.matching.value.keys()]).toEqual([2]);
  });
});

describe("most of the time is the reader's, however many changes come", () => {
  const take = (cost: number, later: number) => {
    const { store, step, pauses } = page();
    let now = 1_000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    const slow = store.live.subscribe(() => (now += cost)); // also once at the beginning
    store.change(event(1, hazard({ end_Date: END })));
    step();
    now += later;
    store.change(event(2, hazard({ end_Date: END, hazard_Name: "next" })));
    slow();
    clock.mockRestore();
    return pauses;
  };

  test("a change waits after one that took long", () => expect(take(100, 0)).toEqual([0, 400]));
  test("but not after a pause", () => expect(take(100, 300)).toEqual([0, 100]));
  test("and not long after one that is long over", () => expect(take(100, 60_000)).toEqual([0, 0]));
  test("and never so long that a warning comes late", () => expect(take(3_000, 0)).toEqual([0, 800]));
});
