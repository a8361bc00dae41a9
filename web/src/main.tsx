// Starts the page: login first, then the map, until the login ends.
import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { again } from "./again";
import { Api } from "./api";
import { saves } from "./begin";
import { trust } from "./freshness";
import { browser, follow, WHOLE } from "./live";
import { Areas } from "./map/areas";
import { canKeep, forgetView, keepView, keptView, type Kept } from "./offline";
import { mendElements } from "./mend";
import { meets, touches } from "./place";
import { rememberLooks } from "./since";
import { Store } from "./store";
import { begin, text, wish } from "./words";
import { Page, PageProvider } from "./ui/context";
import { Login } from "./ui/login";
import { Shell } from "./ui/shell";
import { keepLastView, parse } from "./url";
import "maplibre-gl/dist/maplibre-gl.css";
import "./vocabulary.css";
import "./style.css";

// The service has the same address as the page.
const api = new Api(new URL(".", location.href).href.replace(/\/$/, ""));
const user = signal(api.user);
const ended = signal(false);
/** The server is open to everybody (public), or to readers with this address (key). */
const open = document.querySelector<HTMLMetaElement>('meta[name="hazardd-open"]')?.content;
api.open = open !== undefined;
/** Somebody wants to log in though the map is open. */
const asked = signal(false);
api.onEnded = () => {
  ended.value = asked.value = true;
  user.value = undefined;
};

/** How long the whole list waits for the first rows, milliseconds. */
const FIRST_WAIT = 3_000;
/** The view that is shown without a connection. */
const kept = signal<Kept | undefined>(undefined);

function App() {
  if (user.value || kept.value || (api.open && !asked.value))
    return <Whole key={user.value ? user.value.name : kept.value ? "kept" : "open"} kept={user.value ? undefined : kept.value} />;
  return <Login api={api} ended={ended.value} done={() => ((asked.value = false), (user.value = api.user))} show={(view) => (kept.value = view)} />;
}

