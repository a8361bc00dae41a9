// What a hazard did and will do, by its type: when a storm or a wave comes where, what was forecast and what came, which towns an earthquake shook and which
// others followed, how a fire grew. It is loaded with the people of an open panel.
import type { FeatureCollection, Geometry } from "geojson";
import { Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Schemas } from "../api";
import { drawStory } from "../map/story";
import { isDrill, type Hazard } from "../model";
import { away, byImportance } from "../order";
import { storyOf, type Issue, type Story as Told } from "../story";
import { short } from "../time";
import { burnt, speed } from "../measures";
import { far } from "../units";
import { drawn, listed, locale, number, text } from "../words";
import { usePage } from "./context";
import { Icon, Loading, Section, useData } from "./parts";
import "./story.css";

/** Within this distance, in meters, later earthquakes are listed with one. It does not say that they are its aftershocks. */
const WITHIN = 100_000;
const QUAKES = 5;

const country = (code: string): string => (code && new Intl.DisplayNames(locale(), { type: "region" }).of(code)) || code;

export function Story({ h, e, version }: { h: Hazard; e: Schemas["Exposure"]; version: string }) {
  return (
    <>
      {e.arrivals && e.arrivals.length > 0 && <Arrivals list={e.arrivals} />}
      {e.shaking && e.shaking.length > 0 && <Shaking list={e.shaking} />}
      {h.type_ID === "EARTHQUAKE" && <Quakes h={h} />}
      {h.type_ID === "CYCLONE" && <Forecasts h={h} version={version} />}
      {h.type_ID === "WILDFIRE" && <Growth h={h} version={version} />}
    </>
  );
}

type Arrival = NonNullable<Schemas["Exposure"]["arrivals"]>[number];

/** What comes where, in order of time: towns with one wind at one time together. */
function Arrivals({ list }: { list: readonly Arrival[] }) {
  const groups = new Map<string, Arrival[]>();
  for (const a of list) {
    const key = `${a.by} ${a.coast ?? a.value ?? ""}`;
    groups.set(key, [...(groups.get(key) ?? []), a]);
  }
  return (
    <Section title={text.people.expected} open>
      <dl class="facts">
        {[...groups].map(([key, of]) => (
          <Fragment key={key}>
            <dt>
              <time dateTime={of[0]!.by}>{short(Date.parse(of[0]!.by))}</time>
            </dt>
            <dd>{arrivals(of)}</dd>
          </Fragment>
        ))}
      </dl>
    </Section>
  );
}

function arrivals(of: readonly Arrival[]) {
  const { coast, observed, value } = of[0]!;
  if (coast) return observed ? <strong dir="auto">{coast}</strong> : <span dir="auto">{coast}</span>;
  return (
    <>
      {value === undefined ? text.people.ashore : text.people.windOrMore({ value: speed(value) })}: <bdi>{listed(of.map((a) => a.town ?? country(a.country)))}</bdi>
    </>
  );
}

function Shaking({ list }: { list: NonNullable<Schemas["Exposure"]["shaking"]> }) {
  return (
    <Section title={drawn.story.shaking} count={list.length} open>
      <dl class="facts">
        {list.map((s) => (
          <Fragment key={`${s.town} ${s.lon} ${s.lat}`}>
            <dt>
              <bdi>{s.town}</bdi>
            </dt>
            <dd>
              {s.text} ({number(Math.round(s.intensity))})
            </dd>
          </Fragment>
        ))}
      </dl>
      {list.some((s) => s.estimated) && <p class="muted">{drawn.story.estimated}</p>}
    </Section>
  );
}

