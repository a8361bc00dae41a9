// All that is known of the selected hazard.
import { useEffect, useRef, useState } from "preact/hooks";
import { Follow } from "../follow";
import { HazardActions, MergedHere, SplitButton } from "../edit/parts";
import { isDrill, severity, type Hazard, type Report, type Source } from "../model";
import { fold, matcher } from "../filter";
import { calm, languageOf, reflow, webAddress } from "../prose";
import { byId, lands, language, text } from "../words";
import { position } from "../position";
import { deviceZone, relative, zoneOf } from "../time";
import { usePage } from "./context";
import { forMembers, later } from "./later";
import { Until } from "./list";
import { Badge, Icon, IconButton, kindOf, Loading, Prose, Section, Symbol, useData, When } from "./parts";
import { Products } from "./products";

const History = later(async () => (await import("./history")).History);
const Drawn = forMembers(async () => (await import("./drawn")).Drawn);
const Pictures = later(async () => (await import("./pictures")).Pictures);
const People = later(async () => (await import("./people")).People);

export function Panel() {
  const page = usePage();
  const { store } = page;
  const uuid = store.selected.value;
  const [tall, setTall] = useState(false);
  const h = store.selectedHazard.value;
  const missing = uuid !== undefined && (h?.brief ?? !h) && (store.loaded.value || store.past.value !== undefined);
  useEffect(() => {
    if (missing) void store.findSelected();
  }, [missing, uuid]);
  if (!uuid) return null;
  const note = store.elsewhere.value?.uuid === uuid ? store.elsewhere.value.note : "";
  return (
    <section class={`panel ${tall ? "tall" : ""}`} id="panel" aria-label={text.panel.label}>
      <button type="button" class="sheet-handle" aria-expanded={tall} aria-label={tall ? text.panel.smaller : text.panel.larger} onClick={() => setTall(!tall)}>
        <span />
      </button>
      {h ? <Content key={h.hazard_ID} h={h} /> : (
        <div class="panel-missing">
          <IconButton icon="close" label={text.close} onClick={() => page.close()} class="panel-close" />
          <p>{note || text.panel.loading}</p>
        </div>
      )}
    </section>
  );
}

function Content({ h }: { h: Hazard }) {
  const page = usePage();
  const { store } = page;
  const title = useRef<HTMLHeadingElement>(null);
  const focus = page.focusPanel.value;
  const focused = useRef(0);
  useEffect(() => {
    if (focus > focused.current) title.current?.focus({ preventScroll: true });
    focused.current = focus;
  }, [focus]);
  const version = `${h.update_Date}/${h.last_Update}/${store.productChanges.value.get(h.hazard_ID) ?? 0}`;
  const reports = useData<readonly Report[]>(`${h.hazard_ID} ${version}`, (signal) => store.api.get<"/hazards/{hazard-id}/reports">(`/hazards/${h.hazard_ID}/reports`, { signal }));
  const said = languageOf(h, reports.data ?? []);
  const at = store.past.value?.at;
  useEffect(() => page.said.want(h, at), [h.hazard_ID, h.update_Date, at, language()]);
  useEffect(() => {
    if (reports.data?.length) void store.readSources(); // their states stand beside their names
  }, [reports.data]);
  const headline = page.said.of(h, at)?.headline ?? (at === undefined ? page.summaries.of(h)?.headline : undefined);
  const over = h.status !== "A" && !store.past.value;
  const hidden = !over && !matcher(store.filter.value)(h);
  const follows = h.status === "A" && !store.past.value;
  const [known, setKnown] = useState(!follows);
  useEffect(() => {
    if ((known || !follows) && !h.brief) page.opening.value = false;
  }, [known, follows, h.brief]);
  return (
    <>
      {isDrill(h) && (
        <p class="drill-strip">
          <strong>{text.drill.word}</strong> {text.drill.panel}
        </p>
      )}
      <header class={`panel-head ${over ? "" : `level sev-${severity(h.severity_ID).id}`}`}>
        <Symbol h={h} size={52} />
        <div>
          <h2 ref={title} tabIndex={-1} dir="auto">
            {headline && <span class="lead">{headline}</span>}
            {!(headline && fold(headline).includes(fold(h.hazard_Name))) && <span class={headline ? "panel-name" : ""} lang={said}>{h.hazard_Name}</span>}
          </h2>
          <p class="panel-tags">
            <Badge id={h.severity_ID} />
            <span>{kindOf(h)}</span>
            {!over && <Until h={h} />}
          </p>
        </div>
        <IconButton icon="close" label={text.close} onClick={() => page.close()} class="panel-close" />
      </header>
      <div class="panel-body">
        {over && <Over h={h} />}
        {hidden && <p class="note">{text.panel.notShown}</p>}
        <MergedHere h={h} />
        <ToDo h={h} over={over} />
        {h.brief ? <p class="muted" role="status">{store.elsewhere.value?.note || text.panel.loading}</p> : <Description h={h} said={said} />}
        {!store.past.value && <People h={h} version={version} />}
        <Drawn h={h} version={version} />
        {!h.brief && <Times h={h} over={over} sources={sourcesOf(reports.data, store.sources.value)} />}
        {!store.past.value && <Pictures h={h} version={version} />}
        <Products h={h} version={version} />
        <Section title={text.panel.reports} count={reports.data?.length} open={false}>
          <Loading state={reports}>{(list) => <Reports h={h} list={list} />}</Loading>
        </Section>
        <History h={h} version={version} />
        {!h.brief && <HazardActions h={h} />}
        <p class="muted">{text.panel.numbers({ id: h.hazard_ID })}</p>
      </div>
      <footer class="panel-foot">
        <Actions h={h} known={follows ? () => setKnown(true) : undefined} />
      </footer>
    </>
  );
}

