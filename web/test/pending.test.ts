import { beforeEach, expect, test, vi } from "vitest";
import "./words";
import { DraftedError } from "../src/api";
import { differences, Drafts, outcomeOf, ruleOf, type Draft } from "../src/edit/pending";

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) });
});

const draft = (id: string, author: string, more: Partial<Draft> = {}): Draft =>
  ({ id, author, state: "waiting", created: "2026-11-26T12:00:00Z", expires: "2026-11-27T12:00:00Z", hazard_Name: id, severity_ID: "WARNING", reach: { subscribers: 0 }, ...more }) as Draft;

/** A server with these drafts, for the user ed. */
function server(list: Draft[], decided: Record<string, Draft> = {}) {
  const state = { list, decided, now: Date.parse("2026-11-26T12:01:00Z"), asked: [] as string[], fails: false };
  const api = {
    user: { name: "ed", role: "editor", orgs: [1] },
    now: () => state.now,
    get: async (path: string) => {
      state.asked.push(path);
      if (state.fails) throw new Error("gone");
      if (path === "/drafts/count") {
        const mine = state.list.filter((d) => d.author === "ed").length;
        return { to_decide: state.list.length - mine, mine };
      }
      return state.decided[path.split("/")[2]!];
    },
    request: async (path: string) => {
      state.asked.push(path);
      const all = path.includes("state=all") ? Object.values(state.decided) : [];
      return new Response(JSON.stringify([...state.list, ...all]), { headers: { "Hazardd-Approval": "warnings; people=1000" } });
    },
  };
  const called: string[][] = [];
  const ended: string[][] = [];
  const make = () => new Drafts(api as never, (d) => called.push(d.map((x) => x.id)), (d) => ended.push(d.map(outcomeOf)));
  return { state, called, ended, make, drafts: make() };
}

test("a change that waits for the user calls once, and again when it is called to mind or about to lapse", async () => {
  const { state, called, drafts } = server([draft("a", "bea"), draft("mine", "ed")]);
  await drafts.look();
  expect(drafts.toDecide.value.map((d) => d.id)).toEqual(["a"]);
  await drafts.read();
  expect(called).toEqual([["a"]]);
  state.list = [draft("a", "bea", { reminded: "2026-11-26T12:10:00Z" }), draft("mine", "ed")];
  await drafts.read();
  expect(called).toEqual([["a"], ["a"]]);
  state.now = Date.parse("2026-11-27T11:30:00Z");
  await drafts.read(); // both sides are told before it lapses
  expect(called.at(-1)).toEqual(["a", "mine"]);
});

test("an author learns what became of a draft, and not of the own withdrawal", async () => {
  const { state, drafts, ended, make } = server([draft("one", "ed"), draft("two", "ed"), draft("three", "ed")]);
  await drafts.look();
  state.decided = {
    old: draft("old", "ed", { state: "refused", decided_by: "bea", decided: "2026-11-25T11:00:00Z" }),
    hers: draft("hers", "bea", { state: "approved", decided_by: "ed", decided: "2026-11-26T12:00:30Z" }),
    one: draft("one", "ed", { state: "approved", decided_by: "bea", decided: "2026-11-26T12:00:30Z" }),
    two: draft("two", "ed", { state: "refused", decided_by: "ed", decided: "2026-11-26T12:00:30Z" }),
    three: draft("three", "ed", { state: "lapsed" }),
  };
  state.list = [];
  await drafts.look();
  expect(drafts.decided.value.map((d) => [d.id, d.state])).toEqual([["one", "approved"], ["three", "lapsed"]]);
  expect(ended).toEqual([["\u2068bea\u2069 approved it: it is published.", "Nobody decided in time: it is not published."]]);
  expect(drafts.calls.value).toBe(2);
  drafts.dismiss(drafts.decided.value[0]!);
  expect(drafts.decided.value).toHaveLength(1);
  const later = make(); // the page is opened again
  await later.look();
  expect(later.decided.value.map((d) => d.id)).toEqual(["three"]);
  expect(later.calls.value).toBe(1);
});

test("that it is not known what waits is said, until it is known again", async () => {
  const { state, drafts } = server([]);
  state.fails = true;
  await drafts.look();
  expect(drafts.fault.value).toBeDefined();
  expect(drafts.any.value).toBe(true);
  state.fails = false;
  await drafts.look();
  expect(drafts.any.value).toBe(false);
});

test("the rule says whether a second person is asked", async () => {
  const { drafts } = server([]);
  expect(drafts.waits("WARNING")).toBe("no");
  await drafts.look();
  expect([drafts.waits("WARNING"), drafts.waits("WATCH")]).toEqual(["yes", "perhaps"]);
  expect(ruleOf("")).toEqual({ warnings: false, people: 0 });
  expect(ruleOf("people=1000000")).toEqual({ warnings: false, people: 1_000_000 });
});

test("a draft names what it changes against now", () => {
  const says = {
    hazard_Name: "Flood",
    type_ID: "FLOOD",
    severity_ID: "WARNING",
    category_ID: "EVENT",
    status: "A",
    start: "2026-11-26T12:00:00Z",
    autoexpire: true,
    latitude: 1,
    longitude: 2,
  } as const;
  const d = draft("a", "bea", { details: { says, said: { ...says, severity_ID: "WATCH", autoexpire: false } } });
  expect(differences(d)).toEqual([{ field: "severity_ID", before: "WATCH", now: "WARNING" }, { field: "autoexpire", before: "N", now: "Y" }]);
  expect(differences(draft("b", "bea", { details: { says } }))).toBeUndefined();
  expect(new DraftedError(d).draft.id).toBe("a");
});
