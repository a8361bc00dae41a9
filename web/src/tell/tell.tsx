// The reader's subscriptions and the form of one, instead of the panel. Unsaved input stays when
// they are closed.
import { useEffect, useRef, useState } from "preact/hooks";
import { LoggedOutError } from "../api";
import { language, listed, tell, text } from "../words";
import { deviceZone } from "../time";
import { severity, severityName, typeName } from "../model";
import { usePage } from "../ui/context";
import { Ago, Icon, IconButton, Loading, useData } from "../ui/parts";
import { awaitsCode, draftOf, emptyDraft, type Subscription } from "./draft";
import { Form } from "./form";
import { countryName, explain, templateName } from "./names";
import { canPush, isOf, pushed } from "./push";
import "./tell.css";

/** As many as are listed at once: a user has fewer. */
const MOST = 1_000;
const MESSAGES = 10;

export function Tell() {
  const page = usePage();
  const { store } = page;
  const [tall, setTall] = useState(false);
  const [note, setNote] = useState("");
  const title = useRef<HTMLHeadingElement>(null);
  const draft = page.tellDraft.value;
  const user = store.api.user;
  const offered = page.offered.value;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Without an account there is nothing to list.
    if (!user && offered && !page.tellDraft.peek()) page.tellDraft.value = fresh();
    title.current?.focus();
    const back = document.activeElement;
    return () => {
      store.placing.value = undefined;
      page.editing.clear();
      if (back instanceof HTMLElement && back.isConnected) back.focus();
    };
  }, []);
  const fresh = () => emptyDraft(offered!, language().id, deviceZone());
  const done = (words: string) => {
    setNote(words);
    store.say(words);
    page.tellDraft.value = undefined;
    body.current?.scrollTo(0, 0);
    title.current?.focus();
  };
  return (
    <section class={`panel ${tall ? "tall" : ""}`} id="panel" aria-label={tell.title}>
      <button type="button" class="sheet-handle" aria-expanded={tall} aria-label={tall ? text.panel.smaller : text.panel.larger} onClick={() => setTall(!tall)}>
        <span />
      </button>
      <header class="panel-head">
        <div>
          <h2 ref={title} tabIndex={-1}>{!draft ? tell.title : draft.id ? tell.titleChange : tell.titleNew}</h2>
        </div>
        <IconButton icon="close" label={text.close} onClick={() => (page.telling.value = false)} class="panel-close" />
      </header>
      <div class="panel-body" ref={body}>
        <p class="muted">{user ? tell.intro : tell.anonymous}</p>
        {note && <p class="note" role="status">{note}</p>}
        {draft && offered
          ? <Form key={draft.id ?? ""} offered={offered} done={done} cancel={user ? () => (page.tellDraft.value = undefined) : undefined} />
          : user
          ? <Mine add={() => (setNote(""), page.tellDraft.value = fresh())} note={setNote} />
          : <button type="button" onClick={() => (setNote(""), page.tellDraft.value = fresh())}>{tell.add}</button>}
      </div>
    </section>
  );
}

function Mine({ add, note }: { add: () => void; note: (words: string) => void }) {
  const page = usePage();
  const { store } = page;
  const [changes, setChanges] = useState(0);
  const [own, setOwn] = useState<PushSubscription>();
  const state = useData<readonly Subscription[]>(`subscriptions ${changes}`, (signal) => store.api.get<"/subscriptions">(`/subscriptions?mine=true&limit=${MOST}`, { signal }));
  useEffect(() => void pushed().then(setOwn, () => {}), [changes]);
  /** Performs a button's action, and reloads the list. */
  async function act(what: () => Promise<unknown>, words = "") {
    note("");
    try {
      await what();
      note(words);
    } catch (error) {
      if (!(error instanceof LoggedOutError)) note(explain(error));
    }
    setChanges((n) => n + 1);
  }
  /** Removes this browser from all subscriptions, and ends its push subscription. */
  const stop = (list: readonly Subscription[], browser: PushSubscription) =>
    act(async () => {
      for (const s of list) {
        const channels = s.channels.filter((c) => !isOf(browser, c.to));
        if (channels.length === s.channels.length) continue;
        const path = `/subscriptions/${s.id}`;
        if (channels.length === 0) await store.api.write("DELETE", path);
        else await store.api.write("PATCH", path, { channels: channels.map(({ kind, to, template }) => ({ kind, to, ...(template ? { template } : {}) })) });
      }
      await browser.unsubscribe();
    }, tell.browserStopped);
  return (
    <>
      <p>
        <button type="button" class="primary" onClick={add}>
          <Icon name="plus" /> {tell.add}
        </button>
      </p>
      <Loading state={state}>
        {(list) => (
          <>
            {list.length === 0 && <p class="muted">{tell.none}</p>}
            <ul class="tell-list">
              {list.map((s) => <Item key={s.id} s={s} own={own} act={act} change={() => (note(""), page.tellDraft.value = draftOf(s))} />)}
            </ul>
            {canPush() && own && (
              <p class="tell-browser">
                {tell.browserOn} <button type="button" class="small" onClick={() => void stop(list, own)}>{tell.browserStop}</button>
              </p>
            )}
          </>
        )}
      </Loading>
    </>
  );
}

