// The form of a subscription.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { LoggedOutError, Problem } from "../api";
import { byName, categories, categoryName, severities, severityName, typeName, types } from "../model";
import { toggled } from "../filter";
import type { Faults } from "../edit/draft";
import { Fault, Field } from "../edit/inputs";
import { formatCorner, parseCorners, rounded, squareKilometres } from "../geometry";
import { languages, locale, tell, text } from "../words";
import { usePage } from "../ui/context";
import { Icon, IconButton, useData } from "../ui/parts";
import { awaitsCode, bodyOf, placed, pointAt, RADIUS, shapesOf, type ChannelDraft, type Digest, type Offered, type Subscription, type TellDraft } from "./draft";
import { countryName, explain, templateName } from "./names";
import { canPush, isOf, push, pushed, RefusedError } from "./push";

const digests: readonly Digest[] = ["none", "daily", "weekly"];

type Set = (change: Partial<TellDraft>) => void;

export function Form({ offered, done, cancel }: { offered: Offered; done: (words: string) => void; cancel: (() => void) | undefined }) {
  const page = usePage();
  const { store } = page;
  const draft = page.tellDraft.value!;
  const [faults, setFaults] = useState<Faults>({});
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const set: Set = (change) => (page.tellDraft.value = { ...page.tellDraft.peek()!, ...change });
  const user = store.api.user;
  useEffect(() => page.editing.draw(shapesOf(draft)), [draft.points, draft.area]);
  useEffect(() => () => page.editing.clear(), []);

  function refuse(by: Faults) {
    setFaults(by);
    setNote(by[""] ?? tell.faults);
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"], .fault-group')?.focus());
  }
  async function submit() {
    if (busy) return;
    setNote("");
    const { body, faults } = bodyOf(draft, user !== undefined);
    if (Object.keys(faults).length > 0) return refuse(faults);
    setFaults({});
    setBusy(true);
    try {
      const answer = draft.id ? await store.api.write<Subscription>("PATCH", `/subscriptions/${draft.id}`, body) : await store.api.write<Subscription>("POST", "/subscriptions", body);
      const waiting = (answer?.channels ?? []).filter((c) => c.status === "unconfirmed");
      done(waiting.some((c) => c.kind === "http") ? tell.confirmCode : waiting.length > 0 ? tell.confirm : tell.saved);
    } catch (error) {
      if (error instanceof Problem && error.faults.length > 0) refuse(placed(error.faults, shownOf(draft)));
      else if (!(error instanceof LoggedOutError)) setNote(explain(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <form
      class="edit-form tell-form"
      ref={form}
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        void submit();
      }}
    >
      {user && user.role !== "reader" && (
        <label class="choice">
          <input type="checkbox" checked={draft.drafts} onChange={(e) => set({ drafts: e.currentTarget.checked })} />
          <span>
            <strong>{tell.drafts}</strong>
            <span class="muted">{tell.draftsHint}</span>
          </span>
        </label>
      )}
      {!draft.drafts && <Places draft={draft} set={set} faults={faults} offered={offered} />}
      {!draft.drafts && <What draft={draft} set={set} faults={faults} />}
      <How draft={draft} set={set} faults={faults} offered={offered} note={setNote} />
      {!draft.drafts && <When draft={draft} set={set} faults={faults} />}
      <Field name="name" label={tell.field.name} faults={faults} hint={tell.nameHint}>
        {(a) => <input {...a} maxLength={100} autocomplete="off" value={draft.name} onInput={(e) => set({ name: e.currentTarget.value })} />}
      </Field>
      <div class="edit-foot">
        <p role="alert" class="fault">{note}</p>
        <div class="edit-buttons">
          <button type="submit" class="primary" disabled={busy}>{busy ? tell.saving : tell.save}</button>
          {cancel && <button type="button" onClick={cancel}>{tell.cancel}</button>}
        </div>
      </div>
    </form>
  );
}

const inputs = ["name", "where", "where/areas", "where/regions", "where/assets", "where/assets/within_km", "types", "categories", "severity_min", "people_min", "measure", "channels", "language",
  "time_zone", "quiet", "quiet/from", "quiet/to", "digest"];
/** The inputs at which a fault can be shown. */
const shownOf = (d: TellDraft): ReadonlySet<string> =>
  new Set([
    ...inputs,
    ...(d.channels.some(awaitsCode) ? ["code"] : []),
    ...d.points.flatMap((_, i) => ["", "/name", "/lat", "/lon", "/radius_km"].map((end) => `where/points/${i}${end}`)),
    ...d.channels.map((_, i) => `channels/${i}`),
  ]);

/** A group of inputs with their errors. */
function Group({ title, name, faults, children }: { title: string; name: string; faults: Faults; children: ComponentChildren }) {
  const fault = faults[name];
  return (
    <fieldset class={fault ? "fault-group" : ""} tabIndex={fault ? -1 : undefined} aria-describedby={fault ? `tell-${name}-fault` : undefined}>
      <legend>{title}</legend>
      <Fault id={`tell-${name}-fault`} words={fault} />
      {children}
    </fieldset>
  );
}

function Places({ draft, set, faults, offered }: { draft: TellDraft; set: Set; faults: Faults; offered: Offered }) {
  const page = usePage();
  const { store } = page;
  const [drawing, setDrawing] = useState<"point" | "corner">();
  const [note, setNote] = useState("");
  const add = (at: readonly [number, number], name = "") => {
    set({ points: [...page.tellDraft.peek()!.points, pointAt(at, name)] });
    store.say(tell.added);
  };
  const point = (i: number, change: Partial<TellDraft["points"][number]>) => set({ points: draft.points.map((p, k) => (k === i ? { ...p, ...change } : p)) });
  const corners = draft.area && "corners" in draft.area ? draft.area.corners : undefined;
  const map = page.map.value;

  // Clicks on the map place a point once, or corners until the first is clicked again.
  useEffect(() => {
    if (!drawing || !map) return; // drawing needs a map
    const take = (longitude: number, latitude: number) => {
      if (drawing === "point") {
        add([longitude, latitude]);
        store.placing.value = undefined;
        return;
      }
      const had = page.tellDraft.peek()?.area;
      const lines = had && "corners" in had ? had.corners : "";
      const { corners } = parseCorners(lines);
      if (corners.length >= 3 && map.near(corners[0]!, [longitude, latitude])) store.placing.value = undefined;
      else set({ area: { corners: `${lines.trim()}\n${formatCorner([longitude, latitude])}`.trim() } });
    };
    store.placing.value = take;
    return () => {
      if (store.placing.peek() === take) store.placing.value = undefined;
    };
  }, [drawing, map]);
  // Escape, or the last corner, ends it.
  const placing = store.placing.value !== undefined;
  const was = useRef(false);
  useEffect(() => {
    if (was.current && !placing) setDrawing(undefined);
    was.current = placing;
  }, [placing]);
  useEffect(() => {
    if (!map || corners === undefined) return;
    const lines = () => {
      const area = page.tellDraft.peek()?.area;
      return area && "corners" in area ? area.corners.split("\n").filter((l) => l.trim() !== "") : [];
    };
    return map.dragCorners(
      () => parseCorners(lines().join("\n")).corners,
      (index, longitude, latitude) => set({ area: { corners: lines().map((l, i) => (i === index ? formatCorner([longitude, latitude]) : l)).join("\n") } }),
    );
  }, [map, corners === undefined]);

  // The position is only put into the form. It leaves this page when the form is saved, and can be
  // removed before.
  const here = () => {
    setNote("");
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        add([coords.longitude, coords.latitude], tell.hereName);
        setNote(tell.hereNote);
        map?.jump({ center: [coords.longitude, coords.latitude], zoom: Math.max(store.view.peek()?.zoom ?? 0, 8) });
      },
      (error) => setNote(error.code === error.PERMISSION_DENIED ? text.map.meDenied : text.map.meFailed),
      { maximumAge: 60_000, timeout: 20_000 },
    );
  };
  const countries = [...offered.regions].map((code) => [code, countryName(code)] as const).sort((a, b) => a[1].localeCompare(b[1], locale()));
  const center = store.view.value?.center;
  const geometry = draft.area && "geometry" in draft.area ? draft.area.geometry : undefined;
  return (
    <Group title={tell.where} name="where" faults={faults}>
      {draft.points.length + draft.regions.length === 0 && !draft.area && !draft.assets && <p class="hint">{store.api.user ? tell.whereWorld : tell.whereMissing}</p>}
      {draft.points.map((p, i) => {
        const at = `where/points/${i}`;
        return (
          <div class="tell-place" key={i} role="group" aria-label={tell.place({ n: i + 1 })}>
            <div class="tell-place-row">
              <Field name={`${at}/name`} label={tell.placeName} faults={faults}>
                {(a) => <input {...a} autocomplete="off" maxLength={100} placeholder={tell.place({ n: i + 1 })} value={p.name} onInput={(e) => point(i, { name: e.currentTarget.value })} />}
              </Field>
              <Field name={`${at}/radius_km`} label={tell.radius} faults={faults}>
                {(a) => <input {...a} inputMode="decimal" value={p.radius} onInput={(e) => point(i, { radius: e.currentTarget.value })} />}
              </Field>
              <IconButton icon="close" label={tell.removePlace({ n: i + 1 })} onClick={() => set({ points: draft.points.filter((_, k) => k !== i) })} />
            </div>
            <div class="tell-place-row">
              <Field name={`${at}/lat`} label={tell.latitude} faults={faults}>
                {(a) => <input {...a} inputMode="text" value={p.latitude} onInput={(e) => point(i, { latitude: e.currentTarget.value })} />}
              </Field>
              <Field name={`${at}/lon`} label={tell.longitude} faults={faults}>
                {(a) => <input {...a} inputMode="text" value={p.longitude} onInput={(e) => point(i, { longitude: e.currentTarget.value })} />}
              </Field>
            </div>
            <Fault words={faults[at]} />
          </div>
        );
      })}
      <div class="tell-buttons">
        {center && (
          <button type="button" onClick={() => add([...center])}>
            <Icon name="target" /> {tell.center}
          </button>
        )}
        {globalThis.isSecureContext && "geolocation" in navigator && (
          <button type="button" onClick={here}>
            <Icon name="me" /> {text.map.me}
          </button>
        )}
        {map && (
          <button type="button" aria-pressed={drawing === "point"} class={drawing === "point" ? "on" : ""} onClick={() => setDrawing(drawing === "point" ? undefined : "point")}>
            <Icon name="plus" /> {tell.onMap}
          </button>
        )}
        {!draft.area && (
          <button
            type="button"
            onClick={() => {
              set({ area: { corners: "" } });
              setDrawing("corner");
            }}
          >
            <Icon name="layers" /> {tell.draw}
          </button>
        )}
      </div>
      {note && <p class="hint" role="status">{note}</p>}
      {draft.area && (
        <div class="tell-place" role="group" aria-label={tell.area}>
          <div class="tell-place-row">
            {corners === undefined
              ? <p>{tell.areaKept({ km2: rounded(geometry ? squareKilometres(geometry) : 0) })}</p>
              : (
                <Field name="where/areas" label={tell.corners} faults={faults} hint={drawing === "corner" && map ? tell.clickCorners : undefined}>
                  {(a) => <textarea {...a} rows={3} spellcheck={false} value={corners} onInput={(e) => set({ area: { corners: e.currentTarget.value } })} />}
                </Field>
              )}
            <IconButton
              icon="close"
              label={tell.removeArea}
              onClick={() => {
                setDrawing(undefined);
                set({ area: undefined });
              }}
            />
          </div>
          {corners === undefined && <Fault words={faults["where/areas"]} />}
          {corners !== undefined && map && (
            <button
              type="button"
              class={`small ${drawing === "corner" ? "on" : ""}`}
              aria-pressed={drawing === "corner"}
              onClick={() => setDrawing(drawing === "corner" ? undefined : "corner")}
            >
              {drawing === "corner" ? tell.stopDrawing : tell.draw}
            </button>
          )}
        </div>
      )}
      <Assets draft={draft} set={set} faults={faults} />
      <Field name="where/regions" label={tell.country} faults={faults}>
        {(a) => (
          <select {...a} value="" onChange={(e) => set({ regions: toggled(draft.regions, e.currentTarget.value) })}>
            <option value="">{tell.chooseCountry}</option>
            {countries.filter(([code]) => !draft.regions.includes(code)).map(([code, name]) => <option key={code} value={code}>{name}</option>)}
          </select>
        )}
      </Field>
      {draft.regions.length > 0 && (
        <ul class="tell-chips">
          {draft.regions.map((code) => (
            <li key={code}>
              {countryName(code)} <IconButton icon="close" label={tell.removeCountry({ name: countryName(code) })} onClick={() => set({ regions: toggled(draft.regions, code) })} />
            </li>
          ))}
        </ul>
      )}
    </Group>
  );
}

