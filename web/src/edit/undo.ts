// Which changes of a hazard's history can be undone, and why others cannot. The server decides;
// this predicts the result.
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
  if ("product" in c) return undefined;
  if (c.type === "hazard.merged") return "merge";
  if (c.type === "hazard.split") return "split";
  if (c.retracted && !c.undoes) return "retract";
  return c.type === "hazard.expired" && !c.undoes ? "end" : undefined;
}

/** The fields that an undo restores, without those that only say when the state was written. */
export function returning(c: Change): readonly { readonly field: string; readonly before: unknown; readonly now: unknown; readonly mine: undefined }[] {
  return (c.fields ?? []).filter((f) => ["status", "severity_ID", "end_Date"].includes(f.field)).map((f) => ({ field: f.field, before: f.to, now: f.from, mine: undefined }));
}
