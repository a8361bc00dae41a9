// What is asked before something is done to a hazard that a form is too much for.
import { useEffect, useState } from "preact/hooks";
import { LoggedOutError, Problem } from "../api";
import { byLevel } from "../order";
import { isDrill, type Hazard } from "../model";
import { byId, listed, text } from "../words";
import { local } from "../time";
import { usePage } from "../ui/context";
import { Badge, DrillTag, kindOf, Symbol } from "../ui/parts";
import { clashes, faultsOf, productNames, type Clash, type Faults } from "./draft";
import { distance, rounded } from "../geometry";
import { Changes, Dialog, explain, Field, told } from "./inputs";
import { readProduct, type ProductState } from "./remote";
import { onShown, useShown, type Shown } from "./shown";
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
    case "remove":
      return <Remove q={q} />;
    default:
      return <Ask q={q} key={q.kind} />;
  }
}

type Asked = Exclude<Question, { kind: "merge" | "split" | "undo" | "remove" }>;

const asked = (): Record<Asked["kind"], { title: string; text: string; go: string }> => ({
  end: { title: words.endTitle, text: words.endText, go: words.endGo },
  response: { title: words.responseTitle, text: words.responseText, go: words.responseGo },
  retract: { title: words.retractTitle, text: words.retractText, go: words.retractGo },
});

/** What others have changed while the question is open. */
const Meanwhile = ({ of }: { of: readonly Shown[] }) => (
  <div role="alert">
    {of.map((s) =>
      s.changed.length > 0 && (
        <div key={s.h?.hazard_ID}>
          <p class="fault">
            <bdi>{s.h?.hazard_Name}</bdi>. {words.meanwhile}
          </p>
          <Changes list={s.changed} />
        </div>
      )
    )}
  </div>
);

/** The end of a question. While something has changed that was not read, there is no yes: the button says what it is. */
function Buttons({ of, busy, label, go, close }: { of: readonly Shown[]; busy: boolean; label: string; go: () => void; close: () => void }) {
  const changed = of.flatMap((s) => s.changed);
  const unread = of.filter((s) => s.note);
  return (
    <div class="dialog-buttons">
      <button type="button" onClick={close}>{words.cancel}</button>
      {changed.length > 0
        ? (
          <button type="button" class="primary" key="seen" onClick={() => of.forEach((s) => s.seen())}>
            {words.seen({ what: listed([...new Set(changed.map((c) => `${byId(words.field, c.field) ?? c.field}: ${told(c.field, c.now).slice(0, 40)}`))].slice(0, 3)) })}
          </button>
        )
        : unread.length > 0
        ? <button type="button" key="look" onClick={() => unread.forEach((s) => s.look())}>{words.retry}</button>
        : (
          <button type="button" class="danger" key="go" disabled={busy || of.some((s) => !s.tag)} onClick={go}>
            {busy ? words.saving : of.some((s) => !s.tag) ? words.reading : label}
          </button>
        )}
    </div>
  );
}

