// In the list of sources: the reports that are held for an editor's decision.
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../api";
import { usePage } from "../ui/context";
import { explain } from "./inputs";
import { words } from "../words";

type HeldReport = Schemas["HeldReport"];

export function Held() {
  const { store, editing } = usePage();
  const [list, setList] = useState<readonly (HeldReport & { source: string })[]>([]);
  const [note, setNote] = useState("");
  const [count, setCount] = useState(0);
  const allowed = editing.allowed.value;
  useEffect(() => {
    if (!allowed) return;
    const over = new AbortController();
    store.api.get<"/sources">("/sources", { signal: over.signal }).then(
      (sources) => setList(sources.flatMap((s) => s.held.map((h) => ({ ...h, source: s.name })))),
      () => {}, // the table above says that it cannot be read
    );
    return () => over.abort();
  }, [count, allowed]);
  if (!allowed || list.length === 0) return null;
  async function decide(h: HeldReport & { source: string }, decision: "released" | "dismissed") {
    setNote("");
    try {
      await store.api.write("POST", `/sources/${encodeURIComponent(h.source)}/held/${h.id}`, { decision });
      setCount(count + 1);
    } catch (error) {
      setNote(explain(error));
    }
  }
  return (
    <section class="held" aria-label={words.held}>
      <h3>{words.held}</h3>
      <ul>
        {list.map((h) => (
          <li key={`${h.source} ${h.id}`}>
            <p>
              <strong>{h.name || h.event}</strong> <span class="muted">{h.source}: {h.reason}</span>
            </p>
            <button type="button" class="small" aria-label={words.releaseLong({ name: h.name || h.event })} onClick={() => void decide(h, "released")}>{words.release}</button>{" "}
            <button type="button" class="small" aria-label={words.dismissLong({ name: h.name || h.event })} onClick={() => void decide(h, "dismissed")}>{words.dismiss}</button>
          </li>
        ))}
      </ul>
      <p role="alert" class="fault">{note}</p>
    </section>
  );
}
