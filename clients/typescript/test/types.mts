// Compiled by `make lint`, never run: what the types promise.
import { Client, HazarddError, type Change, type Hazard } from "../index.js";

const client = new Client("https://hazards.example.org", { username: "ann", password: "secret", fetch });
const list = await client.active({ type: ["FLOOD"], near: [10, 53.5], radius: 50_000 }, { signal: AbortSignal.timeout(1000) });
const first: Hazard | undefined = list[0];
const after: number = list.change;
const leftOut: number | null = list.possible;
if (leftOut) await client.active({ bbox: [9, 53, 10, 54], possible: true });
for await (const event of client.events(after, { severity: "WARNING" })) {
  const change: Change = event.data;
  console.log(event.reset, change.hazard?.hazard_Name, first?.uuid);
}
try {
  await client.hazard(1, { at: new Date() });
} catch (e) {
  if (e instanceof HazarddError && e.kind === "not found") console.log(e.retryAfter);
}
// @ts-expect-error a misspelled option
new Client("https://hazards.example.org", { user: "ann" });
