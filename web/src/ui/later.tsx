// Parts of the page that are loaded when they are first shown.
import type { ComponentType } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { again } from "../again";
import { text, wordsOf } from "../words";
import { PageContext } from "./context";

/** Whether the server has another version of the page by now: the parts of this one are gone. What the page shows is in its address. */
async function upgraded(): Promise<boolean> {
  try {
    const answer = await fetch("./", { headers: { Accept: "text/html" }, cache: "no-cache" });
    return answer.ok && !(await answer.text()).includes(import.meta.url.split("/").pop()!);
  } catch {
    return false;
  }
}

/**
 * A component whose code is loaded when it is first drawn. If loading fails, it says so, and
 * retries by itself and on a click.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | undefined;
  return function Later(props: P) {
    const [state, set] = useState<"loading" | "failed" | "here">("loading");
    const [tries, setTries] = useState(0);
    const page = useContext(PageContext); // none at the login
    useEffect(() => {
      if (state !== "failed" || !page) return;
      page.missing.value++;
      return () => {
        page.missing.value--;
      };
    }, [state]);
    useEffect(() => {
      if (found) return;
      const over = new AbortController();
      void again(load, () => set("failed"), over.signal).then((part) => {
        found ??= part;
        if (!over.signal.aborted) set("here");
      });
      return () => over.abort();
    }, [tries]);
    const Found = found;
    if (Found) return <Found {...props} />;
    if (state !== "failed") return null;
    return (
      <p class="note" role="alert">
        {text.panel.failed} <button type="button" class="small" onClick={() => void upgraded().then((is) => (is ? location.reload() : setTries(tries + 1)))}>{text.panel.retry}</button>
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
