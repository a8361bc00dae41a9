import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Api } from "./api";
import { Login } from "./ui/login";
import "maplibre-gl/dist/maplibre-gl.css";
import "./style.css";

const api = new Api();
const user = signal(api.user);
const ended = signal(false);
api.onEnded = () => {
  ended.value = true;
  user.value = undefined;
};

function Shell() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void import("./map/view").then(({ MapView }) => new MapView(place.current!));
  }, []);
  return <div class="map" ref={place} />;
}

function App() {
  return user.value ? <Shell /> : <Login api={api} ended={ended.value} done={() => (user.value = api.user)} />;
}

render(<App />, document.getElementById("app")!);