/** What to do. */
function ToDo({ h, over }: { h: Hazard; over: boolean }) {
  const { store, said } = usePage();
  const known = said.of(h, store.past.value?.at);
  return (
    <>
      {!over && known?.instruction
        ? (
          <section class="to-do" aria-labelledby="to-do">
            <h3 id="to-do">{text.panel.toDo}</h3>
            <p dir="auto">{known.instruction}</p>
          </section>
        )
        : !over && known && h.severity_ID === "WARNING" && <p class="muted">{text.panel.noInstruction}</p>}
    </>
  );
}

/** That it is over, why, and what counts now in its place. */
function Over({ h }: { h: Hazard }) {
  const page = usePage();
  const { api } = page.store;
  const end = useData(`${h.hazard_ID} over ${h.update_Date}`, async (signal) => {
    const { headers } = await api.request(`/hazards/${h.hazard_ID}`, { signal });
    const to = /\/hazards\/([\w-]+)>; rel="successor-version"/.exec(headers.get("Link") ?? "")?.[1];
    return { why: headers.get("Hazardd-End") ?? "", next: to && (await api.get<"/hazards/{hazard-id}">(`/hazards/${to}`, { signal })) };
  }).data;
  const why = end && byId(text.history.reasons, end.why);
  const next = end?.next;
  return (
    <p class="note">
      {text.panel.over} {why && <span class="muted">({why})</span>}
      {next && (
        <>
          <br />
          <strong>{text.panel.successor}</strong> <Badge id={next.severity_ID} />{" "}
          <button type="button" class="link" onClick={() => page.open(next, { zoom: true })}>
            <bdi>{next.hazard_Name}</bdi>
          </button>
        </>
      )}
    </p>
  );
}

/** The readers' actions for a hazard. */
function Actions({ h, known }: { h: Hazard; known: (() => void) | undefined }) {
  const page = usePage();
  const [copied, setCopied] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
    page.store.say(text.panel.shared, true);
    setTimeout(() => setCopied(false), 2_000);
  }
  const official = webAddress(h.snc_url);
  const own = `h/${h.uuid}`;
  return (
    <div class="actions">
      {known && <Follow key={h.uuid} h={h} known={known} />}
      <button type="button" onClick={() => page.withMap((map) => map.show(h, page.store.areas.bounds(h), true))}>
        <Icon name="target" /> {text.panel.zoom}
      </button>
      {/* Without https there is no clipboard. */}
      {globalThis.isSecureContext && (
        <button type="button" onClick={() => void copy()}>
          <Icon name="link" /> {copied ? text.panel.shared : text.panel.share}
        </button>
      )}
      <a class="button" href={`${own}?${new URLSearchParams({ lang: language().id, tz: zoneOf(h) ?? deviceZone() })}`} target="_blank" rel="noopener">
        <Icon name="page" /> {text.panel.page}
      </a>
      {official && !official.endsWith(`/${own}`) && (
        <a class="button" href={official} target="_blank" rel="noopener noreferrer">
          <Icon name="outside" /> {text.panel.official}
        </a>
      )}
    </div>
  );
}

