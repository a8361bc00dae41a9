// The form of a hazard, new or changed, and the question before a warning goes out.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Geometry, Position } from "geojson";
import { DraftedError, LoggedOutError, Problem } from "../api";
import { byName, categoryName, isDrill, severities, typeName, types, type Hazard } from "../model";
import { usePage, type Page } from "../ui/context";
import { Badge, IconButton, Symbol } from "../ui/parts";
import { local } from "../time";
import { text } from "../words";
import { AreaFields, AreaPicture, PlaceButton } from "./area";
import {
  categoriesFor,
  clashes,
  cornersOf,
  decimal,
  emptyHazard,
  faultsOf,
  geometryOf,
  hazardDraft,
  hazardFields,
  hazardNames,
  patch,
  rebase,
  warns,
  withCorners,
  type Clash,
  type Faults,
  type Fields,
  type HazardDraft,
} from "./draft";
import { circle, distance, extent, formatCorner, parseCorners } from "../geometry";
import { Changes, Clashes, Dialog, explain, Fault, Field, Required } from "./inputs";
import { readHazard, record, type HazardState } from "./remote";
import type { Task } from "./state";
import { words } from "../words";

/** What of the form outlives it. */
interface Kept {
  readonly state: HazardState | undefined;
  readonly draft: HazardDraft;
}

/** A write that waits for the second yes. */
interface Waiting {
  readonly change: Fields;
  readonly state: HazardState | undefined;
  readonly draft: HazardDraft;
}

/** How often a write is repeated on a newer state that says nothing else. */
const AGAIN = 3;

