import { expect, test } from "vitest";
import { LostError, type Api } from "../src/api";
import { Importance } from "../src/importance";
import { byImportance } from "../src/order";
import { hazard } from "./hazard";

test("what the service has not told the place of comes first, then what is most important", () => {
  const list = [
    hazard({ hazard_ID: 1, severity_ID: "WARNING" }),
    hazard({ hazard_ID: 2, severity_ID: "INFORMATION" }),
    hazard({ hazard_ID: 3, severity_ID: "ADVISORY" }),
    hazard({ hazard_ID: 4, severity_ID: "WATCH" }),
  ];
  expect(list.sort(byImportance(new Map([[2, 0], [1, 1]]))).map((h) => h.hazard_ID)).toEqual([4, 3, 2, 1]);
  expect(list.sort(byImportance(new Map())).map((h) => h.hazard_ID)).toEqual([1, 4, 3, 2]);
});

test("changes while the order is read are asked about once, an order that stayed is not read again, and what fails is tried again later", async () => {
  const asked: string[] = [];
  const pauses: number[] = [];
  const answers = [() => Response.json([2, 1], { headers: { ETag: '"a"' } }), () => new Response(null, { status: 304 }), () => Promise.reject(new LostError("away")), () => Response.json([1])];
  const api = {
    request: (path: string, o: { headers: Record<string, string> }) => {
      asked.push(`${path} ${o.headers["If-None-Match"] ?? ""}`);
      return Promise.resolve(answers.shift()!());
    },
  } as unknown as Api;
  const importance: Importance = new Importance(api, (milliseconds) => {
    pauses.push(milliseconds);
    return Promise.resolve();
  });
  const first = importance.changed();
  void importance.changed();
  void importance.changed();
  await first;
  expect(importance.places.value).toEqual(new Map([[2, 0], [1, 1]]));
  expect(asked).toEqual(["/hazards/active/order ", '/hazards/active/order "a"']);
  await importance.changed();
  expect(importance.places.value).toEqual(new Map([[1, 0]]));
  expect(pauses).toEqual([2_000, 2_000, 4_000, 2_000]);
});
