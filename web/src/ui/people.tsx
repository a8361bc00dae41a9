// What happens where, the people in the area of a hazard, and its importance, loaded when a panel is opened.
import type { Schemas } from "../api";
import type { Hazard } from "../model";
import { speed } from "../measures";
import { language, listed, number, text } from "../words";
import { usePage } from "./context";
import { forMembers } from "./later";
import { Loading, useData } from "./parts";
import "./people.css";

const Assets = forMembers(async () => (await import("./assets")).Assets);
const Story = forMembers(async () => (await import("./story")).Story);

/** An estimate: more than two digits would suggest a precision that it does not have. */
const about = (n: number): string => number(n, { maximumSignificantDigits: 2 });

/** Towns that are named at most. */
const TOWNS = 8;

/**
 * The bands that are told, the worst first: shaking by whole degrees, as the map draws it, and of bands where nobody lives only the widest, if nobody lives
 * in any.
 */
export function told<B extends Pick<Schemas["Exposure"]["bands"][number], "kind" | "value" | "people" | "high">>(bands: readonly B[]): readonly B[] {
  const whole = bands.filter((b) => b.kind !== "intensity" || b.value! % 1 === 0);
  const some = whole.filter((b) => b.people !== 0 || b.high);
  return some.length ? some : whole.slice(-1);
}

export function People({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const state = useData(`${h.hazard_ID} people ${h.update_Date}/${h.last_Update}/${language().id}`, async (signal) => {
    const [importance, answer] = await Promise.all([
      store.api.get<"/hazards/{hazard-id}/importance">(`/hazards/${h.hazard_ID}/importance?lang=${language().id}`, { signal }),
      store.api.request(`/hazards/${h.hazard_ID}/exposure?lang=${language().id}`, { signal }),
    ]);
    return { importance, counted: answer.status === 200, exposure: (await answer.json()) as Schemas["Exposure"] };
  });
  return (
    <Loading state={state}>
      {({ importance: i, counted, exposure: e }) => {
        const towns = e.places.filter((t) => t.inside);
        const bands = told(e.bands).flatMap(({ kind, value, people, low, high }) => {
          const words = kind === "wind_kmh" ? text.people.wind : kind === "intensity" ? text.people.intensity : undefined;
          if (!words || value == null || people === null) return [];
          const n = people || high ? text.people.about({ n: about(people), low: about(low ?? people), high: about(high ?? people) }) : number(0);
          return [`${words({ value: kind === "wind_kmh" ? speed(value) : number(value) })}: ${n}`];
        });
        return (
          <>
            <Story h={h} e={e} version={version} />
            <dl class="facts">
              <dt>{text.people.there}</dt>
              <dd>
                {!counted
                  ? (
                    <>
                      {text.people.counting} <button type="button" class="small" onClick={state.retry}>{text.panel.retry}</button>
                    </>
                  )
                  : e.people === null && bands.length > 0
                  ? bands.map((words) => <p key={words}>{words}</p>)
                  : e.people === null
                  ? (
                    <>
                      {text.people.unknown} {e.why && <span class="muted">{e.why}</span>}
                    </>
                  )
                  : text.people.about({ n: about(e.people), low: about(e.low ?? e.people), high: about(e.high ?? e.people) })}
                {e.regions.length > 0 && <p class="muted" dir="auto">{e.regions_text}</p>}
                {towns.length > 0 && <p class="muted">{text.people.towns({ names: listed(towns.slice(0, TOWNS).map((t) => t.name)) })}</p>}
              </dd>
              {i.importance !== null && (
                <>
                  <dt>{text.people.importance}</dt>
                  <dd>
                    {text.people.of({ n: number(i.importance) })} <span class="muted" lang={i.language}>{i.reason}</span>
                  </dd>
                </>
              )}
            </dl>
            {e.assets_text && <Assets list={e.assets} words={e.assets_text} />}
          </>
        );
      }}
    </Loading>
  );
}