export function HazardForm({ task }: { task: Extract<Task, { kind: "new" | "edit" }> }) {
  const page = usePage();
  const { store, editing } = page;
  const [kept] = useState(() => editing.restore<Kept>());
  const [state, setState] = useState<HazardState | undefined>(kept?.state);
  const [draft, setDraft] = useState<HazardDraft | undefined>(kept?.draft ?? (task.kind === "new" ? emptyHazard(task.drill) : undefined));
  const [note, setNote] = useState(kept ? words.restored : "");
  const [faults, setFaults] = useState<Faults>({});
  const [busy, setBusy] = useState(false);
  const [clash, setClash] = useState<{ list: readonly Clash[]; now: HazardState; change: Fields; chosen: Record<string, "mine" | "theirs"> }>();
  const [waiting, setWaiting] = useState<Waiting>();
  const [attempt, setAttempt] = useState(0);
  const root = useRef<HTMLElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const drill = task.kind === "new" ? task.drill : isDrill(task.h);

  useEffect(() => {
    title.current?.focus();
    if (kept) editing.dirty.value = true;
    else if (task.kind === "new" && !page.mapFailed.peek()) editing.placing.value = "place";
    return () => editing.clear();
  }, []);
  useEffect(() => {
    if (task.kind !== "edit" || state) return;
    const over = new AbortController();
    readHazard(store.api, task.h.hazard_ID, over.signal).then(
      (s) => {
        setState(s);
        setDraft(hazardDraft(s.h));
        setNote("");
      },
      () => !over.signal.aborted && setNote(words.unread),
    );
    return () => over.abort();
  }, [attempt]);

  const set = (change: Partial<HazardDraft>) => {
    editing.dirty.value = true;
    setDraft((d) => d && { ...d, ...change });
  };
  useLayoutEffect(() => {
    if (draft && editing.dirty.peek()) editing.keep({ state, draft } satisfies Kept);
    editing.draw(draft ? shapesOf(draft) : []);
  }, [draft, state]);
  useClicks(page, draft, set);
  useCorners(page, draft, set);
  useEffect(() => {
    if (Object.keys(faults).length > 0) root.current?.querySelector<HTMLElement>('[aria-invalid="true"], fieldset[aria-describedby$="-fault"] input')?.focus();
  }, [faults]);

  async function submit(from: HazardState | undefined, d: HazardDraft) {
    setNote("");
    const { fields, faults } = hazardFields(d, from?.h);
    setFaults(faults);
    if (Object.keys(faults).length > 0) return;
    const change: Fields = from ? patch(from.h, fields) : { ...fields, uuid: task.kind === "new" ? task.uuid : undefined };
    if (from && Object.keys(change).length === 0) return editing.end();
    if (warns(from?.h, change)) setWaiting({ change, state: from, draft: d });
    else await send({ change, state: from, draft: d });
  }

  async function send({ change, state: from, draft: d }: Waiting, again = 0): Promise<void> {
    setBusy(true);
    try {
      const h = from
        ? await store.api.write<Hazard>("PATCH", `/hazards/${from.h.hazard_ID}`, change, from.tag)
        : await store.api.write<Hazard>("POST", "/hazards", change);
      setWaiting(undefined);
      editing.end();
      store.take(h!);
      page.open(h!);
      store.say(from ? words.saved : words.created);
    } catch (error) {
      setWaiting(undefined);
      await refused(error, { change, state: from, draft: d }, again).catch((e: unknown) => setNote(explain(e)));
    } finally {
      setBusy(false);
    }
  }

  async function refused(error: unknown, w: Waiting, again: number): Promise<void> {
    if (error instanceof DraftedError) {
      editing.end();
      return store.say(explain(error));
    }
    if (error instanceof Problem && error.status === 412 && w.state && again < AGAIN) return onto(await readHazard(store.api, w.state.h.hazard_ID), w as Waiting & { state: HazardState }, again);
    if (error instanceof Problem && error.status === 409 && !w.state && task.kind === "new") {
      // The UUID exists: an earlier attempt created the hazard, and its response was lost.
      setState(await readHazard(store.api, task.uuid));
      return setNote(words.arrived);
    }
    if (error instanceof Problem && error.faults.length > 0) {
      const by = faultsOf(error.faults, Object.keys(w.draft));
      setFaults(by);
      return setNote(by[""] ? `${words.faults} ${by[""]}` : words.faults);
    }
    if (!(error instanceof LoggedOutError)) setNote(explain(error));
  }

  /**
   * Applies the draft to a state that somebody else has written meanwhile. If both changed
   * different fields, this needs no question.
   */
  async function onto(now: HazardState, w: Waiting & { state: HazardState }, again: number): Promise<void> {
    const list = clashes(record(w.state), record(now), w.change, hazardNames);
    if (list.length > 0) return setClash({ list, now, change: w.change, chosen: {} });
    const next = rebase(hazardDraft(now.h), w.draft, w.change, []);
    const change = patch(now.h, hazardFields(next, now.h).fields);
    if (Object.keys(change).length === 0) return editing.end(); // it is as we wanted it
    await send({ change, state: now, draft: next }, again + 1);
  }

  function resolve() {
    if (!clash || !draft) return;
    const open = clash.list.filter((c) => c.mine !== undefined);
    if (open.some((c) => !clash.chosen[c.field])) return setNote(words.clashChoose);
    const next = rebase(hazardDraft(clash.now.h), draft, clash.change, open.filter((c) => clash.chosen[c.field] === "theirs").map((c) => c.field));
    setState(clash.now);
    setDraft(next);
    setClash(undefined);
    void submit(clash.now, next);
  }

  const heading = task.kind === "new" ? (drill ? words.titleNewDrill : words.titleNew) : drill ? words.titleEditDrill : words.titleEdit;
  const placing = editing.placing.value !== undefined;
  return (
    <section class={`panel edit-panel ${drill ? "edit-drill" : ""} ${placing ? "" : "tall"}`} id="panel" ref={root} aria-label={heading}>
      {drill && (
        <p class="drill-strip">
          <strong>{text.drill.word}</strong> {words.drillStrip}
        </p>
      )}
      <header class="panel-head">
        {draft?.type_ID && draft.severity_ID && <Symbol h={draft as never} size={44} />}
        <div>
          <h2 ref={title} tabIndex={-1}>{heading}</h2>
          <p class="panel-tags muted">{state?.h.hazard_Name ?? (drill ? "" : words.realStrip)}</p>
        </div>
        <IconButton icon="close" label={words.cancel} onClick={() => editing.leave()} class="panel-close" />
      </header>
      {!draft
        ? (
          <p class="panel-body">
            {note || words.reading} {note && <button type="button" onClick={() => setAttempt(attempt + 1)}>{words.retry}</button>}
          </p>
        )
        : (
          <form
            class="panel-body edit-form"
            noValidate
            onSubmit={(e) => {
              e.preventDefault();
              if (busy) return;
              if (clash) resolve();
              else void submit(state, draft);
            }}
          >
            {clash && (
              <Clashes
                list={clash.list}
                by={clash.now.h.update_User ?? ""}
                chosen={clash.chosen}
                choose={(field, whose) => setClash({ ...clash, chosen: { ...clash.chosen, [field]: whose } })}
              />
            )}
            {!clash && state && <Meanwhile state={state} />}
            {!clash && <Inputs draft={draft} set={set} faults={faults} state={state} drill={drill} />}
            <Foot
              note={note}
              busy={busy}
              label={clash ? words.clashSave : task.kind === "edit" || state ? words.save : drill ? words.createDrill : words.create}
              drill={drill}
              hint={draft.severity_ID && editing.drafts.value?.waits(draft.severity_ID) === "perhaps" ? words.askPerhaps({ n: editing.drafts.value.rule.value.people }) : ""}
            />
          </form>
        )}
      {waiting && <WarningQuestion waiting={waiting} drill={drill} busy={busy} no={() => setWaiting(undefined)} yes={() => void send(waiting)} />}
    </section>
  );
}

