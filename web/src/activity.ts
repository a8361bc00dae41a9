// How many hazards were active at moments of the past, for the histogram of the slider.
import { freshness } from "./freshness";
import { LoggedOutError, Problem, type Answer, type Api } from "./api";

/** What was active at a moment, drills left out. */
export interface Activity {
  readonly hazards: number;
  readonly warnings: number;
}

/** Moments in a range. */
export const BARS = 24;
/** After a failure, milliseconds. */
const PAUSE = 5_000;

/**
 * The moments of a range that ends now, latest first, in milliseconds. They lie on a fixed grid, so
 * that results for a moment can be reused.
 */
export function moments(range: number, now: number): number[] {
  const step = range / BARS;
  const last = Math.floor(now / step) * step;
  return Array.from({ length: BARS }, (_, i) => last - i * step);
}

/**
 * Counts active hazards at moments, one request at a time, until the signal aborts. null means
 * unknown: the moment is before the first record, or the server no longer has its data.
 */
export async function countAt(api: Api, at: readonly number[], found: (at: number, a: Activity | null) => void, signal: AbortSignal): Promise<void> {
  const count = async (moment: number, more: string) => {
    const answer = await api.request(`/hazards/count?status=A&category=EVENT,RESPONSE,OTHER${more}&at=${new Date(moment).toISOString()}`, { signal });
    const { count: n } = (await answer.json()) as Answer<"/hazards/count">;
    return freshness(answer.headers).change === 0 ? undefined : n;
  };
  for (let i = 0; i < at.length && !signal.aborted;) {
    const moment = at[i]!;
    try {
      const hazards = await count(moment, "");
      found(moment, hazards === undefined ? null : { hazards, warnings: hazards === 0 ? 0 : (await count(moment, "&severity=WARNING")) ?? 0 });
      i++;
    } catch (error) {
      if (signal.aborted || error instanceof LoggedOutError) return;
      if (error instanceof Problem && error.status < 429) {
        found(moment, null);
        i++;
        continue;
      }
      await new Promise((resolve) => setTimeout(resolve, (error instanceof Problem && error.retryAfter ? error.retryAfter * 1000 : PAUSE) * (1 + Math.random())));
    }
  }
}
