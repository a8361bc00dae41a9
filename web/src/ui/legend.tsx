// What the signs on the map mean.
import { categories, severities } from "../model";
import { text } from "../text";
import { usePage } from "./context";
import { IconButton, SeverityMark, Symbol } from "./parts";

export function Legend() {
  const page = usePage();
  return (
    <section class="legend" aria-label={text.legend.title}>
      <header>
        <h2>{text.legend.title}</h2>
        <IconButton icon="close" label={text.close} onClick={() => (page.legendOpen.value = false)} />
      </header>
      <h3>{text.legend.severity}</h3>
      <ul>
        {[...severities].reverse().map((s) => (
          <li key={s.id}>
            <Symbol h={{ type_ID: "INCIDENT", category_ID: "EVENT", severity_ID: s.id }} size={26} />
            <span class={`badge sev-${s.id}`}><SeverityMark id={s.id} />{s.name}</span>
            <span class={`swatch area-${s.id}`} aria-hidden="true" />
          </li>
        ))}
      </ul>
      <h3>{text.legend.category}</h3>
      <ul class="two">
        {categories.map((c) => (
          <li key={c.id}>
            <Symbol h={{ type_ID: "INCIDENT", category_ID: c.id, severity_ID: "INFORMATION" }} size={26} />
            {c.name}
            {c.id === "EXERCISE" && <span class="drill-tag">{text.drill.word}</span>}
          </li>
        ))}
      </ul>
      <p class="legend-gap"><span class="swatch" aria-hidden="true" /> {text.legend.gap}</p>
      <h3>{text.legend.cluster}</h3>
      <p class="cluster-sample" aria-hidden="true">
        <span class="sev-WARNING mixed"><b>24</b><i>2 WRN</i></span>
        <span class="sev-WATCH"><b>8</b><i>WCH</i></span>
      </p>
    </section>
  );
}
