// The small parts that all others are made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { again } from "../again";
import { LoggedOutError, Problem } from "../api";
import { categoryName, isDrill, severity, severityCode, severityName, symbolAddress, typeName, type Change, type Hazard } from "../model";
import { pieces } from "../prose";
import { byId, number, text } from "../words";
import { local, relative, utc, zoneOf, type Placed } from "../time";
import { usePage } from "./context";

/** A hazard's symbol; its words stand beside it, so it is hidden from screen readers. */
export function Symbol({ h, size }: { h: Pick<Hazard, "type_ID" | "category_ID" | "severity_ID">; size: number }) {
  const [bad, setBad] = useState("");
  const address = symbolAddress(h);
  const s = severity(h.severity_ID);
  const drill = h.category_ID === "EXERCISE";
  return (
    <span class={`symbol ${drill ? "drill" : ""}`} aria-hidden="true" style={{ "--size": `${size}px` }}>
      {bad === address && <span class={`symbol-plain sev-${s.id}`}>{severityCode(s)}</span>}
      <img
        src={`${address}.svg`}
        width={size}
        height={size}
        alt=""
        hidden={bad === address}
        loading={bad === address || size < 44 ? "eager" : "lazy"}
        decoding="async"
        onLoad={() => bad && setBad("")}
        onError={() => setBad(address)}
      />
    </span>
  );
}

export function Badge({ id }: { id: string }) {
  const s = severity(id);
  return (
    <span class={`badge sev-${s.id}`}>
      <SeverityMark id={id} />
      {severityName(s)}
    </span>
  );
}

/** A shape for each severity, so that colour is not alone: from a dash to an exclamation mark in a full shape. */
export function SeverityMark({ id }: { id: string }) {
  const shapes: Record<string, JSX.Element> = {
    WARNING: <path d="M4 .5h4L11.5 4v4L8 11.5H4L.5 8V4zM6 3v3.6M6 8.2v1.2" />,
    WATCH: <path d="M6 .8 11.6 11H.4zM6 4.4v2.8M6 8.6v1" />,
    ADVISORY: <path d="M6 .6 11.4 6 6 11.4.6 6z" />,
    INFORMATION: <path d="M6 .8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 6 .8zM6 5.3v3.4M6 3.2v.9" />,
    TERMINATION: <path d="M2 6h8" />,
  };
  return (
    <svg class="mark" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" stroke-linecap="round">
      {shapes[severity(id).id]}
    </svg>
  );
}

export const kindOf = (h: Hazard): string => `${typeName(h.type_ID)}${h.category_ID === "EVENT" ? "" : ` · ${categoryName(h.category_ID)}`}`;

/** What a change did, in a word or two. */
export const changeName = (c: Change): string => (c.undoes ? text.history.undid({ change: c.undoes }) : c.retracted ? text.history.retracted : (byId(text.history.kinds, c.type) ?? c.type));

/** "EXERCISE", wherever a drill is named. */
export const DrillTag = ({ h }: { h: Hazard }) => (isDrill(h) ? <span class="drill-tag">{text.drill.word}</span> : null);

/** How long ago; the full time stands in its title. */
export function Ago({ at, of }: { at: number; of?: Placed | undefined }) {
  const { store, printing } = usePage();
  return (
    <time dateTime={iso(at)} title={`${local(at, undefined, zoneOf(of))} ${utc(at, undefined, zoneOf(of))}`}>
      {printing.value ? local(at, undefined, zoneOf(of)) : relative(at, store.around.value)}
    </time>
  );
}

/** Between parts that each stay on a line: the dot ends the line, and the next part begins another. */
const DOT = "\u00a0· ";

/** A time in the reader's or the hazard's zone, in UTC, and relative. */
export function When({ at, of }: { at: number; of?: Placed | undefined }) {
  const { store } = usePage();
  const other = utc(at, undefined, zoneOf(of));
  return (
    <time dateTime={iso(at)}>
      {local(at, undefined, zoneOf(of))}
      <span class="muted">
        {other && (
          <>
            {DOT}
            <span class="nowrap">{other}</span>
          </>
        )}
        {DOT}
        <span class="nowrap">{relative(at, store.around.value)}</span>
      </span>
    </time>
  );
}

export const iso = (at: number): string => (Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : "");

const icons = {
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  world: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM1.8 8h12.4M8 1.8c3.2 3.4 3.2 9 0 12.4M8 1.8c-3.2 3.4-3.2 9 0 12.4",
  play: "M5 3.2l7.5 4.8L5 12.8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.4V8l2.6 1.8",
  user: "M8 2.2a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4zM2.8 14c.4-3 2.4-4.4 5.2-4.4s4.8 1.4 5.2 4.4",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13",
  moon: "M13.4 9.8A5.8 5.8 0 0 1 6.2 2.6a5.8 5.8 0 1 0 7.2 7.2z",
  auto: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 1.8v12.4M8 4.5l4.5 2M8 8h6M8 11.5l4-1.5",
  search: "M7 2.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6zM10.6 10.6 14 14",
  layers: "M8 2 14.4 5.6 8 9.2 1.6 5.6zM2.6 8.4 8 11.4l5.4-3M2.6 11 8 14l5.4-3",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  left: "M10 4 6 8l4 4",
  right: "M6 4l4 4-4 4",
  target: "M8 3.4a4.6 4.6 0 1 1 0 9.2 4.6 4.6 0 0 1 0-9.2zM8 1v3M8 12v3M1 8h3M12 8h3",
  link: "M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2.4-2.4a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9.4 6.6a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.8-.8",
  page: "M4 1.8h5L12.4 5v9.2H4zM9 1.8V5h3.4M6 8h4.4M6 10.6h4.4",
  folder: "M1.8 4h4.4l1.4 1.6h6.6v7.2H1.8z",
  file: "M4 1.8h5L12.4 5v9.2H4zM9 1.8V5h3.4",
  words: "M3 4h10M3 7.2h10M3 10.4h6.4",
  lock: "M3.8 7.2h8.4v6.4H3.8zM5.4 7.2V5a2.6 2.6 0 0 1 5.2 0v2.2",
  outside: "M9.4 2.4h4.2v4.2M13.4 2.6 7.6 8.4M11.4 9.4v4.2H2.4v-9h4.2",
  me: "M13.6 2.4 9.4 13.8 7.6 8.4 2.2 6.6z",
  bell: "M8 1.8v1.2M4 11.4V7.4a4 4 0 0 1 8 0v4l1.2 1.2H2.8zM6.6 14.2h2.8",
  download: "M8 2v8M4.6 7 8 10.4 11.4 7M2.6 13.4h10.8",
  out: "M9.6 2.4H3v11.2h6.6M6.6 8h7M11 5.2 13.8 8 11 10.8",
};