/** The places that an organization of the user has loaded. */
function Assets({ draft, set, faults }: { draft: TellDraft; set: Set; faults: Faults }) {
  const { store } = usePage();
  const member = (store.api.user?.orgs.length ?? 0) > 0;
  const account = useData(member ? "account" : undefined, (signal) => store.api.get<"/account">("/account", { signal }));
  const { assets } = draft;
  if (assets) {
    return (
      <div class="tell-place-row" role="group" aria-label={tell.assetsOf({ organization: assets.organization })}>
        <Field name="where/assets/within_km" label={`${tell.assetsOf({ organization: assets.organization })}: ${tell.within}`} faults={faults} hint={tell.withinHint}>
          {(a) => <input {...a} inputMode="decimal" value={assets.within} onInput={(e) => set({ assets: { ...assets, within: e.currentTarget.value } })} />}
        </Field>
        <IconButton icon="close" label={tell.removeAssets({ organization: assets.organization })} onClick={() => set({ assets: undefined })} />
        <Fault words={faults["where/assets"]} />
      </div>
    );
  }
  if (!account.data) return null;
  return (
    <div class="tell-buttons">
      {account.data.orgs.map((o) => (
        <button type="button" key={o.id} onClick={() => set({ assets: { organization: o.acronym, within: RADIUS } })}>
          <Icon name="plus" /> {tell.assetsOf({ organization: o.acronym })}
        </button>
      ))}
    </div>
  );
}

