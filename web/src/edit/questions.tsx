// What is asked before something is done to a hazard that a form is too much for.
import { useEffect, useState } from "preact/hooks";
import { LoggedOutError, Problem } from "../api";
import { byLevel } from "../order";
import { isDrill, type Hazard } from "../model";
import { text } from "../words";
import { local } from "../time";
import { usePage } from "../ui/context";
import { Badge, DrillTag, kindOf, Symbol } from "../ui/parts";
import { clashes, faultsOf, hazardNames, productNames, type Clash, type Faults } from "./draft";
import { distance, rounded } from "../geometry";
import { Changes, Dialog, explain, Field } from "./inputs";
import { readHazard, readProduct, record } from "./remote";
import type { Question } from "./state";
import { returning } from "./undo";
import { words } from "../words";

export function Questions() {
  const { editing } = usePage();
  const q = editing.question.value;
  if (!q) return null;
  switch (q.kind) {
    case "merge":
      return <Merge h={q.h} />;
    case "split":
      return <Split q={q} />;
    case "undo":
      return <Undo q={q} key={q.change.change} />;
    default:
      return <Ask q={q} key={q.kind} />;
  }
}

type Asked = Exclude<Question, { kind: "merge" | "split" | "undo" }>;

const asked = (): Record<Asked["kind"], { title: string; text: string; go: string }> => ({
  end: { title: words.endTitle, text: words.endText, go: words.endGo },
  response: { title: words.responseTitle, text: words.responseText, go: words.responseGo },
  retract: { title: words.retractTitle, text: words.retractText, go: words.retractGo },
  remove: { title: "", text: words.removeText, go: words.removeGo },
});

