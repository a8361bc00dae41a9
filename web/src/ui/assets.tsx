// The places of the reader's organizations: the choice whether the map shows them, and which of them a hazard reaches. It is loaded for members alone.
import type { Schemas } from "../api";
import { AssetLayer } from "../map/assets";
import { far } from "../units";
import { assets, number, text } from "../words";
import { usePage } from "./context";

/** Places that are listed at once. */
const SHOWN = 8;

/** In the legend: a switch for the layer, and its description. */
export function AssetChoice() {
  const page = usePage();
  const layer = page.assets.value;
  const state = layer?.state.value;
  return (
    <section class="asset-choice" aria-labelledby="asset-choice">
      <h3 id="asset-choice">{assets.title}</h3>
      <label>
        <input type="checkbox" checked={layer !== undefined} onChange={(e) => (e.currentTarget.checked ? new AssetLayer(page) : layer?.end())} /> {assets.show}
      </label>
      <p class="muted" role="status">
        {state === "reading" ? assets.reading : state === "failed" ? assets.failed : state && (state.more ? assets.cut : assets.shown)({ n: state.n })}
      </p>
      {layer && (
        <ul>
          <li>
            <span class="asset-mark" aria-hidden="true" /> {assets.one}
          </li>
          <li>
            <span class="asset-mark many" aria-hidden="true">{number(12)}</span> {assets.many}
          </li>
        </ul>
      )}
    </section>
  );
}

/** In the panel: those inside a hazard or near it, the nearest first. */
export function Assets({ list, words }: { list: readonly Schemas["Asset"][]; words: string }) {
  const item = (a: Schemas["Asset"]) => (
    <li key={`${a.organization} ${a.id} ${a.name} ${a.lon} ${a.lat}`}>
      <bdi>{a.name}</bdi>{" "}
      <span class="muted">
        {[a.kind, a.organization].filter(Boolean).map((s) => (
          <span key={s}>
            <bdi>{s}</bdi>
            {" · "}
          </span>
        ))}
        {a.inside ? assets.inside : text.list.away({ distance: far((a.distance_km ?? 0) * 1000) })}
      </span>
    </li>
  );
  const rest = list.slice(SHOWN);
  return (
    <dl class="facts">
      <dt>{assets.title}</dt>
      <dd>
        {words}
        <ul>{list.slice(0, SHOWN).map(item)}</ul>
        {rest.length > 0 && (
          <details>
            <summary>{assets.others({ n: rest.length })}</summary>
            <ul>{rest.map(item)}</ul>
          </details>
        )}
      </dd>
    </dl>
  );
}
