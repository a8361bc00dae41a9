// What the signs on the map mean.
import { useEffect, useState } from "preact/hooks";
import { categories, categoryName, severities, severityName, typeName, types } from "../model";
import { middleOf, unstated, type Told } from "../unstated";
import { number, text } from "../words";
import { usePage } from "./context";
import { forMembers } from "./later";
import { IconButton, SeverityMark, Symbol } from "./parts";
import "./legend.css";

const LayerChoice = forMembers(async () => (await import("./layers")).LayerChoice);
const AssetChoice = forMembers(async () => (await import("./assets")).AssetChoice);

/** For which types the middle of the map has nobody. */
function Nobody() {
  const { store } = usePage();
  const [told, setTold] = useState<Told | "failed">();
  const bounds = store.bounds.value;
  const at = bounds && middleOf(bounds);
  useEffect(() => {
    setTold(undefined);
    if (!at) return;
    const over = new AbortController();
    const ask = async () => setTold((await (await store.api.request(`/coverage?point=${at}`, { signal: over.signal })).json()) as Told);
    void ask().catch(() => over.signal.aborted || setTold("failed"));
    return () => over.abort();
  }, [at]);
  return (
    <>
      <h3>{text.legend.nobody}</h3>
      <p class="muted">{told === "failed" || !at ? text.list.unknown : told ? unstated(types, told).map(typeName).join(", ") || "–" : "…"}</p>
    </>
  );
}

export function Legend() {
  const page = usePage();
  return (
    <section class="legend" aria-label={text.legend.title}>
      <header>
        <h2>{text.legend.title}</h2>
        <IconButton icon="close" label={text.close} onClick={() => (page.legendOpen.value = false)} />
      </header>
      {document.querySelector('meta[name="hazardd-layers"]') && <LayerChoice />}
      <h3>{text.legend.severity}</h3>
      <ul>
        {[...severities].reverse().map((s) => (
          <li key={s.id}>
            <Symbol h={{ type_ID: "INCIDENT", category_ID: "EVENT", severity_ID: s.id }} size={26} />
            <span class={`badge sev-${s.id}`}>
              <SeverityMark id={s.id} />
              {severityName(s)}
            </span>
            <span class={`swatch area-${s.id}`} aria-hidden="true" />
          </li>
        ))}
      </ul>
      <h3>{text.legend.category}</h3>
      <ul class="two">
        {categories.map((c) => (
          <li key={c}>
            <Symbol h={{ type_ID: "INCIDENT", category_ID: c, severity_ID: "INFORMATION" }} size={26} />
            {categoryName(c)}
            {c === "EXERCISE" && <span class="drill-tag">{text.drill.word}</span>}
          </li>
        ))}
      </ul>
      <p class="legend-gap">
        <span class="swatch" aria-hidden="true" /> {text.legend.gap}
      </p>
      <Nobody />
      {(page.api.user?.orgs.length ?? 0) > 0 && <AssetChoice />}
      <h3>{text.legend.cluster}</h3>
      <p class="cluster-sample" aria-hidden="true">
        <Symbol h={{ type_ID: "FLOOD", category_ID: "EVENT", severity_ID: "WARNING" }} size={36} />
        <b>+{number(8)}</b>
      </p>
    </section>
  );
}
