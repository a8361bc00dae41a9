// Under the header: the changes that wait for a second person, on every editor's screen, until they
// are decided; and the panel in which the second person reviews one.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Geometry } from "geojson";
import type { Hazard } from "../model";
import { severity, severityName, typeName } from "../model";
import { extent, rounded, squareKilometres } from "../geometry";
import { clock, local } from "../time";
import { usePage } from "../ui/context";
import { Badge, DrillTag, Symbol } from "../ui/parts";
import { text, words } from "../words";
import { Changes, Dialog, explain, reachOf } from "./inputs";
import { apart, differences, outcomeOf, type Draft } from "./pending";
import "./edit.css";

/** What waits; it has come when these parts are drawn. */
const useDrafts = () => usePage().editing.drafts.value!;

/** How many are shown before the rest is counted. */
const SHOWN = 3;

export function WaitingBar() {
  const drafts = useDrafts();
  const [all, setAll] = useState(false);
  const list = [...drafts.toDecide.value, ...drafts.list.value.filter(drafts.own)];
  const rest = all ? 0 : list.length - SHOWN;
  if (!drafts.any.value) return null;
  return (
    <section class="waiting" aria-label={words.drafts}>
      {drafts.fault.value !== undefined && <p class="waiting-one fault" role="alert">{words.draftsUnknown} {explain(drafts.fault.value)}</p>}
      <ul>
        {list.slice(0, all ? undefined : SHOWN).filter((d) => !drafts.own(d)).map((d) => <ToDecide key={d.id} d={d} />)}
        {drafts.decided.value.map((d) => <Outcome key={d.id} d={d} />)}
        {list.slice(0, all ? undefined : SHOWN).filter(drafts.own).map((d) => <Mine key={d.id} d={d} />)}
      </ul>
      {rest > 0 && <button type="button" class="small" onClick={() => setAll(true)}>{words.draftsMore({ n: rest })}</button>}
    </section>
  );
}

const Title = ({ d }: { d: Draft }) => (
  <>
    <Badge id={d.severity_ID} /> <DrillTag h={d as never} /> <strong dir="auto">{d.hazard_Name}</strong>
  </>
);

/** When a draft lapses: as a time, and as minutes in its last hour. */
function Lapses({ d }: { d: Draft }) {
  const { store } = usePage();
  const minutes = Math.max(0, Math.ceil((Date.parse(d.expires) - store.around.value) / 60_000));
  return minutes <= 60 ? <strong class="waiting-soon">{words.waitSoon({ n: minutes })}</strong> : <>{words.waitLapses({ at: local(Date.parse(d.expires)) })}</>;
}

function ToDecide({ d }: { d: Draft }) {
  const drafts = useDrafts();
  return (
    <li class="waiting-one waiting-mine">
      <p role="status">
        <strong class="waiting-head">{words.waitsForYou}</strong> <Title d={d} />{" "}
        <span>
          {words.waitBy({ author: apart(d.author), at: clock(Date.parse(d.created)) })} · <Lapses d={d} />
        </span>
      </p>
      <button type="button" class="danger" aria-label={words.reviewLong({ name: d.hazard_Name })} onClick={() => (drafts.open.value = d.id)}>{words.review}</button>
    </li>
  );
}

const names = (list: readonly string[]): string => list.slice(0, 5).map(apart).join(", ") + (list.length > 5 ? ` +${list.length - 5}` : "");

