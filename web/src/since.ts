// When the map was last viewed in this browser, stored only here, and what has changed since.
import { signal } from "@preact/signals";
import { between, type Hazards } from "./diff";
import { isDrill, type Hazard } from "./model";

const STORED = "hazardd.looked";

function stored(): number | undefined {
  try {
    const at = Number(localStorage.getItem(STORED));
    return at > 0 ? at : undefined;
  } catch {
    return undefined;
  }
}

/**
 * When the map was viewed before the present visit, in milliseconds by the server's clock;
 * undefined if unknown.
 */
export const lastLook = signal(stored());

/**
 * Records views regularly while the page is visible, and when it is hidden. `heard` returns when
 * the server last responded, because later changes were not seen. Returns a function that stops it.
 */
export function rememberLooks(heard: () => number | undefined): () => void {
  const keep = () => {
    const at = heard();
    if (at === undefined) return;
    try {
      localStorage.setItem(STORED, String(Math.round(at)));
    } catch {
      // The next visit knows nothing of this one.
    }
  };
  const seen = () => {
    if (document.visibilityState === "visible") lastLook.value = stored();
    else keep();
  };
  const timer = setInterval(() => document.visibilityState === "visible" && keep(), 60_000);
  document.addEventListener("visibilitychange", seen);
  window.addEventListener("pagehide", keep);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
    window.removeEventListener("pagehide", keep);
  };
}

/** Hazards, drills left out. */
export interface News {
  readonly came: readonly Hazard[];
  readonly changed: readonly Hazard[];
  /** As they were. */
  readonly ended: readonly Hazard[];
}

/** What came, changed and ended between two states. */
export function newsBetween(before: readonly Hazard[], now: Hazards): News {
  const same = (h: Hazard, as: Hazard | undefined) => as?.update_Date === h.update_Date && (as.brief || as.last_Update === h.last_Update);
  const then = new Map(before.map((h) => [h.hazard_ID, same(h, now.get(h.hazard_ID)) ? now.get(h.hazard_ID)! : h]));
  const { added, changed, removed } = between(then, now);
  const real = (list: readonly Hazard[]) => list.filter((h) => !isDrill(h));
  return { came: real(added), changed: real(changed.map((c) => c.to)), ended: real(removed) };
}