function Item({ s, own, act, change }: { s: Subscription; own: PushSubscription | undefined; act: (what: () => Promise<unknown>, words?: string) => Promise<void>; change: () => void }) {
  const { store } = usePage();
  const [removing, setRemoving] = useState(false);
  const [tested, setTested] = useState("");
  const [shown, setShown] = useState(false);
  const path = `/subscriptions/${s.id}`;
  const name = s.name || placesOf(s);
  const about = [
    s.name ? placesOf(s) : "",
    s.severity_min ? tell.atLeast({ level: severityName(severity(s.severity_min)) }) : "",
    listed(s.types.map(typeName)),
    s.people_min ? tell.people({ n: s.people_min }) : "",
    s.quiet?.from ? tell.quietFrom({ from: s.quiet.from, to: s.quiet.to ?? "", zone: s.time_zone }) : "",
    s.digest === "none" ? "" : tell.digests[s.digest],
    s.drills ? tell.field.drills : "",
  ].filter(Boolean);
  async function test() {
    setTested(tell.testing);
    try {
      const came = (await (await store.api.request(`${path}/test`, { method: "POST", timeout: 60_000 })).json()) as readonly { channel: string; delivered: boolean; error?: string }[];
      setTested(came.map((c) => `${channelName(s, c.channel)}: ${c.delivered ? tell.tested : c.error ?? ""}`).join("\n"));
    } catch (error) {
      setTested(explain(error));
    }
  }
  return (
    <li class={s.status}>
      <h3>
        <bdi>{name}</bdi> {s.status === "paused" && <span class="flag">{tell.paused}</span>}
      </h3>
      {about.length > 0 && <p class="muted">{about.join(" · ")}</p>}
      <ul>
        {s.channels.map((c) => (
          <li key={c.id}>
            <span class="break">{c.kind === "webpush" ? (isOf(own, c.to) ? tell.thisBrowser : tell.browser) : c.kind === "http" ? `${templateName(c.template)}: ${c.to}` : c.to}</span>
            {c.status !== "active" && <span class="flag">{tell.states[awaitsCode(c) ? "awaitsCode" : c.status]}</span>}
            {c.reason && <span class="muted">{c.reason}</span>}
          </li>
        ))}
      </ul>
      {removing
        ? (
          <p class="tell-buttons" role="group" aria-label={tell.removeAsk}>
            <span>{tell.removeAsk}</span>
            <button type="button" class="danger" onClick={() => void act(() => store.api.request(path, { method: "DELETE", allow: [404] }), tell.removed)}>{tell.removeYes}</button>
            <button type="button" onClick={() => setRemoving(false)}>{tell.removeNo}</button>
          </p>
        )
        : (
          <p class="tell-buttons">
            <button type="button" aria-label={`${tell.change}: ${name}`} onClick={change}>{tell.change}</button>
            <button
              type="button"
              aria-label={`${s.status === "paused" ? tell.resume : tell.pause}: ${name}`}
              onClick={() => void act(() => store.api.write("PATCH", path, { status: s.status === "paused" ? "active" : "paused" }))}
            >
              {s.status === "paused" ? tell.resume : tell.pause}
            </button>
            <button type="button" aria-label={`${tell.test}: ${name}`} onClick={() => void test()}>{tell.test}</button>
            <button type="button" aria-label={`${tell.remove}: ${name}`} onClick={() => setRemoving(true)}>{tell.remove}</button>
          </p>
        )}
      <p role="status" class="lines">{tested}</p>
      <details onToggle={(e) => setShown(e.currentTarget.open)}>
        <summary>{tell.messages}</summary>
        {shown && <Messages s={s} />}
      </details>
    </li>
  );
}

/** The last messages, as they were sent. */
function Messages({ s }: { s: Subscription }) {
  const { store } = usePage();
  const state = useData(`notices/${s.id}`, (signal) => store.api.get<"/subscriptions/{subscription-id}/notices">(`/subscriptions/${s.id}/notices?limit=${MESSAGES}`, { signal }));
  return (
    <Loading state={state}>
      {(list) =>
        list.length === 0 ? <p class="muted">{tell.noMessages}</p> : (
          <ul class="tell-messages">
            {list.map((n) => (
              <li key={n.id}>
                <p class="muted">
                  <Ago at={Date.parse(n.last ?? n.created)} /> · {channelName(s, n.channel)} · {tell.notices[n.state]}
                </p>
                {n.error && <p class="warn-text">{n.error}</p>}
                {n.text && <p class="lines" dir="auto">{n.text}</p>}
              </li>
            ))}
          </ul>
        )}
    </Loading>
  );
}

function channelName(s: Subscription, id: string): string {
  const c = s.channels.find((c) => c.id === id);
  return !c ? id : c.kind === "webpush" ? tell.browser : c.kind === "http" ? templateName(c.template) : c.to;
}

function placesOf(s: Subscription): string {
  const where = s.where;
  if (s.drafts) return tell.drafts;
  if (!where) return tell.world;
  return listed([
    ...(where.points ?? []).map((p) => p.name || tell.around({ radius: p.radius_km, latitude: p.lat.toFixed(2), longitude: p.lon.toFixed(2) })),
    ...(where.areas ? [tell.area] : []),
    ...(where.assets ? [tell.assets({ organization: where.assets.organization, km: where.assets.within_km })] : []),
    ...(where.regions ?? []).map(countryName),
  ]);
}
