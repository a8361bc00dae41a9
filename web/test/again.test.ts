import { expect, test } from "vitest";
import { again } from "../src/again";

const around = (pauses: number[]) => ({ pause: async (milliseconds: number) => void pauses.push(milliseconds), hidden: () => false, random: () => 0.5 });

test("what does not come is asked for again, less and less often", async () => {
  const pauses: number[] = [];
  let failures = 0;
  let asked = 0;
  const load = async () => {
    if (++asked < 8) throw new Error("no network");
    return "here";
  };
  expect(await again(load, () => void failures++, new AbortController().signal, around(pauses))).toBe("here");
  expect(failures).toBe(7);
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
});

test("nobody waits any more: it is not asked for again", async () => {
  const over = new AbortController();
  let asked = 0;
  const load = async () => {
    asked++;
    over.abort();
    throw new Error("no network");
  };
  expect(await again(load, () => expect.unreachable(), over.signal, around([]))).toBeUndefined();
  expect(asked).toBe(1);
});

test("what the server refuses is not asked for again", async () => {
  let asked = 0;
  const load = async () => {
    asked++;
    throw new Error("404");
  };
  expect(await again(load, () => true, new AbortController().signal, around([]))).toBeUndefined();
  expect(asked).toBe(1);
});
