// The hazard that a question is about, as it is shown. It follows the live record: what changes
// while the question is open is shown, and has to be read before the yes counts.
import { useEffect, useState } from "preact/hooks";
import { Problem, type Api } from "../api";
import type { Hazard } from "../model";
import { usePage } from "../ui/context";
import { clashes, hazardNames, type Clash } from "./draft";
import { explain } from "./inputs";
import { readHazard, record, type HazardState } from "./remote";

export interface Shown {
  /** As it was read last; undefined: not yet. */
  readonly state: HazardState | undefined;
  readonly h: Hazard | undefined;
  /** The ETag of what is shown; "" while it is being read. */
  readonly tag: string;
  /** Why it could not be read. */
  readonly note: string;
  /** What others changed since the question was opened, or since `seen`. */
  readonly changed: readonly Clash[];
  readonly seen: () => void;
  readonly look: () => void;
}

/** How often a write is repeated on a state that shows nothing else. */
const AGAIN = 3;

/** Reads a hazard, and again whenever the page hears that it has changed; undefined: none is chosen. */
export function useShown(id: number | undefined): Shown {
  const { store } = usePage();
  const [now, setNow] = useState<{ readonly state: HazardState; readonly version: string }>();
  const [first, setFirst] = useState<HazardState>();
  const [note, setNote] = useState("");
  const [looks, setLooks] = useState(0);
  const over = store.elsewhere.value?.hazard;
  const live = id === undefined ? undefined : store.live.value.get(id) ?? (over?.hazard_ID === id ? over : undefined);
  const version = live ? `${live.update_Date} ${live.last_Update} ${live.severity_ID}` : "";
  useEffect(() => {
    if (id === undefined) return;
    const over = new AbortController();
    setNote("");
    readHazard(store.api, id, over.signal).then(
      (state) => {
        setNow({ state, version });
        setFirst((before) => (before?.h.hazard_ID === id ? before : state));
      },
      (error: unknown) => !over.signal.aborted && setNote(explain(error)),
    );
    return () => over.abort();
  }, [id, version, looks]);
  const state = now?.state.h.hazard_ID === id ? now?.state : undefined;
  return {
    state,
    h: state?.h,
    tag: state && now?.version === version ? state.tag : "",
    note,
    changed: state && first?.h.hazard_ID === id ? clashes(record(first!), record(state), {}, hazardNames) : [],
    seen: () => setFirst(state),
    look: () => setLooks(looks + 1),
  };
}

/**
 * Does a write on the state that is shown. `write` gets its ETag. Should the hazard have changed in
 * what is not shown, such as the number of its products, the write is repeated on the new state.
 */
export async function onShown<T>(api: Api, shown: Shown, write: (tag: string) => Promise<T>): Promise<T> {
  let { tag } = shown;
  for (let again = 0;; again++) {
    try {
      return await write(tag);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 412) || again === AGAIN || !shown.state) throw error;
      const now = await readHazard(api, shown.state.h.hazard_ID);
      if (clashes(record(shown.state), record(now), {}, hazardNames).length > 0 || now.tag === tag) throw error;
      tag = now.tag;
    }
  }
}
