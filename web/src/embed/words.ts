// The widget's words come by themselves, and a file that does not come must not keep it blank: it is asked for again, and from the second time on
// the English words are taken in its place.
import type { Language } from "../words";

/** Milliseconds. */
const ANSWER = 8_000;
const LONGEST = 15_000;

/** The words that came, and the language that they are of. */
export async function wordsOf<W>(own: Language, english: Language, load: (l: Language) => Promise<W>, pause: (ms: number) => Promise<void>): Promise<readonly [Language, W]> {
  for (let wait = 1_000, all = [own];; wait = Math.min(2 * wait, LONGEST), all = [own, english]) {
    for (const l of all) {
      const words = await Promise.race([load(l).catch(() => undefined), pause(ANSWER)]);
      if (words) return [l, words];
    }
    await pause(wait);
  }
}
