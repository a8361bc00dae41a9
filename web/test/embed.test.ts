import { expect, test } from "vitest";
import { inTurn, pictureOf, viewOf } from "../src/embed/picture";
import { readSettings } from "../src/embed/settings";
import { wordsOf } from "../src/embed/words";
import type { Summary } from "../src/model";

const h = (hazard_ID: number, bbox: readonly number[]) => ({ hazard_ID, bbox }) as unknown as Summary;

test("the three worst have their turns, one after the other", () => {
  const list = [1, 2, 3, 4].map((n) => h(n, [0, 0, 0, 0]));
  expect([0, 1, 2, 3, 4].map((n) => inTurn(list, n * 12_000 + 1, 12_000)?.hazard_ID)).toEqual([1, 2, 3, 1, 2]);
  expect(inTurn(list.slice(0, 1), 25_000, 12_000)?.hazard_ID).toBe(1);
  expect(inTurn([], 25_000, 12_000)).toBeUndefined();
});

test("a picture shows its box whole, and a point from near enough", () => {
  const size = { width: 512, height: 512 };
  const box = viewOf([0, 0, 45, 45], size, 10);
  expect(box.longitude).toBeCloseTo(22.5);
  expect(box.latitude).toBeGreaterThan(22.5); // the middle of Mercator's map
  expect(box.zoom).toBe(3); // as far as pictures go
  expect(viewOf([10, 50, 11, 50.2], size, 10).zoom).toBeCloseTo(Math.log2(360) - 0.3);
  expect(viewOf([10, 50, 10, 50], size, 7)).toMatchObject({ longitude: 10, zoom: 7 });
  expect(viewOf([179, -20, -179, -18], size, 10).longitude).toBeCloseTo(180);
});

test("a picture is of the widget's area and filter, and another one after each change", () => {
  const asked = { query: "bbox=5,47,16,55&type=FLOOD", size: { width: 320, height: 240 }, dark: true, change: 7 };
  expect(pictureOf({ ...asked, of: undefined })).toBe("hazards/active/map.svg?width=320&height=240&longitude=10.500&latitude=51.173&zoom=3.43&theme=dark&type=FLOOD&_=7");
  expect(pictureOf({ ...asked, query: "", dark: false, of: undefined })).toBe("hazards/active/map.svg?width=320&height=240&_=7");
});

test("a wall sounds only when its address says so", () => {
  expect(readSettings("?kiosk=1", "", ["en"])).toMatchObject({ kiosk: true, sound: false });
  expect(readSettings("?kiosk=1&sound=1", "", ["en"])).toMatchObject({ kiosk: true, sound: true });
});

test("a wall tells of drafts only with a token, behind the #", () => {
  expect(readSettings("?kiosk=1&drafts=hzs_a", "", ["en"]).watches).toBeUndefined();
  expect(readSettings("?kiosk=1", "#drafts=hzs_a", ["en"]).watches).toBe("hzs_a");
});

test("a widget whose words do not come speaks English, and its own language if they are only late", async () => {
  const [own, english] = [{ id: "de" }, { id: "en" }] as never[];
  const asked: string[] = [];
  const lose = (lost: number, id: string) => async (l: { id: string }) => {
    asked.push(l.id);
    if (l.id === id && asked.filter((x) => x === id).length <= lost) throw new Error("lost");
    return `words ${l.id}`;
  };
  const later = async (ms: number) => void (await new Promise((resolve) => setTimeout(resolve, ms / 100)));
  expect(await wordsOf(own!, english!, lose(1, "de"), later)).toEqual([own, "words de"]);
  asked.length = 0;
  expect(await wordsOf(own!, english!, lose(9, "de"), later)).toEqual([english, "words en"]);
  expect(asked).toEqual(["de", "de", "en"]);
  // No answer, and no failure.
  expect(await wordsOf(own!, english!, (l: { id: string }) => (l.id === "de" ? new Promise<string>(() => {}) : Promise.resolve("words en")), later)).toEqual([english, "words en"]);
});
