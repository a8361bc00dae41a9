import { describe, expect, test } from "vitest";
import { EventParser } from "../src/events";

const read = (...pieces: string[]) => {
  const p = new EventParser();
  return pieces.flatMap((piece) => p.push(piece));
};

describe("the stream of events", () => {
  const stream = 'id: 7\nevent: hazard.created\ndata: {"change":7}\n\n: alive\n\nid: 8\ndata: a\ndata: b\n\nevent: reset\ndata: {}\n\n';
  const want = [
    { id: "7", event: "hazard.created", data: '{"change":7}' },
    { id: "8", event: "message", data: "a\nb" },
    { id: "8", event: "reset", data: "{}" },
  ];
  test("is read whole", () => expect(read(stream)).toEqual(want));
  test("is read in pieces of any size", () => {
    for (let size = 1; size < stream.length; size++) {
      const pieces = stream.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      expect(read(...pieces)).toEqual(want);
    }
  });
  test("may end its lines as it likes, in pieces too", () => {
    for (const end of ["\r\n", "\r"]) expect(read(...stream.replaceAll("\n", end).split(""), ":\n")).toEqual(want);
  });
  test("that only breathes has no events", () => expect(read(": alive\n\n", ":\n\n", "event: x\n\n")).toEqual([]));
  test("that is cut loses the event that was not whole", () => expect(read("data: a\n")).toEqual([]));
});