function Mine({ d }: { d: Draft }) {
  const page = usePage();
  const drafts = useDrafts();
  const [note, setNote] = useState("");
  const may = d.may_decide ?? [];
  const seen = d.seen ?? [];
  async function write(path: string, body?: unknown) {
    setNote("");
    try {
      await page.api.write("POST", `/drafts/${d.id}/${path}`, body ?? {});
      await drafts.read();
      if (path === "remind") setNote(words.reminded);
    } catch (error) {
      setNote(explain(error));
    }
  }
  return (
    <li class="waiting-one">
      <p role="status">
        <strong class="waiting-head">{words.waitsForOther}</strong> <Title d={d} />{" "}
        <span>
          {words.waitSince({ at: clock(Date.parse(d.created)) })} · {may.length > 0 ? words.waitMay({ names: names(may) }) : <strong>{words.waitNobody}</strong>} ·{" "}
          {seen.length > 0 ? words.waitSeen({ names: names(seen.map((s) => `${s.user} ${clock(Date.parse(s.time))}`)) }) : words.waitUnseen} · <Lapses d={d} />
        </span>
        {note && <span class="waiting-note">{note}</span>}
      </p>
      <span class="waiting-buttons">
        <button type="button" class="small" aria-label={words.reviewLong({ name: d.hazard_Name })} onClick={() => (drafts.open.value = d.id)}>{words.review}</button>
        <button type="button" class="small" aria-label={words.remindLong({ name: d.hazard_Name })} onClick={() => void write("remind")}>{words.remind}</button>
        <button type="button" class="small" aria-label={words.withdrawLong({ name: d.hazard_Name })} onClick={() => void write("refuse", { reason: words.withdrawn })}>{words.withdraw}</button>
      </span>
    </li>
  );
}

/** What became of an own draft. */
function Outcome({ d }: { d: Draft }) {
  const drafts = useDrafts();
  return (
    <li class={`waiting-one waiting-over ${d.state === "approved" ? "" : "waiting-mine"}`}>
      <p role="status">
        <Title d={d} /> <span>{outcomeOf(d)}</span>
      </p>
      <button type="button" class="small" onClick={() => drafts.dismiss(d)}>{text.notice.dismiss}</button>
    </li>
  );
}