/** The end of every form: the error, the save button and the cancel button. */
export function Foot({ note, busy, label, drill, hint = "" }: { note: string; busy: boolean; label: string; drill: boolean; hint?: string }) {
  const { editing } = usePage();
  return (
    <div class="edit-foot">
      <p role="alert" class="fault">{note}</p>
      {hint && <p class="hint">{hint}</p>}
      {editing.leaving.value
        ? (
          <div class="edit-buttons" role="group" aria-label={words.discard}>
            <p>{words.discard}</p>
            <button type="button" class="danger" onClick={() => editing.end()}>{words.discardYes}</button>
            <button type="button" onClick={() => (editing.leaving.value = false)}>{words.discardNo}</button>
          </div>
        )
        : (
          <div class="edit-buttons">
            <button type="submit" class={`primary ${drill ? "drill-button" : ""}`} disabled={busy}>{busy ? words.saving : label}</button>
            <button type="button" onClick={() => editing.leave()}>{words.cancel}</button>
          </div>
        )}
    </div>
  );
}

function Inputs({ draft, set, faults, state, drill }: { draft: HazardDraft; set: (change: Partial<HazardDraft>) => void; faults: Faults; state: HazardState | undefined; drill: boolean }) {
  const { editing } = usePage();
  const categories = categoriesFor(state?.h, drill);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <>
      <fieldset class="position">
        <legend class="sr">{words.onMap}</legend>
        <div class="place-row">
          {(["latitude", "longitude"] as const).map((name) => (
            <Field key={name} name={name} faults={faults} required>
              {(a) => <input {...a} inputMode="text" autocomplete="off" required value={draft[name]} onInput={(e) => set({ [name]: e.currentTarget.value })} />}
            </Field>
          ))}
          <PlaceButton what="place" />
        </div>
        <p class="hint">{editing.placing.value === "place" ? words.clickPlace : words.positionHint}</p>
      </fieldset>
      <Field name="hazard_Name" faults={faults} required>
        {(a) => <input {...a} required maxLength={500} autocomplete="off" value={draft.hazard_Name} onInput={(e) => set({ hazard_Name: e.currentTarget.value })} />}
      </Field>
      <div class="two-columns">
        <Field name="type_ID" faults={faults} required>
          {(a) => (
            <select {...a} required value={draft.type_ID} onChange={(e) => set({ type_ID: e.currentTarget.value })}>
              <option value="">{words.choose}</option>
              {byName(types, typeName).map((t) => <option key={t} value={t}>{typeName(t)}</option>)}
            </select>
          )}
        </Field>
        <Field name="category_ID" faults={faults}>
          {(a) => (
            <select {...a} value={draft.category_ID} disabled={categories.length === 1} onChange={(e) => set({ category_ID: e.currentTarget.value })}>
              {categories.map((c) => <option key={c} value={c}>{categoryName(c)}</option>)}
            </select>
          )}
        </Field>
      </div>
      <fieldset class="severities" aria-describedby={faults["severity_ID"] ? "edit-severity_ID-fault" : undefined}>
        <legend>
          {words.field["severity_ID"]}
          <Required />
        </legend>
        {[...severities].reverse().map((s) => (
          <label key={s.id} class={draft.severity_ID === s.id ? "on" : ""}>
            <input type="radio" name="severity_ID" value={s.id} checked={draft.severity_ID === s.id} aria-invalid={faults["severity_ID"] !== undefined} onChange={() => set({ severity_ID: s.id })} />
            <Badge id={s.id} />
          </label>
        ))}
        <Fault id="edit-severity_ID-fault" words={faults["severity_ID"]} />
      </fieldset>
      <AreaFields draft={draft} set={set} faults={faults} shapes={state?.shapes} />
      <Field name="description" faults={faults}>
        {(a) => <textarea {...a} rows={5} value={draft.description} onInput={(e) => set({ description: e.currentTarget.value })} />}
      </Field>
      <Field name="instruction" faults={faults}>
        {(a) => <textarea {...a} rows={3} maxLength={10_000} value={draft.instruction} onInput={(e) => set({ instruction: e.currentTarget.value })} />}
      </Field>
      <div class="two-columns">
        <Field name="start_Date" faults={faults} hint={state ? undefined : words.startHint}>
          {(a) => <input {...a} type="datetime-local" value={draft.start_Date} onInput={(e) => set({ start_Date: e.currentTarget.value })} />}
        </Field>
        <Field name="end_Date" faults={faults} hint={state ? undefined : words.endHint}>
          {(a) => <input {...a} type="datetime-local" value={draft.end_Date} onInput={(e) => set({ end_Date: e.currentTarget.value })} />}
        </Field>
      </div>
      <label class="switch">
        <input type="checkbox" checked={draft.autoexpire === "Y"} onChange={(e) => set({ autoexpire: e.currentTarget.checked ? "Y" : "N" })} />
        <span>{words.field["autoexpire"]}</span>
      </label>
      <Fault words={faults["autoexpire"]} />
      <p class="hint">{words.zone({ name: zone })}</p>
      <Field name="snc_url" faults={faults}>
        {(a) => <input {...a} type="url" inputMode="url" value={draft.snc_url} onInput={(e) => set({ snc_url: e.currentTarget.value })} />}
      </Field>
      <Field name="comment_Text" faults={faults}>
        {(a) => <textarea {...a} rows={2} value={draft.comment_Text} onInput={(e) => set({ comment_Text: e.currentTarget.value })} />}
      </Field>
    </>
  );
}

