// Where editing begins: the buttons for editors in the header, in the panel, beside products and reports. Readers see none of them. What the
// buttons open is loaded when it is needed: forms.tsx.
import type { Change, Hazard, Product, Report } from "../model";
import { usePage } from "../ui/context";
import { changeName, Icon, IconButton, Menu } from "../ui/parts";
import { randomUUID } from "./state";
import { undoOf } from "./undo";
import { text } from "../words";

/** In the header: a new hazard, or a drill. Which of the two is decided here, and not again in the form. */
export function New() {
  const page = usePage();
  const { editing } = page;
  if (!editing.allowed.value) return null;
  const start = (drill: boolean, close: () => void) => {
    close();
    if (editing.dirty.peek()) return editing.leave();
    editing.start({ kind: "new", drill, uuid: randomUUID() });
  };
  return (
    <Menu
      class="new-menu"
      label={text.edit.newLong}
      title={text.edit.newLong}
      button={
        <>
          <Icon name="plus" />
          <span class="wide">{text.edit.new}</span>
        </>
      }
    >
      {(close) => (
        <>
          <button type="button" class="new-choice" onClick={() => start(false, close)}>
            <strong>{text.edit.newReal}</strong>
            <span class="muted">{text.edit.newRealLong}</span>
          </button>
          <button type="button" class="new-choice drill-choice" onClick={() => start(true, close)}>
            <strong>{text.edit.newDrill}</strong>
            <span>{text.edit.newDrillLong}</span>
          </button>
        </>
      )}
    </Menu>
  );
}

/** In the panel: the actions for the hazard. */
export function HazardActions({ h }: { h: Hazard }) {
  const { editing } = usePage();
  if (!editing.may(h)) return null;
  const ask = (kind: "end" | "response" | "retract" | "merge") => () => (editing.question.value = { kind, h });
  const active = h.status === "A";
  return (
    <div class="actions edit-actions" role="group" aria-label={text.edit.edit}>
      <button type="button" class="primary" onClick={() => editing.start({ kind: "edit", h })}>
        <Icon name="words" /> {text.edit.edit}
      </button>
      {active && h.category_ID === "EVENT" && <button type="button" onClick={ask("response")}>{text.edit.response}</button>}
      {active && <button type="button" onClick={ask("end")}>{text.edit.end}</button>}
      {active && <button type="button" onClick={ask("merge")}>{text.edit.merge}</button>}
      {h.severity_ID !== "TERMINATION" && <button type="button" onClick={ask("retract")}>{text.edit.retract}</button>}
    </div>
  );
}

const kinds = ["FOLDER_PRODUCT", "TEXT_PRODUCT", "URL_PRODUCT", "FILE_PRODUCT"] as const;
const icons = { FOLDER_PRODUCT: "folder", FILE_PRODUCT: "file", TEXT_PRODUCT: "words", URL_PRODUCT: "outside" } as const;

/** Below the products and in each folder: the actions to add a product. */
export function AddProduct({ h }: { h: Hazard }) {
  const { editing } = usePage();
  if (!editing.may(h)) return null;
  return (
    <div class="actions add-product" role="group" aria-label={text.edit.add}>
      <span class="muted">{text.edit.add}:</span>
      {kinds.map((type) => (
        <button type="button" key={type} onClick={() => editing.start({ kind: "product", h, type, parent: 0, product: undefined, uuid: randomUUID() })}>
          <Icon name={icons[type]} /> {text.edit.addKinds[type]}
        </button>
      ))}
    </div>
  );
}

/** Beside a product: change it, delete it. */
export function ProductTools({ h, p }: { h: Hazard; p: Product }) {
  const { editing, store } = usePage();
  // An editor may change products of the own organizations, whoever owns the hazard.
  if (!editing.may(p)) return null;
  return (
    <span class="tools">
      <IconButton
        icon="words"
        label={text.edit.editProduct({ title: p.title })}
        onClick={() => editing.start({ kind: "product", h, type: p.product_Type, parent: p.parent_ID, product: p, uuid: p.uuid })}
      />
      <IconButton
        icon="close"
        label={text.edit.removeProduct({ title: p.title })}
        onClick={() => {
          store.hovered.value = undefined;
          editing.question.value = { kind: "remove", h, product: p };
        }}
      />
    </span>
  );
}

/** Beside a report that was joined to others: undo that. */
export function SplitButton({ h, r, of }: { h: Hazard; r: Report; of: number }) {
  const { editing } = usePage();
  if (of < 2 || !editing.may(h)) return null;
  return <button type="button" class="small" onClick={() => (editing.question.value = { kind: "split", h, report: r })}>{text.edit.split}</button>;
}

/** Beside a change of a hazard's history: take it back, or why that cannot be done. */
export function UndoButton({ h, c, history }: { h: Hazard; c: Change; history: readonly Change[] }) {
  const { editing } = usePage();
  if (!editing.allowed.value) return null;
  const undo = undoOf(c, history, editing.may(h));
  if (!undo) return null;
  if (undo.kind === "not") return <p class="muted">{undo.why}</p>;
  if (undo.kind === "split") {
    return (
      <p>
        <span class="muted">{text.edit.undoSplitLong}</span>{" "}
        {h.status === "A" && <button type="button" class="small" onClick={() => (editing.question.value = { kind: "merge", h })}>{text.edit.undoSplit}</button>}
      </p>
    );
  }
  const { kind } = undo;
  return (
    <p>
      <button
        type="button"
        class="small"
        aria-label={text.edit.undoLong({ what: changeName(c), change: c.change })}
        onClick={() => (editing.question.value = { kind: "undo", h, change: c, undo: kind })}
      >
        {text.edit.undoChange}
      </button>
    </p>
  );
}

/**
 * In the panel of a hazard into which another was just merged: a link to the other, whose history
 * can undo the merge.
 */
export function MergedHere({ h }: { h: Hazard }) {
  const { editing, store } = usePage();
  const from = editing.merged.value.get(h.hazard_ID);
  if (!from) return null;
  return (
    <p class="note">
      {text.edit.mergedHere({ name: from.hazard_Name })} <button type="button" class="small" onClick={() => store.select(from.uuid)}>{text.edit.mergedGo}</button>
    </p>
  );
}