/** A question about the state that is shown: should that change before the yes, it is shown again. */
function Ask({ q }: { q: Asked }) {
  const page = usePage();
  const { store, editing } = page;
  const [read, setRead] = useState<{ tag: string; record: object }>();
  const [changed, setChanged] = useState<readonly Clash[]>([]);
  const [reason, setReason] = useState("");
  const [faults, setFaults] = useState<Faults>({});
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  const w = asked()[q.kind];
  const get = async () => {
    if (q.kind === "remove") {
      const s = await readProduct(store.api, q.product.product_ID);
      return { tag: s.tag, record: s.product as object };
    }
    const s = await readHazard(store.api, q.h.hazard_ID);
    return { tag: s.tag, record: record(s) };
  };
  const look = () => {
    setNote("");
    get().then(setRead, (e: unknown) => setNote(explain(e)));
  };
  useEffect(look, []);
  async function go() {
    if (!read) return look();
    setNote("");
    if (q.kind === "retract" && reason.trim() === "") return setFaults({ reason: words.required });
    setFaults({});
    setBusy(true);
    try {
      const path = `/hazards/${q.h.hazard_ID}`;
      let h: Hazard | undefined;
      if (q.kind === "end") h = await store.api.write<Hazard>("PATCH", path, { status: "E" }, read.tag);
      else if (q.kind === "response") h = await store.api.write<Hazard>("PATCH", path, { category_ID: "RESPONSE" }, read.tag);
      else if (q.kind === "retract") h = await retract(path, read.tag);
      else if (q.kind === "remove") await store.api.write("DELETE", `/products/${q.product.product_ID}`, undefined, read.tag);
      close();
      if (h) store.take(h);
      store.say(words.saved);
    } catch (error) {
      if (error instanceof Problem && error.status === 412) {
        const now = await get().catch(() => undefined);
        if (now) setChanged(clashes(read.record, now.record, {}, q.kind === "remove" ? productNames : hazardNames));
        setRead(now);
        setNote(words.meanwhile);
      } else if (error instanceof Problem && error.faults.length > 0) {
        const by = faultsOf(error.faults, ["reason"]);
        setFaults(by);
        setNote(by[""] ?? "");
      } else if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  const retract = async (path: string, tag: string) => {
    const answer = await store.api.request(`${path}/retract`, { method: "POST", body: { reason: reason.trim() }, headers: { "If-Match": tag } });
    return (await answer.json()) as Hazard;
  };
  const drill = isDrill(q.h);
  return (
    <Dialog title={q.kind === "remove" ? words.removeTitle({ title: q.product.title }) : w.title} close={close} class={drill ? "dialog-drill" : ""}>
      {q.kind !== "remove" && <What h={q.h} />}
      <p>{w.text}</p>
      {q.kind === "retract" && (
        <Field name="reason" faults={faults} required>
          {(a) => <textarea {...a} rows={3} required value={reason} onInput={(e) => setReason(e.currentTarget.value)} />}
        </Field>
      )}
      <div role="alert">
        {note && <p class="fault">{note}</p>}
        {changed.length > 0 && <Changes list={changed} />}
      </div>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy || (!read && !note)} onClick={() => void go()}>
          {busy ? words.saving : !read ? (note ? words.retry : words.reading) : note === words.meanwhile ? words.anyway : w.go}
        </button>
      </div>
    </Dialog>
  );
}

const What = ({ h }: { h: Hazard }) => (
  <p class="warn-what">
    <Symbol h={h} size={40} />
    <span>
      <strong>
        <DrillTag h={h} />
        <bdi>{h.hazard_Name}</bdi>
      </strong>
      <span>
        <Badge id={h.severity_ID} /> {kindOf(h)}
      </span>
    </span>
  </p>
);

/** Farther apart, in kilometres, two records are hardly one event: of the same type, and of others. A search finds all. */
const NEAR_SAME = 150;
const NEAR = 30;
/** Candidates that are shown. */
const CANDIDATES = 8;

function Merge({ h }: { h: Hazard }) {
  const page = usePage();
  const { store, editing } = page;
  const [query, setQuery] = useState("");
  const [into, setInto] = useState<number>();
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  const away = (x: Hazard) => distance([h.longitude, h.latitude], [x.longitude, x.latitude]) / 1000;
  const wanted = query.trim().toLowerCase();
  // A drill is never merged with a real hazard.
  const probable = (x: Hazard) => away(x) <= (x.type_ID === h.type_ID ? NEAR_SAME : NEAR) || store.areas.contains(x, h.longitude, h.latitude) || store.areas.contains(h, x.longitude, x.latitude);
  const found = [...store.live.value.values()]
    .filter((x) => x.uuid !== h.uuid && isDrill(x) === isDrill(h) && (wanted === "" ? probable(x) : `${x.hazard_Name} ${x.hazard_ID}`.toLowerCase().includes(wanted)))
    .sort((a, b) => Number(b.type_ID === h.type_ID) - Number(a.type_ID === h.type_ID) || away(a) - away(b) || byLevel(a, b))
    .slice(0, CANDIDATES);
  async function go() {
    if (into === undefined || !found.some((x) => x.hazard_ID === into)) return setNote(`${words.mergePick}: ${words.mergeMissing}`);
    setBusy(true);
    try {
      const whole = await store.api.write<Hazard>("POST", `/hazards/${h.hazard_ID}/merge`, { into });
      close();
      store.take(whole!);
      editing.merged.value = new Map(editing.merged.peek()).set(into, h);
      page.open(whole!);
      store.say(words.saved);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog title={words.mergeTitle} close={close} class={isDrill(h) ? "dialog-drill" : ""}>
      <What h={h} />
      <p>{words.mergeText}</p>
      <Field name="merge" label={words.mergeSearch} faults={{}}>
        {(a) => <input {...a} type="search" value={query} onInput={(e) => setQuery(e.currentTarget.value)} />}
      </Field>
      <fieldset class="candidates">
        <legend>{words.mergePick}</legend>
        {found.length === 0 && <p class="muted">{words.mergeNone}</p>}
        {found.map((x) => (
          <label key={x.hazard_ID} class={into === x.hazard_ID ? "on" : ""}>
            <input type="radio" name="merge-into" checked={into === x.hazard_ID} onChange={() => setInto(x.hazard_ID)} />
            <Symbol h={x} size={28} />
            <span>
              <strong dir="auto">{x.hazard_Name}</strong>
              <span class="muted">{kindOf(x)} · {text.panel.numbers({ id: x.hazard_ID })} · {words.away({ km: rounded(away(x)) })}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p role="alert" class="fault">{note}</p>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy} onClick={() => void go()}>{busy ? words.saving : words.mergeGo}</button>
      </div>
    </Dialog>
  );
}

function Split({ q }: { q: Extract<Question, { kind: "split" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  async function go() {
    setBusy(true);
    try {
      const own = await store.api.write<Hazard>("POST", `/hazards/${q.h.hazard_ID}/split`, { source: q.report.source, event: q.report.event });
      close();
      store.take(own!);
      page.open(own!);
      store.say(words.saved);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog title={words.splitTitle} close={close}>
      <p>
        <strong>{q.report.name}</strong> <span class="muted">{q.report.source} {q.report.event}</span>
      </p>
      <p>{words.splitText({ source: q.report.source })}</p>
      <p role="alert" class="fault">{note}</p>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy} onClick={() => void go()}>{busy ? words.saving : words.splitGo}</button>
      </div>
    </Dialog>
  );
}

function Undo({ q }: { q: Extract<Question, { kind: "undo" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const [tag, setTag] = useState("");
  const [other, setOther] = useState("");
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const { h, change } = q;
  const close = () => (editing.question.value = undefined);
  const look = () => {
    setNote("");
    readHazard(store.api, h.hazard_ID).then((s) => setTag(s.tag), (e: unknown) => setNote(explain(e)));
  };
  useEffect(() => {
    look();
    if (q.undo === "merge" && change.successor) store.api.get<"/hazards/{hazard-id}">(`/hazards/${change.successor}`).then((x) => setOther(x.hazard_Name), () => {}); // then it stays without its name
  }, []);
  async function go() {
    if (!tag) return look();
    setNote("");
    setBusy(true);
    try {
      const back = (await store.api.write<Hazard>("POST", `/hazards/${h.hazard_ID}/undo`, { change: change.change }, tag))!;
      close();
      const merged = new Map(editing.merged.peek());
      for (const [into, from] of merged) if (from.hazard_ID === h.hazard_ID) merged.delete(into);
      editing.merged.value = merged;
      store.take(back);
      page.open(back);
      store.say(words.saved);
    } catch (error) {
      if (error instanceof Problem && error.status === 412) {
        look();
        setNote(words.undoMeanwhile);
      } else if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  const before = (field: string) => change.fields?.find((f) => f.field === field)?.from;
  const end = Number(before("end_Date") ?? h.end_Date);
  const past = h.autoexpire === "Y" && end <= store.api.now();
  const list = past ? [] : returning(change);
  return (
    <Dialog title={words.undoTitles[q.undo]} close={close} class={isDrill(h) ? "dialog-drill" : ""}>
      <What h={h} />
      <p>{q.undo === "merge" ? words.undoTexts.merge({ other: other ? `“${other}”` : words.undoOther }) : words.undoTexts[q.undo]}</p>
      {past && (
        <p>
          <strong>{words.undoOver({ end: local(end) })}</strong>
        </p>
      )}
      {list.length > 0 && (
        <>
          <h3>{words.undoBack}</h3>
          <Changes list={list} />
        </>
      )}
      <p role="alert" class="fault">{note}</p>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy || (!tag && !note)} onClick={() => void go()}>
          {busy ? words.saving : tag ? words.undoGo : note ? words.retry : words.reading}
        </button>
      </div>
    </Dialog>
  );
}
