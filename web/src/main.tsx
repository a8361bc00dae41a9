// Starts the page: login first, then the map, until the login ends.
import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Api } from "./api";
import { forget } from "./edit/state";
import { browser, follow } from "./live";
import { Areas } from "./map/areas";
import { Store } from "./store";
import { text } from "./text";
import { Page, PageProvider } from "./ui/context";
import { Login } from "./ui/login";
import { Shell } from "./ui/shell";
import { parse } from "./url";
import "maplibre-gl/dist/maplibre-gl.css";
import "./style.css";

// The service is where the page is.
const api = new Api(new URL(".", location.href).href.replace(/\/$/, ""));
const user = signal(api.user);
const ended = signal(false);
api.onEnded = () => {
  ended.value = true;
  user.value = undefined;
};

function App() {
  return user.value ? <LoggedIn /> : <Login api={api} ended={ended.value} done={() => (user.value = api.user)} />;
}

function LoggedIn() {
  // What a view shows is in the address: after a login that ended the page is as it was.
  const page = useMemo(() => new Page(api, new Store(api, new Areas(api), parse(location.hash))), []);
  useEffect(() => {
    const { store } = page;
    const over = new AbortController();
    void follow(api, store, over.signal, browser);
    const second = setInterval(() => store.tick(), 1_000);
    const offline = () => store.lost(text.login.lost);
    window.addEventListener("offline", offline);
    const read = () => {
      const s = parse(location.hash);
      if (location.hash.slice(1) === store.hash.peek()) return;
      store.apply(s);
      if (s.view) page.map.peek()?.jump(s.view);
    };
    window.addEventListener("hashchange", read);
    if (store.past.peek()) page.timeOpen.value = true;
    const sources = computed(() => JSON.stringify(store.connection.value.fresh.sources));
    const ends = [
      effect(() => {
        sources.value; // what became of a source stands in the list of them
        void store.readSources();
      }),
      effect(() => {
        const past = store.past.value;
        if (!past || past.state === "ready") store.areas.all(store.shown.value, past?.at);
      }),
      effect(() => {
        const hash = store.hash.value;
        if (hash !== location.hash.slice(1)) history.replaceState(null, "", `#${hash}`);
      }),
      effect(() => {
        document.documentElement.dataset["theme"] = page.theme.value;
      }),
      effect(() => {
        const h = store.selectedHazard.value;
        document.title = h ? `${h.hazard_Name} – ${text.name}` : text.name;
      }),
    ];
    return () => {
      over.abort();
      clearInterval(second);
      window.removeEventListener("offline", offline);
      window.removeEventListener("hashchange", read);
      for (const end of ends) end();
    };
  }, []);
  const logout = () => {
    ended.value = false;
    forget();
    user.value = undefined;
    void api.logout();
  };
  return (
    <PageProvider value={page}>
      <Shell logout={logout} />
    </PageProvider>
  );
}

render(<App />, document.getElementById("app")!);
