// What the browser loads by itself for an element, a picture or a style sheet, it asks for once. Here
// it is asked for again until it comes, with pauses that grow.
import { browser, pauseAfter } from "./live";

const failures = new WeakMap<Element, number>();

async function retry(element: Element, renew: () => Element): Promise<void> {
  const n = failures.get(element) ?? 0;
  await browser.pause(pauseAfter(n, Math.random()), new AbortController().signal);
  if (element.isConnected) failures.set(renew(), n + 1);
}

function mend(element: EventTarget | null): void {
  if (element instanceof HTMLImageElement) {
    const { src } = element;
    if (/^https?:/.test(src)) void retry(element, () => (element.src === src && (element.src = src), element));
  } else if (element instanceof HTMLLinkElement && element.rel === "stylesheet") {
    void retry(element, () => {
      const again = element.cloneNode() as HTMLLinkElement;
      element.replaceWith(again);
      return again;
    });
  }
}

/** Begins, with the style sheets that have failed already. */
export function mendElements(): void {
  addEventListener("error", (e) => mend(e.target), true);
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')) if (!link.sheet) mend(link);
}