/** A question about the state that is shown: what changes before the yes is shown, and takes the yes back. */
function Ask({ q }: { q: Asked }) {
  const { store, editing } = usePage();
  const shown = useShown(q.h.hazard_ID);
  const h = shown.h ?? q.h;
  const [reason, setReason] = useState("");
  const [faults, setFaults] = useState<Faults>({});
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  const w = asked()[q.kind];
  async function go() {
    setNote("");
    if (q.kind === "retract" && reason.trim() === "") return setFaults({ reason: words.required });
    setFaults({});
    setBusy(true);
    const path = `/hazards/${q.h.hazard_ID}`;
    try {
      const over = await onShown(store.api, shown, (tag) =>
        q.kind === "retract"
          ? store.api.write<Hazard>("POST", `${path}/retract`, { reason: reason.trim() }, tag)
          : store.api.write<Hazard>("PATCH", path, q.kind === "end" ? { status: "E" } : { category_ID: "RESPONSE" }, tag));
      close();
      store.take(over!);
      store.say(words.saved);
    } catch (error) {
      if (error instanceof Problem && error.faults.length > 0) {
        const by = faultsOf(error.faults, ["reason"]);
        setFaults(by);
        setNote(by[""] ?? "");
      } else refused(error, [shown], setNote);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog title={w.title} close={close} class={isDrill(h) ? "dialog-drill" : ""}>
      <What h={h} />
      <p>{w.text}</p>
      {q.kind === "retract" && (
        <Field name="reason" faults={faults} required>
          {(a) => <textarea {...a} rows={3} required value={reason} onInput={(e) => setReason(e.currentTarget.value)} />}
        </Field>
      )}
      <Meanwhile of={[shown]} />
      <p role="alert" class="fault">{note || shown.note}</p>
      <Buttons of={[shown]} busy={busy} label={w.go} go={() => void go()} close={close} />
    </Dialog>
  );
}

/** What to do after a refusal: on 412 the hazards are read again, and what changed is shown. */
function refused(error: unknown, of: readonly Shown[], note: (words: string) => void): void {
  if (error instanceof Problem && error.status === 412) of.forEach((s) => s.look());
  if (!(error instanceof LoggedOutError)) note(explain(error));
}

function Remove({ q }: { q: Extract<Question, { kind: "remove" }> }) {
  const { store, editing } = usePage();
  const [read, setRead] = useState<ProductState>();
  const [changed, setChanged] = useState<readonly Clash[]>([]);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  const look = () => {
    setNote("");
    readProduct(store.api, q.product.product_ID).then(setRead, (e: unknown) => setNote(explain(e)));
  };
  useEffect(look, []);
  async function go() {
    if (!read) return look();
    setNote("");
    setBusy(true);
    try {
      await store.api.write("DELETE", `/products/${q.product.product_ID}`, undefined, read.tag);
      close();
      store.say(words.saved);
    } catch (error) {
      if (error instanceof Problem && error.status === 412) {
        const now = await readProduct(store.api, q.product.product_ID).catch(() => undefined);
        if (now) setChanged(clashes(read.product, now.product, {}, productNames));
        setRead(now);
        setNote(words.meanwhile);
      } else if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog title={words.removeTitle({ title: q.product.title })} close={close} class={isDrill(q.h) ? "dialog-drill" : ""}>
      <p>{words.removeText}</p>
      <div role="alert">
        {note && <p class="fault">{note}</p>}
        {changed.length > 0 && <Changes list={changed} />}
      </div>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy || (!read && !note)} onClick={() => void go()}>
          {busy ? words.saving : !read ? (note ? words.retry : words.reading) : note === words.meanwhile ? words.anyway : words.removeGo}
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

function Merge({ h: given }: { h: Hazard }) {
  const page = usePage();
  const { store, editing } = page;
  const ends = useShown(given.hazard_ID);
  const h = ends.h ?? given;
  const [query, setQuery] = useState("");
  const [into, setInto] = useState<number>();
  const stays = useShown(into);
  const both = into === undefined ? [ends] : [ends, stays];
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
  // The one that was chosen stays in sight, whatever it is called now.
  const chosen = stays.h && !found.some((x) => x.hazard_ID === into) ? [stays.h, ...found] : found;
  async function go() {
    if (into === undefined) return setNote(`${words.mergePick}: ${words.mergeMissing}`);
    setNote("");
    setBusy(true);
    try {
      const whole = await onShown(
        store.api,
        ends,
        (tag) => onShown(store.api, stays, (intoTag) => store.api.write<Hazard>("POST", `/hazards/${h.hazard_ID}/merge`, { into, into_ETag: intoTag }, tag)),
      );
      close();
      store.take(whole!);
      editing.merged.value = new Map(editing.merged.peek()).set(into, h);
      page.open(whole!);
      store.say(words.saved);
    } catch (error) {
      refused(error, both, setNote);
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
        {chosen.map((x) => (
          <label key={x.hazard_ID} class={into === x.hazard_ID ? "on" : ""}>
            <input type="radio" name="merge-into" checked={into === x.hazard_ID} onChange={() => setInto(x.hazard_ID)} />
            <Symbol h={x} size={28} />
            <span>
              <strong dir="auto">{x.hazard_Name}</strong>
              <span>
                <Badge id={x.severity_ID} />
              </span>
              <span class="muted">{kindOf(x)} · {text.panel.numbers({ id: x.hazard_ID })} · {words.away({ km: rounded(away(x)) })}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Meanwhile of={both} />
      <p role="alert" class="fault">{note || ends.note || (into === undefined ? "" : stays.note)}</p>
      <Buttons of={both} busy={busy} label={words.mergeGo} go={() => void go()} close={close} />
    </Dialog>
  );
}

function Split({ q }: { q: Extract<Question, { kind: "split" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const shown = useShown(q.h.hazard_ID);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const close = () => (editing.question.value = undefined);
  async function go() {
    setNote("");
    setBusy(true);
    try {
      const own = await onShown(store.api, shown, (tag) => store.api.write<Hazard>("POST", `/hazards/${q.h.hazard_ID}/split`, { source: q.report.source, event: q.report.event }, tag));
      close();
      store.take(own!);
      page.open(own!);
      store.say(words.saved);
    } catch (error) {
      refused(error, [shown], setNote);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog title={words.splitTitle} close={close}>
      <What h={shown.h ?? q.h} />
      <p>
        <strong>{q.report.name}</strong> <span class="muted">{q.report.source} {q.report.event}</span>
      </p>
      <p>{words.splitText({ source: q.report.source })}</p>
      <Meanwhile of={[shown]} />
      <p role="alert" class="fault">{note || shown.note}</p>
      <Buttons of={[shown]} busy={busy} label={words.splitGo} go={() => void go()} close={close} />
    </Dialog>
  );
}

function Undo({ q }: { q: Extract<Question, { kind: "undo" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const [other, setOther] = useState("");
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const { change } = q;
  const shown = useShown(q.h.hazard_ID);
  const h = shown.h ?? q.h;
  const close = () => (editing.question.value = undefined);
  useEffect(() => {
    if (q.undo === "merge" && change.successor) store.api.get<"/hazards/{hazard-id}">(`/hazards/${change.successor}`).then((x) => setOther(x.hazard_Name), () => {}); // then it stays without its name
  }, []);
  async function go() {
    setNote("");
    setBusy(true);
    try {
      const back = (await onShown(store.api, shown, (tag) => store.api.write<Hazard>("POST", `/hazards/${h.hazard_ID}/undo`, { change: change.change }, tag)))!;
      close();
      const merged = new Map(editing.merged.peek());
      for (const [into, from] of merged) if (from.hazard_ID === h.hazard_ID) merged.delete(into);
      editing.merged.value = merged;
      store.take(back);
      page.open(back);
      store.say(words.saved);
    } catch (error) {
      refused(error, [shown], setNote);
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
      <Meanwhile of={[shown]} />
      <p role="alert" class="fault">{note || shown.note}</p>
      <Buttons of={[shown]} busy={busy} label={words.undoGo} go={() => void go()} close={close} />
    </Dialog>
  );
}
