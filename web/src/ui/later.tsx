// Parts of the page that are loaded when they are first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { text, wordsOf } from "../words";

/**
 * A component whose code is loaded when it is first drawn. If loading fails, it says so, and
 * retries on a click.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | undefined;
  return function Later(props: P) {
    const [state, set] = useState<"loading" | "failed" | "here">("loading");
    useEffect(() => {
      if (found || state !== "loading") return;
      let over = false;
      load().then(
        (part) => {
          found = part;
          if (!over) set("here");
        },
        () => !over && set("failed"),
      );
      return () => {
        over = true;
      };
    }, [state]);
    const Found = found;
    if (Found) return <Found {...props} />;
    if (state !== "failed") return null;
    return (
      <p class="note" role="alert">
        {text.panel.failed} <button type="button" class="small" onClick={() => set("loading")}>{text.panel.retry}</button>
      </p>
    );
  };
}

/**
 * The same for components with their own texts, which are loaded too: editing, subscriptions, the
 * place search, assets, and shapes of sources.
 */
const withWords = (part: "edit" | "tell" | "find" | "assets") => <P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> =>
  later(async () => (await Promise.all([load(), wordsOf(part)]))[0]);
export const forEditors = withWords("edit");
export const forSubscribers = withWords("tell");
export const forSearchers = withWords("find");
export const forMembers = withWords("assets");
