// Code that is loaded later comes over a network that may be gone for a moment.
import { browser, pauseAfter, type Surroundings } from "./live";

/** What load gives, which is tried again until it comes; undefined: `over` came first. `failed` hears of each failure. */
export async function again<T>(load: () => Promise<T>, failed: () => void, over: AbortSignal, around: Surroundings = browser): Promise<T | undefined> {
  for (let failures = 0; !over.aborted; failures++) {
    try {
      return await load();
    } catch {
      if (over.aborted) break;
      failed();
      await around.pause(pauseAfter(failures, around.random()), over);
    }
  }
  return undefined;
}