/** What the map shows of a draft. */
function shapesOf(d: HazardDraft): Geometry[] {
  const out: Geometry[] = [];
  const { geometry } = geometryOf(d);
  if (geometry) out.push(geometry);
  const drawn = cornersOf(d.area);
  if (drawn !== undefined) {
    const corners = [...parseCorners(drawn).corners];
    if ((!geometry || d.area.kind === "buffer") && corners.length > 1) out.push({ type: "LineString", coordinates: corners });
    for (const coordinates of corners) out.push({ type: "Point", coordinates });
  }
  const { at, rim } = handles(d);
  for (const coordinates of [at, rim]) if (coordinates) out.push({ type: "Point", coordinates });
  return out;
}

/** The position of a draft, and where the edge of its circle is held: east of it. */
function handles(d: HazardDraft): { readonly at?: Position; readonly rim?: Position } {
  const at = [decimal(d.longitude), decimal(d.latitude)];
  if (at.some(Number.isNaN) || Math.abs(at[1]!) > 90) return {};
  if (d.area.kind !== "circle" || geometryOf(d).fault) return { at };
  return { at, rim: circle(at, decimal(d.area.radius) * 1000, 4).coordinates[0]![3]! };
}

const kilometres = (metres: number): string => String(Number((metres / 1000).toPrecision(4)));