/** The map, live or as stored. */
function Whole({ kept: old }: { kept: Kept | undefined }) {
  // What a view shows is in the address: after a login that ended the page is as it was.
  const page = useMemo(() => new Page(api, new Store(api, new Areas(api), parse(location.hash || location.search.replace("?", "#")))), []);
  useEffect(() => {
    const { store } = page;
    const over = new AbortController();
    if (old) store.keptView(old.hazards, old.at);
    else void forgetUnlessChosen();
    let following = new AbortController();
    const second = setInterval(() => store.tick(), 1_000);
    const offline = () => store.lost(text.login.lost);
    window.addEventListener("offline", offline);
    const read = (e: HashChangeEvent) => {
      // Not location.hash: while the map moves, the page may have written its own view over the link before it hears of it.
      const { hash } = new URL(e.newURL);
      if (hash.slice(1) === store.hash.peek()) return;
      const s = parse(hash);
      store.apply(s);
      if (s.view) page.withMap((map) => map.jump(s.view!));
    };
    window.addEventListener("hashchange", read);
    const went = () => page.went();
    window.addEventListener("popstate", went);
    if (store.past.peek()) page.timeOpen.value = true;
    // Stores the server's last state, at most once a minute, and when the page is left.
    let keptOf: unknown;
    const keep = () => {
      const [live, { state, heard }] = [store.live.peek(), store.connection.peek()];
      if (!page.attention.choices.peek().offline) return void (keptOf = undefined); // the reader had it removed
      if (!store.loaded.peek() || state !== "live" || heard === undefined || !canKeep()) return;
      if (keptOf === live && document.visibilityState !== "hidden") return;
      keptOf = live;
      const hazards = [...live.values()];
      const all = hazards.some((h) => h.brief) ? api.get<"/hazards/active">("/hazards/active") : Promise.resolve(hazards);
      void all.then((list) => keepView({ at: heard, hazards: list })).catch(() => (keptOf = undefined));
    };
    const keeping = setInterval(keep, 60_000);
    document.addEventListener("visibilitychange", keep);
    const words = computed(() => store.filter.value.text.trim());
    const sources = computed(() => JSON.stringify(store.connection.value.fresh.sources));
    const ends = [
      old ? () => {} : effect(() => {
        api.wish = wish.value;
        // In another language the texts of all that is shown are others.
        following.abort();
        following = new AbortController();
        const until = AbortSignal.any([over.signal, following.signal]);
        // The first rows before the whole list, which takes a slow line seconds.
        page.summaries.forget();
        const begun = store.loaded.peek() ? Promise.resolve() : Promise.race([page.summaries.begin(store.filter.peek(), until), browser.pause(FIRST_WAIT, until)]);
        void begun.then(() => (until.aborted ? undefined : follow(api, store, until, browser, page.feed())));
        store.reread();
      }),
      effect(() => {
        const live = store.live.value;
        if (!old && store.loaded.value) page.summaries.changed(live);
      }),
      () => page.summaries.end(),
      effect(() => {
        if (!old && store.order.value === "importance" && store.loaded.peek()) void store.importance.changed();
      }),
      effect(() => {
        // What shows the list of sources asks for it first.
        if (sources.value !== undefined && store.sources.peek().length > 0) void store.readSources();
      }),
      effect(() => {
        const wanted = words.value;
        if (!wanted || page.feed().path === WHOLE) return;
        const asking = new AbortController();
        const timer = setTimeout(() => void store.search(wanted, asking.signal), 300);
        return () => {
          clearTimeout(timer);
          asking.abort();
        };
      }),
      effect(() => {
        const past = store.past.value;
        if (!past || past.state === "ready") store.areas.all(store.shown.value, past?.at);
      }),
      effect(() => {
        const hash = store.hash.value;
        // Where everybody may read, a chat shows of a link the hazard that it names.
        const h = open === "public" && store.selected.value;
        if (hash !== location.hash.slice(1)) history.replaceState(null, "", `${h ? `?h=${h}` : location.pathname}#${hash}`);
      }),
      effect(() => {
        const view = store.view.value;
        if (view) keepLastView(view); // at once: a phone that leaves a page may not let it say goodbye
      }),
      effect(() => {
        document.documentElement.dataset["theme"] = page.theme.value;
      }),
      effect(() => {
        const h = store.selectedHazard.value;
        const n = page.attention.unseen.value;
        document.title = `${n > 0 ? `(${n}) ` : ""}${h ? `${h.hazard_Name} – ${text.name}` : text.name}`;
      }),
      effect(() => {
        // At the moment of the choice, and once the list is there.
        void [page.attention.choices.value, store.loaded.value];
        queueMicrotask(keep);
      }),
      page.attention.start(),
      // Where no login is needed, the page shows what was kept until the server answers.
      effect(() => {
        if (store.connection.value.state === "lost" && !store.loaded.peek()) void keptView().then((k) => k && !store.loaded.peek() && store.keptView(k.hazards, k.at));
      }),
      old ? () => {} : rememberLooks(() => {
        const { heard } = store.connection.peek();
        return heard && heard + api.skew;
      }),
      old ? () => {} : afterList(page),
    ];
    return () => {
      over.abort();
      clearInterval(second);
      clearInterval(keeping);
      document.removeEventListener("visibilitychange", keep);
      window.removeEventListener("offline", offline);
      window.removeEventListener("hashchange", read);
      window.removeEventListener("popstate", went);
      for (const end of ends) end();
    };
  }, []);
  const logout = () => {
    if (api.open && !user.value && !kept.value) {
      if (open === "key") location.href = new URL("../../", location.href).href;
      else asked.value = true;
      return;
    }
    if (user.value && page.editing.dirty.peek()) return page.editing.leave(); // it asks first
    ended.value = false;
    page.editing.end();
    kept.value = undefined;
    user.value = undefined;
    if (old) return;
    void forgetView();
    void api.logout();
  };
  return (
    <PageProvider value={page}>
      <Shell logout={logout} />
    </PageProvider>
  );
}

/**
 * Starts to load what can wait until the list is shown and the map is drawn: notification channels and, where sources are read, coverage.
 * Returns a function that stops it.
 */
function afterList(page: Page): () => void {
  const { store } = page;
  const over = new AbortController();
  const shown = computed(() => store.loaded.value && (page.drawn.value || page.mapFailed.value || page.pictured.value && saves()));
  const reads = computed(() => !["none", "unknown"].includes(trust(store.connection.value.fresh.sources)));
  let covers = false;
  const ends = [
    effect(() => {
      if (!shown.value) return;
      if (api.user || open === "public") void page.findChannels();
      if ("serviceWorker" in navigator) void navigator.serviceWorker.getRegistration("./").then(async (there) => there && (await import("./worker")).renewWorker(there)).catch(() => {});
    }),
    effect(() => {
      if (covers || !shown.value || !reads.value) return;
      covers = true;
      void again(() => import("./coverage"), () => {}, over.signal).then((code) => code?.follow(page, over.signal, { meets, touches }));
    }),
  ];
  return () => {
    over.abort();
    for (const end of ends) end();
  };
}

/** Removes a stored view if the reader no longer wants one. */
async function forgetUnlessChosen(): Promise<void> {
  try {
    if (localStorage.getItem("hazardd.attention") === null) await forgetView();
  } catch {
    await forgetView();
  }
}

document.documentElement.dataset["begun"] = "";
mendElements();
void again(begin, () => {}, new AbortController().signal).then(() => render(<App />, document.getElementById("app")!));
