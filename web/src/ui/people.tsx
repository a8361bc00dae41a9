// How much a hazard matters beside others, and who lives where it is. It is read when a panel is opened.
import type { Schemas } from "../api";
import type { Hazard } from "../model";
import { listed, number, text } from "../words";
import { usePage } from "./context";
import { Loading, useData } from "./parts";

interface Feature {
  readonly type: string;
  readonly properties: { readonly importance: number | null; readonly importance_reason: string };
}

/** An estimate: more digits than two would claim what nobody knows. */
const about = (n: number): string => number(n, { maximumSignificantDigits: 2 });

/** Towns that are named at most. */
const TOWNS = 8;

export function People({ h }: { h: Hazard }) {
  const { store } = usePage();
  const state = useData(`${h.hazard_ID} people ${h.update_Date}/${h.last_Update}`, async (signal) => {
    const [feature, answer] = await Promise.all([
      store.api.geo<Feature>(`/hazards/${h.hazard_ID}`, signal),
      store.api.request(`/hazards/${h.hazard_ID}/exposure`, { signal }),
    ]);
    return { properties: feature.properties, exposure: answer.status === 200 ? ((await answer.json()) as Schemas["Exposure"]) : undefined };
  });
  return (
    <Loading state={state}>
      {({ properties: p, exposure: e }) => {
        const towns = (e?.places ?? []).filter((t) => t.inside);
        return (
          <dl class="facts">
            {p.importance !== null && (
              <>
                <dt>{text.people.importance}</dt>
                <dd>
                  {text.people.of({ n: number(p.importance) })} <span class="muted" lang="en" dir="ltr">{p.importance_reason}</span>
                </dd>
              </>
            )}
            <dt>{text.people.there}</dt>
            <dd>
              {!e
                ? (
                  <>
                    {text.people.counting} <button type="button" class="small" onClick={state.retry}>{text.panel.retry}</button>
                  </>
                )
                : e.people === null
                ? (
                  <>
                    {text.people.unknown} {e.why && <span class="muted" lang="en" dir="ltr">{e.why}</span>}
                  </>
                )
                : text.people.about({ n: about(e.people), low: about(e.low ?? e.people), high: about(e.high ?? e.people) })}
              {towns.length > 0 && <p class="muted">{text.people.towns({ names: listed(towns.slice(0, TOWNS).map((t) => t.name)) })}</p>}
            </dd>
          </dl>
        );
      }}
    </Loading>
  );
}