export type IconName = keyof typeof icons;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
    <path d={icons[name]} />
  </svg>
);

/** A button with only an icon; its name is for screen readers and hover. */
export function IconButton(
  { icon, label, title = label, onClick, pressed, class: name = "" }: { icon: IconName; label: string; title?: string; onClick: () => void; pressed?: boolean; class?: string },
) {
  return (
    <button type="button" class={`icon-button ${name}`} aria-label={label} title={title} onClick={onClick} {...(pressed === undefined ? {} : { "aria-pressed": pressed })}>
      <Icon name={icon} />
    </button>
  );
}

/**
 * A button that opens something beneath it: closed by Escape, by a click elsewhere, or by leaving it. One that holds text
 * alone is `text`: the keyboard scrolls it.
 */
export function Menu(
  { label, button, children, class: name = "", title, text = false }: {
    label: string;
    button: ComponentChildren;
    children: ComponentChildren | ((close: () => void) => ComponentChildren);
    class?: string;
    title?: string;
    text?: boolean;
  },
) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event) => {
      if (!root.current?.contains(e.target as globalThis.Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  return (
    <div
      class={`menu ${name}`}
      ref={root}
      onKeyDown={(e) => {
        if (e.key === "Escape" && open) {
          e.stopPropagation();
          close();
        }
      }}
    >
      <button type="button" ref={opener} class="menu-button" aria-expanded={open} aria-haspopup="dialog" title={title} onClick={() => setOpen(!open)}>
        {button}
      </button>
      {open && (
        <div class="menu-body" role="dialog" aria-label={label} tabIndex={text ? 0 : undefined}>
          {typeof children === "function" ? children(close) : children}
        </div>
      )}
    </div>
  );
}

/** The result of a request. It is reloaded when the key changes, and stays during the reload; what fails is asked for again. */
export function useData<T>(key: string | undefined, read: (signal: AbortSignal) => Promise<T>): { data: T | undefined; failed: boolean; retry: () => void } {
  const [state, setState] = useState<{ of: string | undefined; data: T | undefined; failed: boolean }>({ of: undefined, data: undefined, failed: false });
  const [attempt, setAttempt] = useState(0);
  // What is of another thing is not shown, even until the answer comes: the part of the key before the space names the thing.
  const thing = (k: string | undefined) => k?.split(" ")[0];
  useEffect(() => {
    if (key === undefined) return;
    const over = new AbortController();
    const failed = (error: unknown): boolean => {
      setState((s) => ({ of: key, data: thing(s.of) === thing(key) ? s.data : undefined, failed: true }));
      return error instanceof LoggedOutError || (error instanceof Problem && error.status < 500 && error.status !== 429);
    };
    void again(async () => ({ data: await read(over.signal) }), failed, over.signal).then((got) => got && !over.signal.aborted && setState({ of: key, data: got.data, failed: false }));
    return () => over.abort();
  }, [key, attempt]);
  const mine = thing(state.of) === thing(key);
  return { data: mine ? state.data : undefined, failed: mine && state.failed, retry: () => setAttempt(attempt + 1) };
}

/** A source's text with line breaks and links for web addresses, never as HTML. */
export function Prose({ words }: { words: string }) {
  return (
    <p class="lines" dir="auto">
      {pieces(words).map((p, i) =>
        p.href ? <a key={i} href={p.href} target="_blank" rel="noopener noreferrer">{p.text}</a> : (
          p.text
        )
      )}
    </p>
  );
}

/** A part of the panel that can be folded. */
export function Section(
  { title, count, open, onToggle, children }: { title: string; count?: number | undefined; open: boolean; onToggle?: (open: boolean) => void; children: ComponentChildren },
) {
  return (
    <details class="section" open={open} onToggle={(e) => onToggle?.(e.currentTarget.open)}>
      <summary>
        <h3>
          {title}
          {count !== undefined && <span class="count">{number(count)}</span>}
        </h3>
        <Icon name="down" />
      </summary>
      <div class="section-body">{children}</div>
    </details>
  );
}

export function Loading<T>({ state, children }: { state: { data: T | undefined; failed: boolean; retry: () => void }; children: (data: T) => ComponentChildren }) {
  if (state.data !== undefined) return <>{children(state.data)}</>;
  if (!state.failed) return <p class="muted">{text.panel.loading}</p>;
  return (
    <p class="muted">
      {text.panel.failed} <button type="button" class="small" onClick={state.retry}>{text.panel.retry}</button>
    </p>
  );
}
