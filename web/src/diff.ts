// What differs between two states of the hazards, so that only that is drawn.
import { severity, type Hazard } from "./model";

export type Hazards = ReadonlyMap<number, Hazard>;

export interface Diff {
  readonly added: readonly Hazard[];
  readonly changed: readonly { readonly from: Hazard; readonly to: Hazard }[];
  readonly removed: readonly Hazard[];
}

export const isEmpty = (d: Diff): boolean => d.added.length === 0 && d.changed.length === 0 && d.removed.length === 0;

/** Whether two records say the same. */
export function same(a: Hazard, b: Hazard): boolean {
  if (a === b) return true;
  const x = a as unknown as Record<string, unknown>;
  const y = b as unknown as Record<string, unknown>;
  for (const key of Object.keys(x)) if (x[key] !== y[key] && !(typeof x[key] === "object" && JSON.stringify(x[key]) === JSON.stringify(y[key]))) return false;
  return Object.keys(y).length === Object.keys(x).length;
}

/**
 * Merges a new list into the old state. An unchanged record stays the same object, so that its
 * views need no update.
 */
export function merge(before: Hazards, list: readonly Hazard[]): { readonly hazards: Hazards; readonly diff: Diff } {
  const hazards = new Map<number, Hazard>();
  const added: Hazard[] = [];
  const changed: { from: Hazard; to: Hazard }[] = [];
  for (const h of list) {
    const old = before.get(h.hazard_ID);
    const kept = old !== undefined && same(old, h);
    if (!old) added.push(h);
    else if (!kept) changed.push({ from: old, to: h });
    hazards.set(h.hazard_ID, kept ? old : h);
  }
  const removed = [...before.values()].filter((h) => !hazards.has(h.hazard_ID));
  const diff = { added, changed, removed };
  return { hazards: isEmpty(diff) ? before : hazards, diff };
}

/** Takes records over the old state, in the order in which they came: one that is no longer active leaves it. */
export function mergeSome(before: Hazards, list: readonly Hazard[]): { readonly hazards: Hazards; readonly diff: Diff } {
  const hazards = new Map(before);
  const touched = new Set<number>();
  for (const h of list) {
    const old = hazards.get(h.hazard_ID);
    if (h.status !== "A") {
      if (!old) continue;
      hazards.delete(h.hazard_ID);
    } else {
      if (old && same(old, h)) continue;
      hazards.set(h.hazard_ID, h);
    }
    touched.add(h.hazard_ID);
  }
  const diff = { added: [] as Hazard[], changed: [] as { from: Hazard; to: Hazard }[], removed: [] as Hazard[] };
  for (const id of touched) {
    const [from, to] = [before.get(id), hazards.get(id)];
    if (from && to) {
      if (same(from, to)) hazards.set(id, from);
      else diff.changed.push({ from, to });
    } else if (to) diff.added.push(to);
    else if (from) diff.removed.push(from);
  }
  return { hazards: isEmpty(diff) ? before : hazards, diff };
}

/** Differences between two states, each a set of the same objects. */
export function between(before: Hazards, after: Hazards): Diff {
  const added: Hazard[] = [];
  const changed: { from: Hazard; to: Hazard }[] = [];
  for (const [id, to] of after) {
    const from = before.get(id);
    if (!from) added.push(to);
    else if (from !== to) changed.push({ from, to });
  }
  return { added, changed, removed: [...before.values()].filter((h) => !after.has(h.hazard_ID)) };
}

/** Whether the change made the hazard more severe. */
export const raised = (from: Hazard, to: Hazard): boolean => severity(to.severity_ID).rank > severity(from.severity_ID).rank;

/** Whether the change made the hazard milder. */
export const lowered = (from: Hazard, to: Hazard): boolean => raised(to, from);

/** Whether what was told is a warning that is in force. */
export const isWarning = (n: { readonly hazard: Hazard; readonly kind: string }): boolean => n.hazard.severity_ID === "WARNING" && (n.kind === "new" || n.kind === "raised");
