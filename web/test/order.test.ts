import { expect, test } from "vitest";
import { byDistance, byLevel, byTime, Ordered } from "../src/order";
import type { Hazard } from "../src/model";
import { hazard } from "./hazard";

// M16: what stays in order is as if all had been sorted again.
test("a list that follows changes is the list that sorting gives", () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const levels = ["INFORMATION", "ADVISORY", "WATCH", "WARNING"] as const;
  const real = new Ordered(false);
  const drills = new Ordered(true);
  let state = new Map<number, Hazard>();
  for (let round = 0; round < 60; round++) {
    state = new Map(state);
    for (let i = random(40); i >= 0; i--) {
      const id = random(300);
      if (random(3) === 0) state.delete(id);
      else state.set(id, hazard({ hazard_ID: id, severity_ID: levels[random(4)]!, category_ID: random(5) === 0 ? "EXERCISE" : "EVENT", last_Update: String(random(20)) }));
    }
    const by = round % 20 < 10 ? byLevel : byTime;
    const sorted = (drill: boolean) => [...state.values()].filter((h) => (h.category_ID === "EXERCISE") === drill).sort(by);
    expect(real.follow(state, by)).toEqual(sorted(false));
    expect(drills.follow(state, by)).toEqual(sorted(true));
  }
  expect(real.follow(state, byTime)).toBe(real.follow(new Map(state), byTime));
});

test("the nearest comes first, and of the same distance the most severe", () => {
  const list = [
    hazard({ hazard_ID: 1, longitude: 3, severity_ID: "WARNING" }),
    hazard({ hazard_ID: 2, longitude: 1, severity_ID: "ADVISORY" }),
    hazard({ hazard_ID: 3, longitude: -1, severity_ID: "WATCH" }),
  ];
  expect(list.sort(byDistance((h) => Math.abs(h.longitude))).map((h) => h.hazard_ID)).toEqual([3, 2, 1]);
});
