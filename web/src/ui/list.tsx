// The list beside the map: the same hazards as text, also for readers who cannot see a map.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { fold, isFiltering, type Filter } from "../filter";
import { trust } from "../freshness";
import { briefOf, severity, typeName, type Hazard, type Summary } from "../model";
import { away, moments } from "../order";
import { byId, lands, language, number, text } from "../words";
import { local, relative, zoneOf } from "../time";
import { nearest } from "../towns";
import { orders, type Order } from "../url";
import { far, size } from "../units";
import { usePage } from "./context";
import { Ago, Badge, DrillTag, kindOf, Symbol } from "./parts";

/** Rows that are made at first, more than a screen shows: the map waits for them; and at once when more are wanted: thousands would be slow, and nobody reads them. */
const FIRST = 14;
const PAGE = 60;
/** Rows on paper. */
const PRINTED = 300;

export function List() {
  const page = usePage();
  const { store } = page;
  const real = store.listed.value;
  const drills = store.listedExercises.value;
  const selected = store.selected.value;
  const hovered = store.hovered.value;
  const fresh = store.fresh.value;
  const [limit, setLimit] = useState(FIRST);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const root = useRef<HTMLUListElement>(null);
  const end = useRef<HTMLButtonElement>(null);
  const f = store.filter.value;
  useEffect(() => setLimit(FIRST), [f, store.everywhere.value]);
  useEffect(() => {
    if (!end.current) return;
    const seen = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setLimit((n) => n + PAGE), { rootMargin: "300px" });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [limit, real.length + drills.length > limit]);

  // One row is in the order of the Tab key: the one that was last there, the selected one, or the first.
  const most = page.printing.value ? Math.max(limit, PRINTED) : limit;
  const rows = real.slice(0, most);
  const drillRows = drills.slice(0, Math.max(0, most - real.length));
  const all = [...rows, ...drillRows];
  const rest = real.length + drills.length - all.length;
  const tab = all.find((h) => h.hazard_ID === cursor) ?? all.find((h) => h.uuid === selected) ?? all[0];
  function move(e: KeyboardEvent) {
    const buttons = [...(root.current?.querySelectorAll<HTMLElement>(".row") ?? [])];
    const here = buttons.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1, PageDown: Math.min(here + 8, buttons.length - 1), PageUp: Math.max(here - 8, 0) }[e.key];
    if (to === undefined || !buttons[to]) return;
    e.preventDefault();
    buttons[to]!.focus();
  }
  // A focused row that goes, or moves, takes the focus with it.
  const active = document.activeElement;
  const place = active?.matches(".row") ? [...(root.current?.querySelectorAll(".row") ?? [])].indexOf(active) : -1;
  useLayoutEffect(() => {
    if (place < 0 || document.activeElement !== document.body) return;
    const buttons = root.current?.querySelectorAll<HTMLElement>(".row") ?? [];
    const to = active!.isConnected ? active as HTMLElement : buttons[Math.min(place, buttons.length - 1)] ?? document.getElementById("list");
    to?.focus({ preventScroll: true });
  });
  const line = (h: Hazard) => (
    <Row
      key={h.hazard_ID}
      h={h}
      selected={h.uuid === selected}
      hovered={h.hazard_ID === hovered}
      fresh={fresh.get(h.hazard_ID)?.kind}
      here={store.here.value.has(h)}
      tab={h === tab}
      onFocus={() => setCursor(h.hazard_ID)}
    />
  );
  return (
    <>
      <ListHead />
      <Uncovered />
      <Unplaced />
      {!store.loaded.value && !store.past.value && <First />}
      {rows.length === 0 && !(onlyDrills(f) && drillRows.length > 0) && <Nothing alone={all.length === 0} />}
      {all.length > 0 && (
        <ul id="list" class="list" ref={root} tabIndex={-1} aria-label={text.list.title} onKeyDown={move}>
          {rows.map(line)}
          {drillRows.length > 0 && (
            <li class="list-drills">
              <p>
                <strong class="drill-tag">{text.drill.word}</strong> {text.drill.listed({ n: drills.length })}
              </p>
            </li>
          )}
          {drillRows.map(line)}
          {rest > 0 && (
            <li>
              {page.printing.value && <p class="print-part">{text.print.part({ n: all.length, all: all.length + rest })}</p>}
              <button type="button" class="more" ref={end} onClick={() => setLimit(limit + PAGE)}>
                {text.list.more({ n: rest })}
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

/** The most important hazards in short, until the list is there. */
function First() {
  const page = usePage();
  const first = page.summaries.first.value;
  if (!first?.length) return null;
  return (
    <ul class="list list-first" aria-label={text.list.title}>
      {first.filter((s) => s.category !== "EXERCISE").slice(0, FIRST).map((s) => {
        const h = { type_ID: s.type, category_ID: s.category, severity_ID: s.severity };
        return (
          <li key={s.hazard_ID}>
            <button type="button" class={`row sev-${severity(s.severity).id}`} onClick={() => page.open(briefOf(s))}>
              <Symbol h={h} size={44} />
              <span class="row-body">
                <Headline s={s} />
                <span class={`row-name ${says(s) ? "sr" : ""}`}>
                  <bdi>{s.name}</bdi>
                </span>
                <span class="row-meta">
                  <Badge id={s.severity} />
                  <PeopleThere s={s} />
                </span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Whether its headline says more than its name. */
const says = (s: Summary | undefined): s is Summary => s !== undefined && bare(s.headline) !== bare(s.name);

/** Whether its headline says of what type it is, in the reader's language: a name may be in another one. */
const namesKind = (s: Summary | undefined, h: Hazard): boolean => says(s) && fold(s.headline).includes(fold(typeName(h.type_ID)));

/** An estimate: more than two digits would suggest a precision that it does not have. */
function PeopleThere({ s }: { s: Summary | undefined }) {
  const { people } = s ?? {};
  return people ? <span>{text.list.people({ n: Number(people.toPrecision(2)) })}</span> : null;
}

/** A hazard in a sentence, if that says more than its name. */
function Headline({ s }: { s: Summary | undefined }) {
  if (!says(s)) return null;
  return (
    <span class="row-headline">
      <bdi>{s.headline}</bdi>
    </span>
  );
}

const bare = (s: string): string => s.replace(/[\s.。]+$/, "");

/** Whether nothing but drills is asked for: that nothing real is shown needs no word then. */
const onlyDrills = (f: Filter): boolean => f.categories.length === 1 && f.categories[0] === "EXERCISE";

function ListHead() {
  const { store } = usePage();
  const listed = store.listed.value.length;
  const matching = store.sorted.value.length;
  const all = store.real.value;
  const known = store.past.value ? store.past.value.state !== "failed" : store.loaded.value;
  return (
    <div class="list-head">
      <p role="status">
        <strong>
          {!known || store.past.value?.unrecorded
            ? text.list.unknown
            : store.everywhere.value || !store.bounds.value || listed === matching
            ? text.list.total({ n: matching })
            : text.list.inView({ n: listed, total: matching })}
        </strong>
        {isFiltering(store.filter.value) && <span class="muted">{` · ${text.list.matching({ n: matching, all })}`}</span>}
      </p>
      {document.querySelector('meta[name="hazardd-open"][content="public"]') && <a href={`./here?lang=${language().id}`}>{text.list.ask}</a>}
      <label class="sort">
        <span class="sr">{text.list.sort}</span>
        <select value={store.order.value} title={text.list.sort} onChange={(e) => (store.order.value = e.currentTarget.value as Order)}>
          {orders.map((o) => <option key={o} value={o}>{text.list.sorts[o]}</option>)}
        </select>
      </label>
      <label class="switch">
        <input type="checkbox" checked={!store.everywhere.value} onChange={(e) => (store.everywhere.value = !e.currentTarget.checked)} />
        <span>{text.filter.window}</span>
      </label>
    </div>
  );
}

/** What the list cannot show yet, if that may be more than it shows. */
function Unplaced() {
  const { store } = usePage();
  const n = store.unplaced.value;
  const failing = store.areas.failing.value;
  if (store.everywhere.value || n === 0 || !(failing || store.listed.value.length === 0)) return null;
  return <p class="list-note" role="status">{failing ? text.list.unplacedFailed({ n }) : text.list.unplaced({ n })}</p>;
}

/** That nobody is asked about this window. */
function Uncovered() {
  const { store } = usePage();
  if (store.everywhere.value || store.covered.value !== false) return null;
  return <p class="list-note caution" role="status">{text.list.uncovered}</p>;
}

/** Shown instead of rows of real hazards; with alone, instead of all rows. */
function Nothing({ alone }: { alone: boolean }) {
  const { store } = usePage();
  const past = store.past.value;
  // What could not be read must not look like "there is none".
  const known = past ? past.state === "ready" : store.loaded.value;
  const lost = store.connection.value.state === "lost";
  const words = past?.state === "failed" || past?.unrecorded
    ? past.note
    : !known
    ? lost && !past ? text.list.unread : text.list.loading
    : store.real.value === 0
    ? past ? text.time.none : text.list.noneAtAll
    : store.sorted.value.length === 0
    ? text.list.noneMatch
    : store.unplaced.value > 0
    ? ""
    : text.list.noneHere;
  return (
    <div id={alone ? "list" : undefined} class="nothing" tabIndex={-1}>
      <p>{words}</p>
      {(known || lost) && !past && <Worth />}
      {store.sorted.value.length > 0 && !store.everywhere.value && <button type="button" onClick={() => (store.everywhere.value = true)}>{text.list.showAll}</button>}
    </div>
  );
}

/** What a list without hazards is worth: why it may be wrong, or which sources say so, and when they did. */
function Worth() {
  const { store } = usePage();
  const c = store.connection.value;
  const worth = c.state === "lost" ? "lost" : trust(c.fresh.sources);
  const said = store.sources.value.filter((s) => s.state === "ok" && s.last_success);
  useEffect(() => void store.readSources(), []);
  return (
    <>
      {byId(text.list.none, worth) && (
        <p class="caution">
          <strong>{byId(text.list.none, worth)}</strong>
        </p>
      )}
      {said.length > 0 && (
        <p class="muted">
          {text.list.said} {said.map((s, i) => (
            <span key={s.name} title={s.title}>
              {i > 0 && ", "}
              {s.name} (<Ago at={Date.parse(s.last_success!)} />)
            </span>
          ))}
          .
        </p>
      )}
    </>
  );
}

/** A town that is farther, in meters, says less than the headline. */
const FAR = 100_000;
/** What is older says so, milliseconds. */
const HOUR = 3_600_000;

/** Distinguishes a hazard from others with the same name: place, size and distance; and when it was updated. */
function Facts({ h, said }: { h: Hazard; said: boolean }) {
  const page = usePage();
  const { store } = page;
  const m = moments(h);
  const known = store.areas.knownAs(h);
  const near = !known && nearest(page.towns.value, [h.longitude, h.latitude]);
  const km2 = store.areas.size(h);
  const from = store.me.value ?? (store.order.value === "distance" ? store.from.value : undefined);
  const facts = [
    known && text.list.only({ known: lands(known) }),
    near && !(said && near.metres > FAR) && !fold(h.hazard_Name).includes(fold(near.town.name))
      ? (near.metres < 5_000
        ? text.list.at({ town: near.town.name })
        : text.list.near({ distance: far(near.metres), direction: byId(text.list.directions, String(near.direction))!, town: near.town.name }))
      : "",
    km2 === undefined ? "" : size(km2),
    from && !known ? (store.areas.contains(h, ...from) ? text.list.here : text.list.away({ distance: far(away(h, from)) })) : "",
  ].filter(Boolean);
  if (said && facts.length === 0 && store.around.value - m.updated < HOUR) return null;
  return (
    <span class="row-facts">
      {facts.map((fact, i) => <bdi key={i}>{fact}{" · "}</bdi>)}
      <Ago at={m.updated} of={h} />
    </span>
  );
}

/** When it ends, or is expected to. */
export function Until({ h }: { h: Hazard }) {
  const { store, printing, summaries } = usePage();
  const m = moments(h);
  // An earthquake is past: its end is that of its display. Nor is an end told that only the service has set: the headline says "until further notice".
  if (!(m.end > m.start) || h.type_ID === "EARTHQUAKE" || summaries.of(h)?.ends === null) return null;
  const when = printing.value ? local(m.end, undefined, zoneOf(h)) : relative(m.end, store.around.value);
  return <span>{(m.over < Infinity ? text.list.ends : text.list.expected)({ when })}</span>;
}

/** From this importance on a row says what to do. */
const URGENT = 70;

/** The first sentence. */
const first = (words: string): string => /^[^]*?[.!?。！？](?=\s|$|[^\p{ASCII}])/u.exec(words)?.[0] ?? words;

/** What to do, of what matters most. */
function ToDo({ h, s, rank }: { h: Hazard; s: Summary | undefined; rank: number | undefined }) {
  const { said } = usePage();
  const wanted = rank !== undefined || (s?.importance ?? 0) >= URGENT;
  useEffect(() => {
    if (wanted) said.want(h);
  }, [wanted, h]);
  const what = wanted && first(said.of(h)?.instruction ?? "");
  return what
    ? (
      <span class="row-do">
        <span aria-hidden="true">{language().dir === "rtl" ? "←" : "→"}</span>
        <bdi>{what}</bdi>
      </span>
    )
    : null;
}

function Row(
  { h, selected, hovered, fresh, here, tab, onFocus }: { h: Hazard; selected: boolean; hovered: boolean; fresh: "new" | "raised" | undefined; here: boolean; tab: boolean; onFocus: () => void },
) {
  const page = usePage();
  const s = severity(h.severity_ID);
  const summary = page.summaries.of(h);
  const rank = page.ranks.value.get(h.hazard_ID);
  return (
    <li>
      <button
        type="button"
        class={`row sev-${s.id} ${selected ? "selected" : ""} ${hovered ? "hovered" : ""} ${h.category_ID === "EXERCISE" ? "is-drill" : ""}`}
        aria-current={selected ? "true" : undefined}
        tabIndex={tab ? 0 : -1}
        onFocus={onFocus}
        onClick={() => page.open(h)}
        onDblClick={() => page.open(h, { zoom: true })}
        onMouseEnter={() => (page.store.hovered.value = h.hazard_ID)}
        onMouseLeave={() => (page.store.hovered.value = undefined)}
      >
        <span class="row-symbol">
          <Symbol h={h} size={44} />
          {rank !== undefined && <span class="rank">{number(rank)}</span>}
        </span>
        <span class="row-body">
          <Headline s={summary} />
          <span class={`row-name ${says(summary) && h.category_ID !== "EXERCISE" ? "sr" : ""}`}>
            <DrillTag h={h} />
            <bdi>{h.hazard_Name}</bdi>
          </span>
          <ToDo h={h} s={summary} rank={rank} />
          <span class="row-meta">
            <Badge id={h.severity_ID} />
            {(!namesKind(summary, h) || h.category_ID === "EXERCISE") && <span class="row-kind">{kindOf(h)}</span>}
            <Until h={h} />
            <PeopleThere s={summary} />
          </span>
          <Facts h={h} said={says(summary)} />
        </span>
        {here && <span class="here" title={text.list.hereLong}>{text.list.here}</span>}
        {fresh && <span class="fresh">{text.list.fresh[fresh]}</span>}
      </button>
    </li>
  );
}
