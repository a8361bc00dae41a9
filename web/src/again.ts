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

const BEGUN = "hazardd-begun-again";

/**
 * Loads the page again, once the server answers, and not twice within five minutes: a browser may remember for the life of a page that a part of its
 * code did not come. It is for readers without a login, who lose nothing by it.
 */
export async function beginAgain(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(BEGUN) ?? 0) < 300_000) return;
  const answer = await fetch(location.pathname, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
  if (!answer?.ok) return;
  sessionStorage.setItem(BEGUN, String(Date.now()));
  location.reload();
}
