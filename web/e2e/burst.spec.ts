// What many changes at once cost the page. The service's answers are made in the browser, so that nothing but the page is measured.
import { loadavg } from "node:os";
import { expect, isPhone, open, patience, test } from "./test";

const ACTIVE = 10_000;
const BURST = 1_000;

// M16. 517e452 stood still for seconds: each event copied, sorted and drew all that there was.
test("a burst of new alerts among many hazards leaves the page usable", { tag: "@slow" }, async ({ page, browser }) => {
  test.skip(isPhone(page), "the same code as on a wide screen");
  await page.addInitScript(
    ([active, burst]) => {
      const types = ["EARTHQUAKE", "FLOOD", "WILDFIRE", "STORM", "CYCLONE", "VOLCANO", "DROUGHT", "LANDSLIDE"];
      const severities = ["INFORMATION", "INFORMATION", "ADVISORY", "ADVISORY", "WATCH", "WARNING"];
      const begin = Date.now() - 3_600_000;
      const hazard = (n: number) => ({
        hazard_ID: n,
        uuid: `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`,
        hazard_Name: `Hazard ${n}`,
        description: "Reported by several observers. Roads are closed, people are asked to stay at home and to keep away from the water. ".repeat(3),
        type_ID: types[n % types.length],
        severity_ID: severities[n % severities.length],
        category_ID: "EVENT",
        status: "A",
        autoexpire: "Y",
        start_Date: String(begin),
        end_Date: String(begin + 86_400_000 + n),
        create_Date: String(begin + n),
        last_Update: String(begin + n * 100),
        update_Date: String(begin + n * 100),
        update_User: null,
        creator: "",
        latitude: -20 + ((n * 0.618034) % 1) * 85,
        longitude: ((n * 137.508) % 360) - 180,
        product_total: "0",
        org_ID: -1,
        app_ID: 0,
        comment_Text: "",
      });
      const head = { "Hazardd-Change": String(active), "Hazardd-Sources": 'ok=1; stale=0; failing=0; names=""', "Content-Type": "application/json" };
      const list = JSON.stringify(Array.from({ length: active }, (_, i) => hazard(i + 1)));
      const feature = (n: number, shape: boolean) => {
        const h = hazard(n);
        const [x, y, d] = [h.longitude, h.latitude, n % 10 === 0 ? 0.8 : 0];
        return {
          type: "Feature",
          id: n,
          bbox: [x, y, Math.min(180, x + d), y + d],
          properties: { update_Date: h.update_Date, role: d ? "alert" : "point" },
          geometry: shape
            ? (d ? { type: "Polygon", coordinates: [[[x, y], [Math.min(180, x + d), y], [Math.min(180, x + d), y + d], [x, y + d], [x, y]]] } : { type: "Point", coordinates: [x, y] })
            : null,
        };
      };
      const w = window as unknown as { burst: () => number; tasks: number[]; last: number };
      let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
      let last = active;
      const asked = window.fetch.bind(window);
      window.fetch = async (input, options) => {
        const url = new URL(String(input), location.href);
        if (url.pathname === "/hazards/active") return new Response(options?.method === "HEAD" ? null : list, { headers: { ...head, "Hazardd-Change": String(last) } });
        if (url.pathname === "/hazards/active/areas") {
          const ids = url.searchParams.get("ids")?.split(",").map(Number);
          return new Response(JSON.stringify({ type: "FeatureCollection", features: (ids ?? Array.from({ length: last }, (_, i) => i + 1)).map((n) => feature(n, ids !== undefined)) }), {
            headers: head,
          });
        }
        if (url.pathname === "/events") return new Response(new ReadableStream<Uint8Array>({ start: (c) => void (stream = c) }), { headers: { "Content-Type": "text/event-stream" } });
        return asked(input, options);
      };
      w.tasks = [];
      new PerformanceObserver((seen) => w.tasks.push(...seen.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
      const events = Array.from({ length: burst }, (_, i) => {
        const n = active + 1 + i;
        return `event: hazard.created\nid: ${n}\ndata: ${JSON.stringify({ change: n, time: new Date().toISOString(), type: "hazard.created", hazard: hazard(n) })}\n\n`;
      });
      const bytes = new TextEncoder().encode(events.join(""));
      w.burst = () => {
        last = active + burst;
        w.tasks = [];
        // As a network brings it: in pieces of 16 kB that end anywhere.
        for (let at = 0; at < bytes.length; at += 16_384) stream!.enqueue(bytes.slice(at, at + 16_384));
        return performance.now();
      };
      new MutationObserver(() => {
        if (!w.last && document.querySelector(".list-head")?.textContent?.includes((active + burst).toLocaleString("en"))) w.last = performance.now();
      }).observe(document, { childList: true, subtree: true, characterData: true });
    },
    [ACTIVE, BURST] as const,
  );
  await open(page, "#map=2.4/35/-40&list=all");
  await expect(page.getByText("10,000 hazards")).toBeVisible();
  await page.locator("#map canvas").waitFor();
  await page.waitForTimeout(4_000); // areas come, tiles are drawn
  await browser.startTracing(page, { categories: ["toplevel", "__metadata"] });
  const begin = await page.evaluate(() => (window as unknown as { burst: () => number }).burst());
  await expect(page.getByText("11,000 hazards")).toBeVisible({ timeout: 60_000 });
  await page.waitForTimeout(2_000);
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: readonly { name: string; ph: string; pid: number; tid: number; tdur?: number; dur?: number; args: { name?: string } }[];
  };
  const { last, tasks } = await page.evaluate(() => {
    const w = window as unknown as { last: number; tasks: number[] };
    return { last: w.last, tasks: w.tasks };
  });
  // The processor's time of a task is nearly the same whatever else the machine does; the page is the renderer that worked most.
  const mains = new Set(trace.traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}/${e.tid}`));
  const work = trace.traceEvents.filter((e) => e.tdur !== undefined && e.name.endsWith("RunTask") && mains.has(`${e.pid}/${e.tid}`)).map((e) => e.tdur! / 1000);
  expect(work.length, "tasks in the trace").toBeGreaterThan(10);
  const longest = Math.max(...work);
  const figures = `list complete after ${(last - begin).toFixed(0)} ms; longest task ${longest.toFixed(0)} ms of processor, ${Math.max(0, ...tasks).toFixed(0)} ms of time; load ${
    loadavg()[0]!.toFixed(1)
  }`;
  console.log(figures);
  test.info().annotations.push({ type: "burst", description: figures });
  expect(last - begin).toBeLessThan(1_000 * patience()); // at a load of 20 on two processors it took 2,550
  expect(longest).toBeLessThan(200); // 100 is the goal where nobody else works: at a load of 8 it took 110, for others empty the processor's caches
});
