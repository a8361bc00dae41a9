// Whether the view is up to date: the connection, the server's store and the sources.
import { useEffect } from "preact/hooks";
import { trust, type Sources as SourcesState } from "../freshness";
import { isDrill } from "../model";
import { byId, listed, names, text } from "../words";
import { clock, local, relative, short, span } from "../time";
import { usePage } from "./context";
import { forEditors } from "./later";
import { Menu } from "./parts";

const Waiting = forEditors(async () => (await import("../edit/forms")).Waiting);
const WhyLink = forEditors(async () => (await import("../edit/forms")).WhyLink);

/** In the header: live or not, and how old. It opens the state of every source. */
export function Status() {
  const page = usePage();
  const { store } = page;
  const c = store.connection.value;
  const age = c.heard === undefined ? undefined : store.now.value - c.heard;
  const worth = trust(c.fresh.sources);
  const state = c.state === "lost"
    ? "lost"
    : c.state === "connecting" || page.partly.value
    ? "wait"
    : worth !== "good" && worth !== "unknown" || c.fresh.viewAge !== undefined
    ? "warn"
    : store.past.value
    ? "wait"
    : "ok";
  const words = c.state === "connecting"
    ? text.status.connecting
    : c.state === "lost"
    ? text.status.offline({ age: age === undefined ? "" : span(age) })
    : store.past.value
    ? text.status.past
    : page.partly.value
    ? text.status.partly
    : text.status.live;
  return (
    <Menu
      text
      class="status"
      label={text.status.title}
      button={
        <>
          <span class={`dot ${state}`} aria-hidden="true" />
          <span class="status-words">{words}</span>
          {c.state === "live" && age !== undefined && age >= 2_000 && <span class="status-age">{text.status.heard({ age: span(age) })}</span>}
          {c.state === "live" && <span class="status-stale">{doubt(c.fresh.sources)}</span>}
        </>
      }
    >
      <Sources />
    </Menu>
  );
}

/** Why the view may be incomplete or out of date, in a few words; "" if there is no reason. */
function doubt(s: SourcesState | undefined): string {
  switch (trust(s)) {
    case "unread":
      return text.status.unread;
    case "none":
      return text.status.noSources;
    case "partly":
      return s!.damaged ? text.status.damaged({ n: s!.damaged }) : s!.stale + s!.failing > 0
        ? s!.names.length > 0 && s!.names.length <= 3 ? text.status.stale({ names: listed(s!.names) }) : text.status.staleMany({ n: s!.stale + s!.failing })
        : text.status.starting({ n: s!.starting });
    default:
      return "";
  }
}

function Sources() {
  const { store, editing } = usePage();
  useEffect(() => {
    void store.readSources();
    const timer = setInterval(() => void store.readSources(), 15_000);
    return () => clearInterval(timer);
  }, []);
  const s = store.connection.value.fresh.sources;
  return (
    <div class="sources">
      <h2>{text.status.title}</h2>
      {s && (
        <p class={trust(s) === "good" ? "muted" : "warn-text"}>
          {trust(s) === "unread" ? text.status.unreadLong : trust(s) === "partly" ? `${doubt(s)}. ${text.status.staleLong}` : s.ok > 0 ? text.status.sourcesOk({ n: s.ok }) : text.list.none.none}
        </p>
      )}
      {Math.abs(store.api.skew) > 30_000 && <p class="warn-text">{(store.api.skew > 0 ? text.status.clockBehind : text.status.clockAhead)({ span: span(Math.abs(store.api.skew)) })}</p>}
      {editing.allowed.value && <Waiting />}
      {store.sources.value.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{text.status.source}</th>
              <th scope="col">{text.status.state}</th>
              <th scope="col">{text.status.last}</th>
            </tr>
          </thead>
          <tbody>
            {store.sources.value.map((source) => (
              <tr key={source.name}>
                <th scope="row" title={source.title}>
                  {source.name} {editing.allowed.value && <WhyLink source={source.name} />}
                </th>
                <td>
                  <span class={`dot ${source.state === "ok" ? "ok" : source.state === "stale" || source.state === "failing" ? "warn" : "wait"}`} aria-hidden="true" />{" "}
                  {byId(names.source, source.state) ?? source.state}
                </td>
                <td>{source.last_success ? relative(Date.parse(source.last_success), store.around.value) : text.status.neverRead}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

/** Across the page, while something is not as it seems. */
export function Banners() {
  const { store } = usePage();
  const c = store.connection.value;
  const past = store.past.value;
  const drills = store.exercises.value.length;
  return (
    <div class="banners" role="region" aria-label={text.status.banners}>
      {c.state === "lost" && (
        <p class="banner lost">
          <strong>
            {text.status.lost({
              since: (store.now.value - (c.lostSince ?? store.now.value) > 43_200_000 ? local : clock)(c.lostSince ?? store.now.value),
              span: span(store.now.value - (c.lostSince ?? store.now.value)),
            })}
          </strong>{" "}
          {c.heard === undefined ? text.status.never : text.status.asOf({ at: store.now.value - c.heard > 43_200_000 ? local(c.heard) : clock(c.heard) })}
        </p>
      )}
      {c.state === "live" && c.fresh.viewAge !== undefined && <p class="banner lost">{text.status.old({ span: span(c.fresh.viewAge * 1000) })}</p>}
      {c.state === "live" && trust(c.fresh.sources) === "unread" && (
        <p class="banner lost">
          <strong>{text.status.unreadLong}</strong>
        </p>
      )}
      {past && (
        <p class="banner past">
          <span>
            {past.state === "loading"
              ? text.time.loading({ at: short(past.at) })
              : past.state === "failed" || past.unrecorded
              ? past.note
              : text.time.banner({ at: short(past.at), n: [...past.hazards.values()].filter((h) => !isDrill(h)).length })}
          </span>
          <button type="button" class="small" onClick={() => void store.lookAt(undefined)}>{text.time.now}</button>
        </p>
      )}
      {drills > 0 && (
        <p class="banner drill-banner">
          <strong class="drill-tag">{text.drill.word}</strong>
          <span>{text.drill.banner({ n: drills })}</span>
          <button
            type="button"
            class="small"
            onClick={() => {
              const f = store.filter.value.categories;
              store.setFilter({ categories: (f.length ? f : ["EVENT", "RESPONSE", "OTHER"]).filter((x) => x !== "EXERCISE") });
            }}
          >
            {text.drill.hide}
          </button>
        </p>
      )}
    </div>
  );
}
