// The window that fingers leave, and what they touch.
import { describe, expect, it } from "vitest";
import { boundsOf, Fingers, still, viewAfter, where } from "../src/ui/fingers";
import type { View } from "../src/url";

const view: View = { center: [10, 53.5], zoom: 5 };

describe("a picture that fingers move", () => {
  it("shows the place in the middle that a finger has drawn there", () => {
    const fingers = new Fingers(() => view);
    fingers.put(1, { x: 0, y: 0 });
    expect(fingers.move(1, { x: -80, y: 30 })).toBe(true);
    expect(where(view, { longitude: viewAfter(view, fingers.moved).center[0], latitude: viewAfter(view, fingers.moved).center[1] })).toEqual({
      x: expect.closeTo(80, 6),
      y: expect.closeTo(-30, 6),
    });
    expect(fingers.lift(1)).toBe(true);
    expect(fingers.lift(1)).toBe(false);
  });

  it("keeps the place between two fingers where it is while they part", () => {
    const fingers = new Fingers(() => view);
    fingers.put(1, { x: 40, y: 0 });
    fingers.put(2, { x: 60, y: 0 });
    fingers.move(1, { x: 30, y: 0 });
    fingers.move(2, { x: 70, y: 0 });
    const after = viewAfter(view, fingers.moved);
    expect(after.zoom).toBeCloseTo(6, 6);
    const [longitude, latitude] = viewAfter(view, { ...still, x: -50 }).center;
    expect(where(after, { longitude, latitude }).x).toBeCloseTo(50, 6);
  });

  it("does not jump when one of two fingers is lifted", () => {
    const fingers = new Fingers(() => view);
    fingers.put(1, { x: 0, y: 0 });
    fingers.put(2, { x: 50, y: 50 });
    fingers.lift(1);
    fingers.move(2, { x: 50, y: 50 });
    expect(fingers.moved).toEqual(still);
  });

  it("is made no larger than a picture can be, and goes round the world", () => {
    const fingers = new Fingers(() => ({ center: [179.9, 0], zoom: 9.9 }));
    fingers.put(1, { x: -10, y: 0 });
    fingers.put(2, { x: 10, y: 0 });
    expect(fingers.move(2, { x: 60, y: 0 })).toBe(false);
    expect(fingers.moved).toEqual(still);
    expect(viewAfter({ center: [179.9, 0], zoom: 4 }, { ...still, x: -100 }).center[0]).toBeLessThan(-170);
  });

  it("has the bounds that the map would have", () => {
    const [west, south, east, north] = boundsOf(view, { width: 512, height: 512 });
    expect(east - west).toBeCloseTo(360 / 32, 6);
    expect([south, north].map((latitude) => where(view, { longitude: 10, latitude }).y)).toEqual([expect.closeTo(256, 6), expect.closeTo(-256, 6)]);
  });
});
