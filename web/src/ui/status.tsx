// Whether what is shown is true: the connection, the server's own store, the sources.
import { useEffect } from "preact/hooks";
import { Held } from "../edit/parts";
import { text } from "../text";
import { clock, relative, span } from "../time";
import { usePage } from "./context";
import { Menu } from "./parts";

/** In the header: live or not, and how old. It opens the state of every source. */
export function Status() {
  const { store } = usePage();
  const c = store.connection.value;
  const age = c.heard === undefined ? undefined : store.now.value - c.heard;
  const stale = c.fresh.sources?.stale ?? 0;
  const state = c.state === "lost" ? "lost" : c.state === "connecting" ? "wait" : stale > 0 || c.fresh.viewAge !== undefined ? "warn" : store.past.value ? "wait" : "ok";
  const words =
    c.state === "connecting" ? text.status.connecting : c.state === "lost" ? text.status.offline(age === undefined ? "" : span(age)) : store.past.value ? text.status.past : text.status.live;
  return (
    <Menu
      class="status"
      label={text.status.title}
      button={
        <>
          <span class={`dot ${state}`} aria-hidden="true" />
          <span class="status-words">{words}</span>
          {c.state === "live" && age !== undefined && age >= 2_000 && <span class="status-age">{text.status.heard(span(age))}</span>}
          {stale > 0 && c.state !== "lost" && <span class="status-stale">{text.status.stale(c.fresh.sources!.names, stale)}</span>}
        </>
      }
    >
      <Sources />
    </Menu>
  );
}

function Sources() {
  const { store } = usePage();
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
        <p class={s.stale > 0 ? "warn-text" : "muted"}>
          {s.stale > 0 ? `${text.status.stale(s.names, s.stale)}. ${text.status.staleLong}` : s.ok > 0 ? text.status.sourcesOk(s.ok) : text.status.noSources}
        </p>
      )}
      {Math.abs(store.api.skew) > 30_000 && <p class="warn-text">{text.status.clock(span(Math.abs(store.api.skew)), store.api.skew > 0)}</p>}
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
                <th scope="row" title={source.title}>{source.name}</th>
                <td>
                  <span class={`dot ${source.state === "ok" ? "ok" : source.state === "stale" || source.state === "failing" ? "warn" : "wait"}`} aria-hidden="true" /> {source.state}
                </td>
                <td>{source.last_success ? relative(Date.parse(source.last_success), store.around.value) : text.status.neverRead}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Held />
    </div>
  );
}

/** Across the page, while something is not as it seems. */
export function Banners() {
  const { store } = usePage();
  const c = store.connection.value;
  const past = store.past.value;
  const drills = store.drills.value;
  return (
    <div class="banners" role="region" aria-label={text.status.banners}>
      {c.state === "lost" && (
        <p class="banner lost">
          <strong>{text.status.lost(clock(c.lostSince ?? store.now.value), span(store.now.value - (c.lostSince ?? store.now.value)))}</strong>{" "}
          {c.heard === undefined ? text.status.never : text.status.asOf(clock(c.heard))}
        </p>
      )}
      {c.state === "live" && c.fresh.viewAge !== undefined && <p class="banner lost">{text.status.old(span(c.fresh.viewAge * 1000))}</p>}
      {past && (
        <p class="banner past">
          <span>
            {past.state === "loading" ? text.time.loading(at(past.at)) : past.state === "failed" ? past.note : text.time.banner(at(past.at), past.hazards.size)}
          </span>
          <button type="button" class="small" onClick={() => void store.lookAt(undefined)}>{text.time.now}</button>
        </p>
      )}
      {drills > 0 && (
        <p class="banner drill-banner">
          <strong class="drill-tag">{text.drill.word}</strong>
          <span>{text.drill.banner(drills)}</span>
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

const at = (t: number): string => `${new Intl.DateTimeFormat(text.locale, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short" }).format(t)}`;
