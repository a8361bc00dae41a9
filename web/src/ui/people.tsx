// The importance of a hazard and the people in its area, loaded when a panel is opened.
import type { Schemas } from "../api";
import { Fragment } from "preact";
import { isDrill, type Hazard } from "../model";
import { away, byImportance } from "../order";
import { short } from "../time";
import { language, listed, locale, number, text } from "../words";
import { usePage } from "./context";
import { forMembers } from "./later";
import { Loading, Section, useData } from "./parts";

const Assets = forMembers(async () => (await import("./assets")).Assets);

/** An estimate: more than two digits would suggest a precision that it does not have. */
const about = (n: number): string => number(n, { maximumSignificantDigits: 2 });

const speed = (kmh: number): string => number(Math.round(kmh), { style: "unit", unit: "kilometer-per-hour" });

/** Within this distance, in meters, later earthquakes are counted with one. It does not say that they are its aftershocks. */
const WITHIN = 100_000;

/** Other earthquakes near one since it was, of those that the map has. */
function Quakes({ h }: { h: Hazard }) {
  const page = usePage();
  const { store } = page;
  if (h.type_ID !== "EARTHQUAKE") return null;
  const later = [...store.shown.value.values()]
    .filter((o) => o.type_ID === h.type_ID && o !== h && isDrill(o) === isDrill(h) && Number(o.start_Date) >= Number(h.start_Date) && away(o, [h.longitude, h.latitude]) <= WITHIN)
    .sort(byImportance(store.importance.places.value));
  const first = later[0];
  return first
    ? (
      <p>
        {text.people.quakes({ n: later.length, km: number(WITHIN / 1000) })}{" "}
        <button type="button" class="link" onClick={() => page.open(first, { zoom: true })}>
          <bdi>{page.summaries.of(first)?.headline ?? first.hazard_Name}</bdi>
        </button>
      </p>
    )
    : null;
}

/** Towns that are named at most. */
const TOWNS = 8;

export function People({ h }: { h: Hazard }) {
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
        const bands = e.bands.flatMap(({ kind, value, people, low, high }) => {
          const words = kind === "wind_kmh" ? text.people.wind : kind === "intensity" ? text.people.intensity : undefined;
          if (!words || value == null || people === null) return [];
          const n = text.people.about({ n: about(people), low: about(low ?? people), high: about(high ?? people) });
          return [`${words({ value: kind === "wind_kmh" ? speed(value) : number(value) })}: ${n}`];
        });
        return (
          <>
            <dl class="facts">
              {i.importance !== null && (
                <>
                  <dt>{text.people.importance}</dt>
                  <dd>
                    {text.people.of({ n: number(i.importance) })} <span class="muted" lang={i.language}>{i.reason}</span>
                  </dd>
                </>
              )}
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
            </dl>
            {e.arrivals && e.arrivals.length > 0 && (
              <Section title={text.people.expected} count={e.arrivals.length} open>
                <dl class="facts">
                  {e.arrivals.map((a) => (
                    <Fragment key={`${a.town ?? ""} ${a.by}`}>
                      <dt>
                        <time dateTime={a.by}>{short(Date.parse(a.by))}</time>
                      </dt>
                      <dd>
                        <bdi>{a.town ?? new Intl.DisplayNames(locale(), { type: "region" }).of(a.country) ?? a.country}</bdi>:{" "}
                        {a.value === undefined ? text.people.ashore : text.people.windOrMore({ value: speed(a.value) })}
                      </dd>
                    </Fragment>
                  ))}
                </dl>
              </Section>
            )}
            <Quakes h={h} />
            {e.assets_text && <Assets list={e.assets} words={e.assets_text} />}
          </>
        );
      }}
    </Loading>
  );
}