/** Takes clicks on the map for as long as the form wants them. */
function useClicks(page: Page, draft: HazardDraft | undefined, set: (change: Partial<HazardDraft>) => void): void {
  const { store, editing } = page;
  const latest = useRef({ draft, set });
  latest.current = { draft, set };
  const placing = editing.placing.value;
  useEffect(() => {
    if (!placing) return;
    const map = page.map.peek()?.map;
    map?.doubleClickZoom.disable();
    const clicked = (longitude: number, latitude: number) => {
      const { draft: d, set } = latest.current;
      if (!d) return;
      const [latitudeWords, longitudeWords] = formatCorner([longitude, latitude]).split(", ") as [string, string];
      switch (editing.placing.peek()) {
        case "place":
          set({ latitude: latitudeWords, longitude: longitudeWords });
          editing.placing.value = d.area.kind === "circle" ? "rim" : undefined;
          break;
        case "corner": {
          const drawn = cornersOf(d.area);
          if (drawn === undefined) break;
          // A click on the first corner closes the area.
          if (closes(page, drawn, [longitude, latitude])) {
            if (d.area.kind === "buffer") set({ area: { ...d.area, closed: true } });
            editing.placing.value = undefined;
          } else set({ area: withCorners(d.area, `${drawn.trim()}\n${latitudeWords}, ${longitudeWords}`.trim()) });
          break;
        }
        case "rim": {
          const center = [decimal(d.longitude), decimal(d.latitude)];
          if (center.some(Number.isNaN)) set({ latitude: latitudeWords, longitude: longitudeWords });
          else {
            set({ area: { kind: "circle", radius: kilometres(distance(center, [longitude, latitude])) } });
            editing.placing.value = undefined;
          }
        }
      }
    };
    store.placing.value = clicked;
    const stop = store.placing.subscribe((f) => {
      if (f !== clicked) editing.placing.value = undefined; // Escape
    });
    return () => {
      stop();
      if (store.placing.peek() === clicked) store.placing.value = undefined;
      map?.doubleClickZoom.enable();
    };
  }, [placing]);
}

const closes = (page: Page, words: string, at: Position): boolean => {
  const { corners } = parseCorners(words);
  return corners.length >= 3 && page.map.peek()?.near(corners[0]!, at) === true;
};

/** Lets the corners of a polygon be dragged on the map, and the middle and the edge of a circle. */
function useCorners(page: Page, draft: HazardDraft | undefined, set: (change: Partial<HazardDraft>) => void): void {
  const latest = useRef({ draft, set });
  latest.current = { draft, set };
  const map = page.map.value;
  const kind = draft?.area.kind;
  const drawing = kind === "polygon" || kind === "buffer" || kind === "circle";
  useEffect(() => {
    if (!map || !drawing) return;
    const lines = () => {
      const area = latest.current.draft?.area;
      return ((area && cornersOf(area)) ?? "").split("\n").filter((line) => line.trim() !== "");
    };
    return map.dragCorners(
      () => {
        const { draft } = latest.current;
        if (draft?.area.kind !== "circle") return parseCorners(lines().join("\n")).corners;
        const { at, rim } = handles(draft);
        return rim ? [rim, at!] : []; // for a small circle, grab the edge first
      },
      (index, longitude, latitude) => {
        const { draft, set } = latest.current;
        const words = formatCorner([longitude, latitude]);
        if (!draft) return;
        if (draft.area.kind !== "circle") return set({ area: withCorners(draft.area, lines().map((line, i) => (i === index ? words : line)).join("\n")) });
        if (index === 0) return set({ area: { kind: "circle", radius: kilometres(distance(handles(draft).at!, [longitude, latitude])) } });
        const [latitudeWords, longitudeWords] = words.split(", ") as [string, string];
        set({ latitude: latitudeWords, longitude: longitudeWords });
      },
    );
  }, [map, drawing]);
}