function Times({ h, over, sources }: { h: Hazard; over: boolean; sources: readonly { name: string; source: Source | undefined }[] }) {
  const { store } = usePage();
  const known = store.areas.knownAs(h);
  return (
    <dl class="facts">
      <dt>{text.panel.starts}</dt>
      <dd>
        <When at={Number(h.start_Date)} of={h} />
      </dd>
      <dt>{over ? text.panel.ended : h.autoexpire === "Y" ? text.panel.ends : text.panel.expectedEnd}</dt>
      <dd>
        <When at={Number(over ? h.last_Update : h.end_Date)} of={h} />
      </dd>
      <dt>{text.panel.updated}</dt>
      <dd>
        <When at={Number(h.last_Update)} of={h} />
        {h.update_User && (
          <span class="muted">
            {` ${text.panel.by} `}
            <bdi>{h.update_User}</bdi>
          </span>
        )}
      </dd>
      <dt>{text.panel.position}</dt>
      <dd>{known ? text.list.only({ known: lands(known) }) : position(h.latitude, h.longitude, 3)}</dd>
      <dt>{text.panel.source}</dt>
      <dd>
        {sources.length === 0 && (h.creator || "–")}
        {sources.map(({ name, source }, i) => (
          <span key={name}>
            {i > 0 && ", "}
            <span title={source?.title}>{name}</span>
            {source?.state === "stale" && <strong class="warn-text">{` ${text.panel.stale}`}</strong>}
            {source?.state === "disabled" && <span class="muted">{` ${text.panel.disabled}`}</span>}
            {source?.last_success && <span class="muted">{` · ${relative(Date.parse(source.last_success), store.around.value)}`}</span>}
          </span>
        ))}
      </dd>
    </dl>
  );
}

function sourcesOf(reports: readonly Report[] | undefined, states: readonly Source[]) {
  const names = [...new Set((reports ?? []).map((r) => r.source))];
  return names.map((name) => ({ name, source: states.find((s) => s.name === name) }));
}

function Description({ h, said }: { h: Hazard; said: string | undefined }) {
  const written = reflow(h.description);
  const { summaries } = usePage();
  const words = calm(written, `${h.hazard_Name} ${summaries.of(h)?.headline ?? ""}`);
  return (
    <div class="prose" lang={said}>
      {words ? <Prose words={words} /> : <p class="muted">{text.panel.noDescription}</p>}
      {words !== written && (
        <details class="original">
          <summary>{text.panel.original}</summary>
          <p class="lines">{h.description}</p>
        </details>
      )}
    </div>
  );
}

function Reports({ h, list }: { h: Hazard; list: readonly Report[] }) {
  if (list.length === 0) return <p class="muted">{text.panel.noReports}</p>;
  return (
    <ul class="reports">
      {list.map((r) => {
        const link = webAddress(r.url);
        return (
          <li key={`${r.source} ${r.event}`}>
            <p class="report-head">
              <strong>{r.source}</strong> <Badge id={r.severity_ID} /> {r.level && <span class="muted">“{r.level}”</span>}
            </p>
            <p>
              {link
                ? (
                  <a href={link} target="_blank" rel="noopener noreferrer">
                    <bdi>{r.name}</bdi>
                  </a>
                )
                : <bdi>{r.name}</bdi>}
            </p>
            {r.joined && <p class="muted break">{text.panel.joined({ why: r.joined })}</p>}
            <SplitButton h={h} r={r} of={list.length} />
          </li>
        );
      })}
    </ul>
  );
}