function What({ draft, set, faults }: { draft: TellDraft; set: Set; faults: Faults }) {
  const more = draft.categories.length > 0 || draft.people !== "" || draft.measure !== "" || faults["categories"] !== undefined || faults["people_min"] !== undefined ||
    faults["measure"] !== undefined;
  return (
    <Group title={tell.what} name="types" faults={faults}>
      <Field name="severity_min" label={tell.level} faults={faults}>
        {(a) => (
          <select {...a} value={draft.severity} onChange={(e) => set({ severity: e.currentTarget.value })}>
            {[...severities].reverse().filter((s) => s.rank > 0).map((s) => <option key={s.id} value={s.id}>{s.id === "WARNING" ? severityName(s) : tell.orWorse({ level: severityName(s) })}</option>)}
            <option value="">{tell.allLevels}</option>
          </select>
        )}
      </Field>
      <details class="tell-more">
        <summary>{draft.types.length === 0 ? tell.allTypes : tell.someTypes({ n: draft.types.length })}</summary>
        <Checks legend={tell.types} all={byName(types, typeName)} chosen={draft.types} name={typeName} choose={(types) => set({ types })} />
      </details>
      <details class="tell-more" open={more}>
        <summary>{tell.more}</summary>
        <Field name="people_min" label={tell.peopleMin} faults={faults} hint={tell.peopleHint}>
          {(a) => <input {...a} inputMode="numeric" value={draft.people} onInput={(e) => set({ people: e.currentTarget.value })} />}
        </Field>
        <Field name="measure" label={tell.measure} faults={faults} hint={tell.measureHint}>
          {(a) => <input {...a} autocomplete="off" spellcheck={false} placeholder="magnitude:6.." value={draft.measure} onInput={(e) => set({ measure: e.currentTarget.value })} />}
        </Field>
        <Checks legend={tell.categories} all={categories.filter((c) => c !== "EXERCISE")} chosen={draft.categories} name={categoryName} choose={(categories) => set({ categories })} />
        <Fault words={faults["categories"]} />
      </details>
      <label class="switch">
        <input type="checkbox" checked={draft.drills} onChange={(e) => set({ drills: e.currentTarget.checked })} />
        <span>{tell.field.drills}</span>
      </label>
    </Group>
  );
}