/** Shows what somebody else changes while the form is open, before it is overwritten. */
function Meanwhile({ state }: { state: HazardState }) {
  const { store } = usePage();
  const now = store.live.value.get(state.h.hazard_ID);
  if (!now || Number(now.update_Date) <= Number(state.h.update_Date)) return null;
  return (
    <div class="note" role="status">
      <p>{words.meanwhileWho({ who: now.update_User ?? now.creator })}</p>
      <Changes list={clashes(state.h, { ...now, snc_url: state.h.snc_url }, {}, hazardNames)} />
    </div>
  );
}

/**
 * The confirmation before people are warned: what, where and how large, with a second step that
 * cannot happen by accident.
 */
function WarningQuestion({ waiting, drill, busy, yes, no }: { waiting: Waiting; drill: boolean; busy: boolean; yes: () => void; no: () => void }) {
  const page = usePage();
  const [checked, setChecked] = useState(false);
  const { draft, state, change } = waiting;
  const { store } = page;
  const now = state && store.live.value.get(state.h.hazard_ID);
  // What others change while the question is open takes the yes back; the form shows it, and asks.
  const changed = now && now.update_Date !== state.h.update_Date ? clashes(state.h, { ...now, snc_url: state.h.snc_url }, {}, hazardNames.filter((name) => name !== "area")) : [];
  const end = Number(change["end_Date"] ?? state?.h.end_Date ?? NaN);
  const rule = page.editing.drafts.value?.waits("WARNING");
  const { geometry } = geometryOf(draft);
  const shapes = geometry ? [geometry] : geometry === undefined ? (state?.shapes ?? []).filter((s, _, all) => s.role === "alert" || !all.some((x) => x.role === "alert")).map((s) => s.geometry) : [];
  const [towns, setTowns] = useState<readonly string[]>([]);
  useEffect(() => {
    const whole: Geometry = { type: "GeometryCollection", geometries: shapes };
    const box = extent(whole)?.box;
    const map = page.map.peek();
    if (!box || !map) return;
    let over = false;
    void map.look(box).then(() => !over && setTowns(map.towns(whole)));
    return () => {
      over = true;
    };
  }, []);
  return (
    <Dialog title={drill ? words.warnDrill : words.warnReal} close={no} class={`dialog-area ${drill ? "dialog-drill" : "dialog-warning"}`}>
      <p class="warn-what">
        <Symbol h={draft as never} size={48} />
        <span>
          <strong dir="auto">{draft.hazard_Name}</strong>
          <Badge id="WARNING" />
          {drill && <span class="drill-tag">{text.drill.word}</span>}
        </span>
      </p>
      <p>{rule === "yes" ? words.askSecondText : drill ? words.warnDrillText : words.warnRealText}</p>
      {rule === "perhaps" && <p>{words.askPerhaps({ n: page.editing.drafts.value!.rule.value.people })}</p>}
      {end <= store.api.now() && (
        <p class="fault" role="alert">
          <strong>{words.warnPast({ end: local(end) })}</strong>
        </p>
      )}
      <h3>{words.warnArea}</h3>
      <AreaPicture shapes={shapes} places={towns} />
      {!drill && (
        <label class="switch warn-check">
          <input type="checkbox" checked={checked} onChange={(e) => setChecked(e.currentTarget.checked)} />
          <span>{words.warnCheck}</span>
        </label>
      )}
      {changed.length > 0 && (
        <div role="alert">
          <p class="fault">{words.meanwhile}</p>
          <Changes list={changed} />
        </div>
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={no}>{words.warnBack}</button>
        <button type="button" class={drill ? "drill-button" : "danger"} disabled={busy || changed.length > 0 || (!drill && !checked)} onClick={yes}>
          {busy ? words.saving : rule === "yes" ? words.askSecond : drill ? words.warnGoDrill : words.warnGo}
        </button>
      </div>
    </Dialog>
  );
}
