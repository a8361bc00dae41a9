// The parts that the forms are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { DraftedError, LoggedOutError, LostError, Problem, type Schemas } from "../api";
import { categoryName, severity, severityName, typeName } from "../model";
import { local } from "../time";
import type { Geometry } from "geojson";
import type { Clash, Faults } from "./draft";
import { rounded, squareKilometres } from "../geometry";
import { byId, words } from "../words";
import "./edit.css";

export interface Attributes {
  readonly id: string;
  readonly name: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
  readonly required?: boolean;
}

/** An input with its label, its help and its error. */
export function Field(
  { name, label, faults, hint, required, children, class: more = "" }: {
    name: string;
    label?: string;
    faults: Faults;
    hint?: string | undefined;
    required?: boolean;
    children: (a: Attributes) => ComponentChildren;
    class?: string;
  },
) {
  const id = `edit-${name}`;
  const fault = faults[name];
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ") || undefined;
  return (
    <div class={`field ${more}`}>
      <label for={id}>
        {label ?? byId(words.field, name)}
        {required && <Required />}
      </label>
      {children({ id, name, "aria-invalid": fault !== undefined, "aria-describedby": described })}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      <Fault id={`${id}-fault`} words={fault} />
    </div>
  );
}

/** The mark of a required field. */
export const Required = () => (
  <>
    <span class="required" aria-hidden="true">*</span>
    <span class="sr">({words.required})</span>
  </>
);

export const Fault = ({ id, words }: { id?: string; words: string | undefined }) => (words ? <p class="fault" id={id}>{words}</p> : null);

/** A dialog over the page; Escape and `close` end it. The focus stays in it, and goes back where it was. */
export function Dialog({ title, close, children, class: name = "" }: { title: string; close: () => void; children: ComponentChildren; class?: string }) {
  const root = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const back = document.activeElement;
    root.current?.showModal();
    root.current?.querySelector("h2")?.focus(); // not the first button: nothing is done by a key that was held
    const dialog = root.current;
    return () => {
      dialog?.close(); // return the focus to the page below
      if (back instanceof HTMLElement && back.isConnected) back.focus();
    };
  }, []);
  return (
    <dialog
      ref={root}
      class={`dialog ${name}`}
      aria-labelledby="dialog-title"
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onKeyDown={(e) => e.stopPropagation()}
    >
      <h2 id="dialog-title" tabIndex={-1}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Describes an error for the author. */
export function explain(error: unknown): string {
  if (error instanceof LostError) return words.lost;
  if (error instanceof Problem) return words.failed({ why: error.detail });
  if (error instanceof LoggedOutError) return "";
  if (error instanceof DraftedError) return `${words.drafted} ${reachOf(error.draft)}`;
  console.error(error);
  return String(error);
}

/** Whom a draft would reach, in words. */
export function reachOf(d: Schemas["Draft"]): string {
  const { people, subscribers } = d.reach;
  return `${people === undefined ? words.reachUnknown : words.reachPeople({ n: people })} ${words.reachSubscribers({ n: subscribers })}`;
}

/** A value of a field as people read it. */
export function told(field: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return words.nothing;
  const s = String(value);
  if (typeof value === "object") return "size" in value ? told(field, `${rounded(Number(value.size))} km²`) : "type" in value ? `${rounded(squareKilometres(value as Geometry))} km²` : words.changed;
  if (field.endsWith("_Date") && /^-?\d+$/.test(s)) return local(Number(s));
  switch (field) {
    case "severity_ID":
      return severityName(severity(s));
    case "category_ID":
      return categoryName(s);
    case "type_ID":
      return typeName(s);
    case "status":
      return byId(words.states, s) ?? s;
    case "autoexpire":
    case "is_Hidden":
      return byId(words.yes, s) ?? s;
    case "security_Flag":
      return byId(words.security, s) ?? s;
    default:
      return s.length > 300 ? `${s.slice(0, 300)} …` : s;
  }
}

/** What changed, without a choice. */
export function Changes({ list }: { list: readonly Clash[] }) {
  return (
    <ul class="clash-list">
      {list.map((c) => (
        <li key={c.field}>
          <strong>{byId(words.field, c.field) ?? c.field}</strong>: <del>{told(c.field, c.before)}</del> <span aria-hidden="true">→</span> <ins>{told(c.field, c.now)}</ins>
        </li>
      ))}
    </ul>
  );
}

/**
 * The changes of others during editing. For fields changed by both, the editor chooses; the rest is
 * merged.
 */
export function Clashes(
  { list, by, chosen, choose }: { list: readonly Clash[]; by: string; chosen: Readonly<Record<string, "mine" | "theirs">>; choose: (field: string, whose: "mine" | "theirs") => void },
) {
  const open = list.filter((c) => c.mine !== undefined);
  const taken = list.filter((c) => c.mine === undefined);
  const root = useRef<HTMLElement>(null);
  useEffect(() => root.current?.focus(), []);
  return (
    <section class="clashes" ref={root} tabIndex={-1} aria-label={words.clash({ n: list.length })}>
      <p role="alert">
        <strong>{words.clash({ n: list.length })}</strong> {by && words.by({ who: by })}
      </p>
      {open.map((c) => (
        <fieldset key={c.field}>
          <legend>{byId(words.field, c.field) ?? c.field}</legend>
          <p class="muted">{words.clashBefore}: {told(c.field, c.before)}</p>
          {(["theirs", "mine"] as const).map((whose) => (
            <label key={whose} class="clash-choice">
              <input type="radio" name={`clash-${c.field}`} checked={chosen[c.field] === whose} onChange={() => choose(c.field, whose)} />
              <span>
                {whose === "mine" ? words.clashUseMine : words.clashUseTheirs}: <strong>{told(c.field, whose === "mine" ? c.mine : c.now)}</strong>
              </span>
            </label>
          ))}
        </fieldset>
      ))}
      {taken.length > 0 && (
        <>
          <p class="muted">{words.clashTook}:</p>
          <Changes list={taken} />
        </>
      )}
    </section>
  );
}