/** Other earthquakes near one since it was, of those that the map has. */
function Quakes({ h }: { h: Hazard }) {
  const page = usePage();
  const { store } = page;
  const later = [...store.shown.value.values()]
    .filter((o) => o.type_ID === h.type_ID && o !== h && isDrill(o) === isDrill(h) && Number(o.start_Date) >= Number(h.start_Date) && away(o, [h.longitude, h.latitude]) <= WITHIN)
    .sort(byImportance(store.importance.places.value));
  if (later.length === 0) return null;
  return (
    <section class="story-quakes">
      <p>{text.people.quakes({ n: later.length, km: number(WITHIN / 1000) })}</p>
      <ul>
        {later.slice(0, QUAKES).map((o) => (
          <li key={o.hazard_ID}>
            <button type="button" class="link" onClick={() => page.open(o, { zoom: true })}>
              <bdi>{page.summaries.of(o)?.headline ?? o.hazard_Name}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How long a forecast stays while they play, milliseconds. */
const STAY = 1_200;
/** A forecast for so long ahead is one of the next day, milliseconds. */
const DAY = 20 * 3_600_000;

/** From forecast to forecast of a storm: what was expected, beside what came. */
function Forecasts({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const [open, setOpen] = useState(false);
  const state = useData(
    open ? `${h.hazard_ID} forecasts ${version}` : undefined,
    (signal) => store.api.geo<FeatureCollection<Geometry, Schemas["ShapeFeature"]["properties"]>>(`/hazards/${h.hazard_ID}/shapes?earlier=true&role=position`, signal),
  );
  const story = useMemo(() => state.data && storyOf(state.data.features), [state.data]);
  return (
    <Section title={drawn.story.title} open={open} onToggle={setOpen}>
      {open && <Loading state={state}>{() => (story && story.issues.length > 0 ? <Play story={story} /> : <p class="muted">{drawn.story.none}</p>)}</Loading>}
    </Section>
  );
}

function Play({ story }: { story: Told }) {
  const { map, theme } = usePage();
  // It begins with the forecast of the day before, of which there is something to compare.
  const last = story.issues.length - 1;
  const [at, setAt] = useState(() => Math.max(0, story.issues.filter((i) => i.places.some((p) => p.came && p.forecast.at - i.issued > DAY)).length - 1));
  const [playing, setPlaying] = useState(false);
  const issue = story.issues[Math.min(at, last)]!;
  const view = map.value;
  const dark = theme.value === "dark";
  useEffect(() => (view ? drawStory(view, story, issue, dark) : undefined), [view, story, issue, dark]);
  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setPlaying(false);
    const timer = setTimeout(() => setAt(at + 1), STAY);
    return () => clearTimeout(timer);
  }, [playing, at]);
  const named = drawn.story.issued({ when: short(issue.issued), source: issue.source });
  return (
    <div class="story-play">
      <div>
        <button
          type="button"
          class="icon-button"
          aria-label={playing ? text.time.pause : text.time.play}
          onClick={() => {
            if (!playing && at >= last) setAt(0);
            setPlaying(!playing);
          }}
        >
          <Icon name={playing ? "pause" : "play"} />
        </button>
        <input
          type="range"
          min={0}
          max={last}
          step={1}
          value={at}
          aria-label={drawn.story.title}
          aria-valuetext={named}
          onInput={(e) => {
            setPlaying(false);
            setAt(Number(e.currentTarget.value));
          }}
        />
      </div>
      <p>
        <strong>{named}</strong>
      </p>
      <p class="muted">
        <svg width="30" height="8" aria-hidden="true">
          <path d="M1 4H29" stroke="currentColor" stroke-width="1.6" stroke-dasharray="5 4" />
        </svg>{" "}
        {drawn.story.dashed}{" "}
        <svg width="30" height="8" aria-hidden="true">
          <path d="M1 4H29" stroke="currentColor" stroke-width="3" />
        </svg>{" "}
        {drawn.story.solid}
      </p>
      <dl class="facts">
        {issue.places.map((p) => (
          <Fragment key={p.forecast.at}>
            <dt>
              <time dateTime={new Date(p.forecast.at).toISOString()}>{short(p.forecast.at)}</time>
            </dt>
            <dd>{said(p)}</dd>
          </Fragment>
        ))}
      </dl>
    </div>
  );
}

function said({ forecast, came, off }: Issue["places"][number]): string {
  const expected = forecast.wind === undefined ? "" : speed(forecast.wind);
  if (!came || off === undefined) return [expected, drawn.story.ahead].filter(Boolean).join(" · ");
  const wind = forecast.wind === undefined || came.wind === undefined ? "" : drawn.story.wind({ said: expected, was: speed(came.wind) });
  return [drawn.story.off({ km: far(off) }), wind].filter(Boolean).join(" · ");
}

const STEPS = 12;

/** How a fire grew, by what sources measured of it. */
function Growth({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const { data } = useData(`${h.hazard_ID} growth ${version}`, (signal) => store.api.get<"/hazards/{hazard-id}/measurements">(`/hazards/${h.hazard_ID}/measurements?earlier=true`, { signal }));
  const all = (data ?? []).filter((m) => m.name === "burnt_area_ha" && m.value > 0 && m.time);
  const source = all.at(-1)?.source; // another one measures in another way
  const steps = all.filter((m) => m.source === source).slice(-STEPS);
  if (steps.length < 2) return null;
  const most = Math.max(...steps.map((m) => m.value));
  return (
    <Section title={drawn.story.growth} count={steps.length} open>
      <dl class="facts story-growth">
        {[...steps].reverse().map((m) => (
          <Fragment key={`${m.time} ${m.value}`}>
            <dt>
              <time dateTime={m.time}>{short(Date.parse(m.time!))}</time>
            </dt>
            <dd style={{ "--part": `${(100 * m.value) / most}%` }}>{burnt(m.value, drawn.story.hectares)}</dd>
          </Fragment>
        ))}
      </dl>
    </Section>
  );
}
