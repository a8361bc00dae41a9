// Code that is loaded later comes over a network that may be gone for a moment.
import { browser, pauseAfter, type Surroundings } from "./live";

/**
 * What load gives, which is tried again until it comes; undefined: `over` came first. `failed` hears of each failure, and answers true if it is of
 * no use to try again.
 */
export async function again<T>(load: () => Promise<T>, failed: (error: unknown) => boolean | void, over: AbortSignal, around: Surroundings = browser): Promise<T | undefined> {
  for (let failures = 0; !over.aborted; failures++) {
    try {
      return await load();
    } catch (error) {
      if (over.aborted || failed(error)) break;
      await around.pause(pauseAfter(failures, around.random()), over);
    }
  }
  return undefined;
}
