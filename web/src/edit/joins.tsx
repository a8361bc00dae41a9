// In the list of sources: joins made by rules, most doubtful first, to confirm or to split.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../api";
import { usePage } from "../ui/context";
import { number, words } from "../words";
import { explain } from "./inputs";

type Joined = Answer<"/joins">;
type Join = Joined["joins"][number];

/** How many are listed; decided ones make room for the next. */
const LISTED = 10;

export function Joins() {
  const page = usePage();
  const { store, editing } = page;
  const [list, setList] = useState<Joined>({ matched: 0, joins: [] });
  const [note, setNote] = useState({ said: "", fault: "" });
  const [count, setCount] = useState(0);
  const root = useRef<HTMLElement>(null);
  const allowed = editing.allowed.value;
  useEffect(() => {
    if (!allowed) return;
    const over = new AbortController();
    store.api.get<"/joins">(`/joins?state=doubtful&limit=${LISTED}`, { signal: over.signal }).then(
      (found) => {
        setList(found);
        if (count > 0) requestAnimationFrame(() => root.current?.querySelector<HTMLElement>("h3")?.focus()); // the button that was used is gone
      },
      (error: unknown) => !over.signal.aborted && setNote({ said: "", fault: explain(error) }),
    );
    return () => over.abort();
  }, [count, allowed]);
  if (!allowed || (list.joins.length === 0 && note.said === "" && note.fault === "")) return null;
  async function judge(j: Join, verdict: "same" | "different") {
    setNote({ said: "", fault: "" });
    try {
      await store.api.write("POST", `/joins/${j.id}`, { verdict });
      setNote({ said: (verdict === "same" ? words.joinKept : words.joinParted)({ name: j.hazard_Name }), fault: "" });
      setCount(count + 1);
    } catch (error) {
      setNote({ said: "", fault: explain(error) });
    }
  }
  return (
    <section class="held" aria-label={words.joins} ref={root}>
      <h3 tabIndex={-1}>{words.joins}</h3>
      <p class="muted">{words.joinsLong}</p>
      <ul>
        {list.joins.map((j) => {
          const h = store.shown.value.get(j.hazard_ID);
          const seconds = number(Math.round(j.seconds));
          return (
            <li key={j.id}>
              <p>
                {h
                  ? <button type="button" class="link join-name" title={words.joinOpen({ name: j.hazard_Name })} onClick={() => page.open(h, { zoom: true })}>{j.hazard_Name}</button>
                  : <strong>{j.hazard_Name}</strong>} <strong>{words.joinFits({ percent: number(Math.round(j.score * 100)) })}</strong>{" "}
                <span class="muted">
                  {words.joinPair({ source: j.event.source, event: j.event.event, otherSource: j.with.source, otherEvent: j.with.event })}:{" "}
                  {j.kilometers === undefined ? words.joinSeconds({ seconds }) : words.joinApart({ km: number(Math.round(j.kilometers)), seconds })}. <bdi>{j.reason}</bdi>
                </span>
              </p>
              <button type="button" class="small" aria-label={words.joinSameLong({ name: j.hazard_Name })} onClick={() => void judge(j, "same")}>{words.joinSame}</button>{" "}
              <button type="button" class="small" aria-label={words.joinDifferentLong({ name: j.hazard_Name })} onClick={() => void judge(j, "different")}>{words.joinDifferent}</button>
            </li>
          );
        })}
      </ul>
      {list.matched > list.joins.length && <p class="muted">{words.joinsMore({ n: list.matched - list.joins.length })}</p>}
      <p role="status">{note.said}</p>
      <p role="alert" class="fault">{note.fault}</p>
    </section>
  );
}
