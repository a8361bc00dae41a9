import { describe, expect, test } from "vitest";
import { languageOf, pieces, calm, reflow, webAddress } from "../src/prose";

test.each([
  ["See https://example.org/a?b=c#d.", [{ text: "See " }, { text: "https://example.org/a?b=c#d", href: "https://example.org/a?b=c#d" }, { text: "." }]],
  ["(http://example.org/x)", [{ text: "(" }, { text: "http://example.org/x", href: "http://example.org/x" }, { text: ")" }]],
  ["<script>alert(1)</script>", [{ text: "<script>alert(1)</script>" }]],
  ["javascript:alert(1)", [{ text: "javascript:alert(1)" }]],
  ["", []],
])("links in %j", (text, want) => expect(pieces(text)).toEqual(want));

test.each([
  ["https://example.org/", "https://example.org/"],
  ["javascript:alert(1)", undefined],
  ["data:text/html,x", undefined],
  ["/h/1", undefined],
  [null, undefined],
])("webAddress(%j)", (s, want) => expect(webAddress(s)).toBe(want));

describe("reflow", () => {
  test("joins the full lines of a bulletin", () =>
    expect(reflow("* WHAT...Flooding caused by excessive rainfall continues to be\nexpected.\n\n* WHERE...Portions of Louisiana.")).toBe(
      "* WHAT...Flooding caused by excessive rainfall continues to be expected.\n\n* WHERE...Portions of Louisiana.",
    ));
  test("leaves short lines, lists and tables", () => {
    const list =
      "Stay away from the coast and from the mouths of all the rivers.\n* Follow the authorities.\nShort.\nLines.\nRiver      Stage     Forecast of the next three days here\nRhine      7.1       7.4";
    expect(reflow(list)).toBe(list);
  });
  test("takes any line end", () => expect(reflow("a\r\nb\rc")).toBe("a\nb\nc"));
});

test("the language of a text is that in which its source says it, if it is one", () => {
  const texts = [{ language: "en", name: "Storm", description: "Wind." }, { language: "fr", name: "Tempête", description: "Vent." }, { language: "es", name: "Storm", description: "Viento." }];
  const of = (hazard_Name: string, description: string) => languageOf({ hazard_Name, description }, [{}, { texts }]);
  expect([of("Tempête", "Vent.\n\nRestez."), of("Storm", "Wind."), of("Storm", "An editor's."), of("Flood", "Wind.")]).toEqual(["fr", "en", undefined, undefined]);
  expect(languageOf({ hazard_Name: "Storm", description: "" }, [{ texts: [{ language: "en", name: "Storm" }, { language: "es", name: "Storm" }] }])).toBeUndefined();
});

test("what was written in capitals is set as sentences, with the names that are known", () => {
  const names = "Flash Flood Emergency - Kendall, TX";
  expect(calm("A FLASH FLOOD EMERGENCY FOR KENDALL COUNTY. MOVE TO HIGHER GROUND NOW...DO NOT WAIT UNTIL 4 PM.", names)).toBe(
    "A Flash Flood Emergency for Kendall county. Move to higher ground now...Do not wait until 4 PM.",
  );
  expect(calm("* WHAT...Flooding caused by excessive rainfall continues.\n\nTURN AROUND", names)).toBe("* WHAT...Flooding caused by excessive rainfall continues.\n\nTURN AROUND");
  expect(calm("WATER IS OVER THE QUAY AND RISES.", "Flood for Old Harbour: WATER IS OVER THE QUAY")).toBe("Water is over the quay and rises."); // a headline that shouts names nothing
  expect(calm("洪水警報が発表されています。", names)).toBe("洪水警報が発表されています。");
});
