// In the list of sources: the drafts that wait for a second person, with whom they would reach, to
// approve or refuse.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api";
import { categoryName, severity, severityName, typeName, type Hazard } from "../model";
import { local } from "../time";
import { usePage } from "../ui/context";
import { words } from "../words";
import { explain, reachOf } from "./inputs";

type Draft = Schemas["Draft"];

/** The polling interval for drafts in milliseconds; they are not pushed. */
const AGAIN = 15_000;

export function Drafts() {
  const page = usePage();
  const { store, editing } = page;
  const [list, setList] = useState<readonly Draft[]>([]);
  const [note, setNote] = useState({ said: "", fault: "" });
  const [count, setCount] = useState(0);
  const root = useRef<HTMLElement>(null);
  const allowed = editing.allowed.value;
  useEffect(() => {
    if (!allowed) return;
    const over = new AbortController();
    const ask = () =>
      store.api.get<"/drafts">("/drafts", { signal: over.signal }).then(
        setList,
        (error: unknown) => !over.signal.aborted && setNote({ said: "", fault: explain(error) }),
      );
    void ask().then(() => count > 0 && root.current?.querySelector<HTMLElement>("h3")?.focus()); // the button that was used is gone
    const timer = setInterval(() => void ask(), AGAIN);
    return () => {
      clearInterval(timer);
      over.abort();
    };
  }, [count, allowed]);
  if (!allowed || (list.length === 0 && note.said === "" && note.fault === "")) return null;
  async function decide(d: Draft, reason?: string) {
    setNote({ said: "", fault: "" });
    try {
      if (reason === undefined) {
        const h = await store.api.write<Hazard>("POST", `/drafts/${d.id}/approve`);
        store.take(h!);
      } else await store.api.write("POST", `/drafts/${d.id}/refuse`, { reason });
      setNote({ said: (reason === undefined ? words.draftApproved : words.draftRefused)({ name: d.hazard_Name }), fault: "" });
      setCount(count + 1);
    } catch (error) {
      setNote({ said: "", fault: explain(error) });
    }
  }
  return (
    <section class="held" aria-label={words.drafts} ref={root}>
      <h3 tabIndex={-1}>{words.drafts}</h3>
      <p class="muted">{words.draftsLong}</p>
      <ul>
        {list.map((d) => <One key={d.id} d={d} own={d.author === store.api.user?.name} decide={decide} />)}
      </ul>
      <p role="status">{note.said}</p>
      <p role="alert" class="fault">{note.fault}</p>
    </section>
  );
}

function One({ d, own, decide }: { d: Draft; own: boolean; decide: (d: Draft, reason?: string) => Promise<void> }) {
  const [reason, setReason] = useState<string | undefined>(undefined);
  const why = useRef<HTMLInputElement>(null);
  const asking = reason !== undefined;
  useEffect(() => why.current?.focus(), [asking]);
  return (
    <li>
      <p>
        <strong dir="auto">{d.hazard_Name}</strong> <span>{[severityName(severity(d.severity_ID)), typeName(d.type_ID), categoryName(d.category_ID)].join(" · ")}</span>
        <br />
        <strong>{reachOf(d)}</strong>
        <br />
        <span class="muted">{words.draftBy({ author: d.author, at: local(Date.parse(d.created)), until: local(Date.parse(d.expires)) })}</span>
      </p>
      <details>
        <summary>{words.draftRequest}</summary>
        <pre class="request" dir="ltr">{JSON.stringify(d.request, undefined, 2)}</pre>
      </details>
      {reason === undefined
        ? (
          <>
            {!own && <button type="button" class="small" aria-label={words.draftApproveLong({ name: d.hazard_Name })} onClick={() => void decide(d)}>{words.draftApprove}</button>}{" "}
            <button type="button" class="small" aria-label={words.draftRefuseLong({ name: d.hazard_Name })} onClick={() => setReason("")}>{words.draftRefuse}</button>
            {own && <span class="muted">{words.draftOwn}</span>}
          </>
        )
        : (
          <form
            onSubmit={(e) => {
              e.preventDefault();
              void decide(d, reason.trim());
            }}
          >
            <label>
              {words.draftReason} <input required ref={why} value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
            </label>{" "}
            <button type="submit" class="small">{words.draftRefuse}</button> <button type="button" class="small" onClick={() => setReason(undefined)}>{words.cancel}</button>
          </form>
        )}
    </li>
  );
}