function Checks({ legend, all, chosen, name, choose }: { legend: string; all: readonly string[]; chosen: readonly string[]; name: (id: string) => string; choose: (chosen: string[]) => void }) {
  return (
    <fieldset class="choice-list">
      <legend>{legend}</legend>
      {all.map((id) => (
        <label key={id}>
          <input type="checkbox" checked={chosen.includes(id)} onChange={() => choose([...toggled(chosen, id)])} />
          <span>{name(id)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function How({ draft, set, faults, offered, note }: { draft: TellDraft; set: Set; faults: Faults; offered: Offered; note: (words: string) => void }) {
  const { store } = usePage();
  const [own, setOwn] = useState<PushSubscription>();
  const [busy, setBusy] = useState(false);
  useEffect(() => void pushed().then(setOwn, () => {}), []);
  const change = (i: number, c: Partial<ChannelDraft>) => set({ channels: draft.channels.map((x, k) => (k === i ? { ...x, ...c, status: undefined, reason: undefined } : x)) });
  const add = (c: ChannelDraft) => set({ channels: [...draft.channels, c] });
  const told = draft.channels.some((c) => c.kind === "webpush" && isOf(own, c.to));
  async function browser(key: string) {
    note("");
    setBusy(true);
    try {
      const to = await push(key);
      setOwn(await pushed());
      if (!draft.channels.some((c) => c.to === to)) add({ kind: "webpush", to });
    } catch (error) {
      note(error instanceof RefusedError ? tell.browserRefused : tell.browserFailed({ why: error instanceof Error ? error.message : String(error) }));
    } finally {
      setBusy(false);
    }
  }
  const label = (c: ChannelDraft) => (c.kind === "email" ? tell.email : c.kind === "webpush" ? (isOf(own, c.to) ? tell.thisBrowser : tell.browser) : templateName(c.template));
  const webpush = offered.webpush;
  return (
    <Group title={tell.how} name="channels" faults={faults}>
      {draft.channels.map((c, i) => (
        <div class="tell-place-row" key={i}>
          {c.kind === "webpush"
            ? (
              <div class="field">
                <span>
                  <Icon name="bell" /> {label(c)}
                </span>
                <Fault words={faults[`channels/${i}`]} />
              </div>
            )
            : (
              <Field name={`channels/${i}`} label={label(c)} faults={faults} hint={c.kind === "http" ? offered.http.find((h) => h.template === c.template)?.about : undefined}>
                {(a) => (
                  <input
                    {...a}
                    type="text"
                    dir="ltr"
                    inputMode={c.kind === "email" ? "email" : "url"}
                    autocomplete={c.kind === "email" ? "email" : "off"}
                    value={c.to}
                    onInput={(e) => change(i, { to: e.currentTarget.value })}
                  />
                )}
              </Field>
            )}
          {c.status && c.status !== "active" && <span class="flag">{tell.states[awaitsCode(c) ? "awaitsCode" : (c.status as "unconfirmed" | "suspended")]}</span>}
          {(store.api.user || c.kind !== "email" || draft.channels.filter((x) => x.kind === "email").length > 1) && (
            <IconButton
              icon="close"
              label={tell.removeChannel({ name: label(c) })}
              onClick={() => set({ channels: draft.channels.filter((_, k) => k !== i) })}
            />
          )}
        </div>
      ))}
      {draft.channels.some(awaitsCode) && (
        <Field name="code" label={tell.code} faults={faults} hint={tell.codeHint}>
          {(a) => <input {...a} type="text" inputMode="numeric" autocomplete="one-time-code" maxLength={12} value={draft.code} onInput={(e) => set({ code: e.currentTarget.value })} />}
        </Field>
      )}
      {draft.channels.some((c) => c.kind === "email") && <p class="hint">{tell.emailHint}</p>}
      <div class="tell-buttons">
        {offered.email && draft.channels.every((c) => c.kind !== "email" || c.to.trim() !== "") && draft.channels.length < 5 && (
          <button type="button" onClick={() => add({ kind: "email", to: "" })}>{tell.addEmail}</button>
        )}
        {webpush && canPush() && !told && <button type="button" disabled={busy} onClick={() => void browser(webpush.public_key)}>{tell.addBrowser}</button>}
        {offered.http.map((h) => (
          <button type="button" key={h.template} onClick={() => add({ kind: "http", to: "", template: h.template })}>
            <Icon name="plus" /> {templateName(h.template)}
          </button>
        ))}
      </div>
      {webpush && !canPush() && <p class="hint">{tell.browserCannot}</p>}
    </Group>
  );
}

function When({ draft, set, faults }: { draft: TellDraft; set: Set; faults: Faults }) {
  const quiet = (change: Partial<TellDraft["quiet"]>) => set({ quiet: { ...draft.quiet, ...change } });
  const zones = Intl.supportedValuesOf("timeZone");
  return (
    <Group title={tell.when} name="quiet" faults={faults}>
      <div class="segments" role="radiogroup" aria-label={tell.digest}>
        {digests.map((d) => (
          <label key={d} class={draft.digest === d ? "on" : ""}>
            <input type="radio" name="digest" checked={draft.digest === d} onChange={() => set({ digest: d })} />
            <span>{tell.digests[d]}</span>
          </label>
        ))}
      </div>
      <Fault words={faults["digest"]} />
      {draft.digest === "none" && (
        <>
          <label class="switch">
            <input type="checkbox" checked={draft.quiet.on} onChange={(e) => quiet({ on: e.currentTarget.checked })} />
            <span>{tell.quiet}</span>
          </label>
          {draft.quiet.on && (
            <div class="tell-quiet">
              {(["from", "to"] as const).map((end) => (
                <Field key={end} name={`quiet/${end}`} label={tell.quietEnds[end]} faults={faults}>
                  {(a) => <input {...a} type="time" value={draft.quiet[end]} onInput={(e) => quiet({ [end]: e.currentTarget.value })} />}
                </Field>
              ))}
              <Field name="quiet/except" label={tell.quietExcept} faults={faults}>
                {(a) => (
                  <select {...a} value={draft.quiet.except} onChange={(e) => quiet({ except: e.currentTarget.value })}>
                    {[...severities].reverse().filter((s) => s.rank > 1).map((s) => (
                      <option key={s.id} value={s.id}>{s.id === "WARNING" ? severityName(s) : tell.orWorse({ level: severityName(s) })}</option>
                    ))}
                  </select>
                )}
              </Field>
            </div>
          )}
        </>
      )}
      <div class="two-columns">
        <Field name="language" label={text.header.language} faults={faults}>
          {(a) => (
            <select {...a} value={draft.language} onChange={(e) => set({ language: e.currentTarget.value })}>
              {!languages.some((l) => l.id === draft.language) && <option value={draft.language}>{draft.language || "–"}</option>}
              {languages.map((l) => <option key={l.id} value={l.id} lang={l.id} dir={l.dir}>{l.name}</option>)}
            </select>
          )}
        </Field>
        <Field name="time_zone" label={tell.zone} faults={faults}>
          {(a) => (
            <select {...a} value={draft.zone} onChange={(e) => set({ zone: e.currentTarget.value })}>
              {!zones.includes(draft.zone) && <option value={draft.zone}>{draft.zone}</option>}
              {zones.map((z) => <option key={z} value={z}>{z.replaceAll("_", " ")}</option>)}
            </select>
          )}
        </Field>
      </div>
    </Group>
  );
}