/** The panel in which a draft is reviewed: what everybody will read, who gets it, and what it changes. */
export function Review() {
  const page = usePage();
  const drafts = useDrafts();
  const id = drafts.open.value;
  const [read, setRead] = useState<Draft>();
  const [note, setNote] = useState("");
  const [reason, setReason] = useState<string>();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const title = useRef<HTMLHeadingElement>(null);
  const d = read?.id === id ? read : undefined;
  const gone = d !== undefined && d.state !== "waiting" || id !== undefined && d !== undefined && !drafts.list.value.some((x) => x.id === id);
  useEffect(() => {
    if (!id) return;
    const over = new AbortController();
    setNote("");
    setReason(undefined);
    setAsking(false);
    page.api.get<"/drafts/{draft-id}">(`/drafts/${id}`, { signal: over.signal }).then(
      (found) => {
        setRead(found);
        show(found);
      },
      (error: unknown) => !over.signal.aborted && setNote(explain(error)),
    );
    return () => {
      over.abort();
      page.editing.clear();
    };
  }, [id]);
  useEffect(() => title.current?.focus(), [d?.id]);
  function show(found: Draft) {
    const says = found.details?.says;
    if (!says) return;
    const published = found.details?.published as Geometry | undefined;
    page.editing.draw([...(published ? [published] : []), { type: "Point", coordinates: [says.longitude, says.latitude] }]);
    page.withMap((map) => map.show({ longitude: says.longitude, latitude: says.latitude } as Hazard, published && extent(published)?.box, true));
  }
  const close = () => (drafts.open.value = undefined);
  async function decide(why?: string) {
    setBusy(true);
    setNote("");
    try {
      if (why === undefined) {
        const h = await page.api.write<Hazard>("POST", `/drafts/${id}/approve`);
        close();
        page.store.take(h!);
        page.open(h!);
      } else {
        await page.api.write("POST", `/drafts/${id}/refuse`, { reason: why });
        close();
      }
      await drafts.read();
    } catch (error) {
      setAsking(false);
      setNote(explain(error));
      void drafts.look();
    } finally {
      setBusy(false);
    }
  }
  return (
    <section class="panel edit-panel review tall" id="panel" aria-label={words.review}>
      <header class="panel-head">
        <div>
          <button type="button" class="small" onClick={close}>{words.reviewBack}</button>
          <h2 ref={title} tabIndex={-1}>{words.reviewRead}</h2>
          {d && <p class="panel-tags muted">{words.waitBy({ author: apart(d.author), at: local(Date.parse(d.created)) })}</p>}
        </div>
      </header>
      <div class="panel-body">
        {!d ? <p>{note || words.reading}</p> : (
          <>
            <Reads d={d} />
            <h3>{words.reviewWho}</h3>
            <p class="review-reach">{reachOf(d)}</p>
            <Area d={d} />
            <h3>{words.reviewChanges}</h3>
            <Against d={d} />
            <details>
              <summary>{words.draftRequest}</summary>
              <pre class="request" dir="ltr">{JSON.stringify(d.request, undefined, 2)}</pre>
            </details>
          </>
        )}
      </div>
      <div class="edit-foot review-foot">
        <p role="alert" class="fault">{gone ? words.reviewGone : d ? note : ""}</p>
        {d && !gone && reason !== undefined && (
          <form
            onSubmit={(e) => {
              e.preventDefault();
              void decide(reason.trim());
            }}
          >
            <label>
              {words.draftReason} <input required maxLength={500} autofocus value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
            </label>
            <div class="edit-buttons">
              <button type="submit" class="primary" disabled={busy}>{words.draftRefuse}</button>
              <button type="button" onClick={() => setReason(undefined)}>{words.cancel}</button>
            </div>
          </form>
        )}
        {d && !gone && reason === undefined && (
          <div class="edit-buttons">
            <button type="button" onClick={() => setReason("")}>{drafts.own(d) ? words.withdraw : words.reviewRefuse}</button>
            {drafts.own(d) ? <p class="muted">{words.draftOwn}</p> : <button type="button" class="danger" disabled={busy} onClick={() => setAsking(true)}>{words.reviewApprove}</button>}
          </div>
        )}
      </div>
      {asking && d && (
        <Dialog title={words.reviewAsk} close={() => setAsking(false)} class="dialog-warning">
          <p>
            <Title d={d} />
          </p>
          <p>{reachOf(d)}</p>
          <div class="dialog-buttons">
            <button type="button" onClick={() => setAsking(false)}>{words.reviewAskNo}</button>
            <button type="button" class="danger" disabled={busy} onClick={() => void decide()}>{busy ? words.saving : words.reviewAskGo}</button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

/** The text in each language, as everybody will read it. */
function Reads({ d }: { d: Draft }) {
  const says = d.details?.says;
  const texts = says?.texts ?? [];
  return (
    <>
      <div class={`review-head sev-${severity(d.severity_ID).id}`}>
        <Symbol h={d as never} size={56} />
        <div>
          <strong class="review-name" dir="auto">{d.hazard_Name}</strong>
          <span>
            <Badge id={d.severity_ID} /> <DrillTag h={d as never} /> {typeName(d.type_ID)}
            {says?.end && <>{" "}· {words.reviewUntil({ at: local(Date.parse(says.end)) })}</>}
          </span>
          {d.severity_ID_before && d.severity_ID_before !== d.severity_ID && <span>{words.reviewWas({ severity: severityName(severity(d.severity_ID_before)) })}</span>}
        </div>
      </div>
      {says?.description && <p class="review-text" dir="auto">{says.description}</p>}
      {!says?.description && !texts.some((t) => t.description || t.instruction) && <p class="review-text muted">{words.reviewNoText}</p>}
      {texts.map((t, i) => (
        <section key={i} class="review-text" lang={t.language}>
          <h3>
            {nameOf(t.language)} (<bdi>{t.language}</bdi>)
          </h3>
          {[t.headline || t.name, t.instruction, t.description].filter(Boolean).map((line, k) => <p key={k} dir="auto">{line}</p>)}
        </section>
      ))}
    </>
  );
}

/** The name of a language in itself. */
function nameOf(tag: string): string {
  try {
    return new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag; // from another program
  }
}

function Area({ d }: { d: Draft }) {
  const published = d.details?.published as Geometry | undefined;
  if (d.reach.circle_km !== undefined) return <p>{words.reviewCircle({ km: d.reach.circle_km })}</p>;
  return published ? <p>{words.reviewArea({ km2: rounded(squareKilometres(published)) })}</p> : null;
}

function Against({ d }: { d: Draft }) {
  const list = differences(d);
  if (list === undefined) return <p>{d.new ? words.reviewNew : words.reviewUnknown}</p>;
  return list.length > 0 ? <Changes list={list.map((x) => ({ ...x, mine: undefined, theirs: x.now }) as never)} /> : <p>{words.reviewElse}</p>;
}
