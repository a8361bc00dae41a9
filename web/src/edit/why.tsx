// On a source's row: the question why a record of it is shown, or not, and its answer.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api";
import { local } from "../time";
import { usePage } from "../ui/context";
import { byId, text, words } from "../words";
import { Dialog, explain } from "./inputs";

type Explanation = Schemas["Explanation"];

export function WhyLink({ source }: { source: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="link" aria-label={words.whyTitle({ source })} onClick={() => setOpen(true)}>{words.why}</button>
      {open && <Why source={source} close={() => setOpen(false)} />}
    </>
  );
}

function Why({ source, close }: { source: string; close: () => void }) {
  const { store } = usePage();
  const [ref, setRef] = useState("");
  const [answer, setAnswer] = useState<readonly Explanation[]>();
  const [note, setNote] = useState("");
  const asked = useRef<AbortController>(undefined);
  useEffect(() => () => asked.current?.abort(), []);
  async function ask() {
    asked.current?.abort();
    const { signal } = (asked.current = new AbortController());
    setAnswer(undefined);
    setNote("");
    try {
      const found = await store.api.get<"/sources/{source-id}/why">(`/sources/${encodeURIComponent(source)}/why?${new URLSearchParams({ ref: ref.trim() })}`, { signal });
      if (!signal.aborted) setAnswer(found);
    } catch (error) {
      if (!signal.aborted) setNote(explain(error));
    }
  }
  return (
    <Dialog title={words.whyTitle({ source })} close={close}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void ask();
        }}
      >
        <label>
          {words.whyRef} <input type="text" required maxLength={500} dir="ltr" value={ref} onInput={(e) => setRef(e.currentTarget.value)} />
        </label>{" "}
        <button type="submit">{words.whyAsk}</button>
      </form>
      <div role="status">
        {answer?.length === 0 && <p>{words.whyNone}</p>}
        {answer && answer.length > 0 && (
          <ul>
            {answer.map((e, i) => (
              <li key={i}>
                <time dateTime={e.time}>{local(Date.parse(e.time))}</time>: <strong>{byId(words.whyResult, e.result) ?? e.result}</strong> <span lang="en" dir="auto">{e.rule}</span>{" "}
                {e.hazard && <a href={`hazards/${e.hazard}`} target="_blank" rel="noopener" dir="ltr">{e.hazard}</a>}
              </li>
            ))}
          </ul>
        )}
      </div>
      <p role="alert" class="fault">{note}</p>
      <button type="button" onClick={close}>{text.close}</button>
    </Dialog>
  );
}
