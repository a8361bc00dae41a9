// Which changes of a hazard's history can be taken back, and what stands against the others. The server decides; this says beforehand what it will.
import type { Change } from "../model";
import { text } from "../words";

/** What is offered beside a change: to take it back, or the reason why that is not possible. */
export type Undo =
  | { readonly kind: "merge" | "end" | "retract" }
  /** A split is taken back by a merge. */
  | { readonly kind: "split" }
  | { readonly kind: "not"; readonly why: string };

/** What can be done about change c, one of a hazard's history; undefined: nobody would look for it. `mine` says whether the user may write the hazard. */
export function undoOf(c: Change, history: readonly Change[], mine: boolean): Undo | undefined {
  const kind = kindOf(c);
  if (!kind) return undefined;
  const by = history.find((later) => later.undoes === c.change);
  if (by) return { kind: "not", why: text.edit.undone({ change: by.change }) };
  if (kind === "merge" || kind === "split") return mine ? { kind } : { kind: "not", why: text.edit.undoForeign };
  if (c.user === undefined) return { kind: "not", why: c.source ? text.edit.undoSource({ source: c.source }) : text.edit.undoTime };
  return mine ? { kind } : { kind: "not", why: text.edit.undoForeign };
}

function kindOf(c: Change): "merge" | "end" | "retract" | "split" | undefined {
  if (c.product) return undefined;
  if (c.type === "hazard.merged") return "merge";
  if (c.type === "hazard.split") return "split";
  if (c.retracted && !c.undoes) return "retract";
  return c.type === "hazard.expired" && !c.undoes ? "end" : undefined;
}

/** What a hazard's fields become again; those that only say when it was written are left out. */
export function returning(c: Change): readonly { readonly field: string; readonly before: unknown; readonly now: unknown; readonly mine: undefined }[] {
  return (c.fields ?? []).filter((f) => ["status", "severity_ID", "end_Date"].includes(f.field)).map((f) => ({ field: f.field, before: f.to, now: f.from, mine: undefined }));
}
