// The pictures of a hazard: uploaded ones, and those that sources link to. Each is loaded when it
// becomes visible.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api";
import type { Hazard } from "../model";
import { text } from "../words";
import { usePage } from "./context";
import { Ago, Icon, Section, useData } from "./parts";

type Listed = Schemas["Picture"];

export function Pictures({ h, version }: { h: Hazard; version: string }) {
  const { store } = usePage();
  const list = useData(`${h.hazard_ID} pictures ${version}`, (signal) => store.api.get<"/hazards/{hazard-id}/pictures">(`/hazards/${h.hazard_ID}/pictures`, { signal })).data;
  if (!list?.length) return null;
  return (
    <Section title={text.panel.pictures} count={list.length} open>
      <ul class="pictures">
        {list.map((p) => (
          <li key={`${p.product_ID} ${p.sha256}`}>
            <Picture p={p} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** A picture, small; large after a click. */
function Picture({ p }: { p: Listed }) {
  const { store } = usePage();
  const [large, setLarge] = useState(false);
  const [near, setNear] = useState(false);
  const [address, setAddress] = useState("");
  const [bad, setBad] = useState(false);
  const own = useRef<HTMLElement>(null);
  useEffect(() => {
    const sight = new IntersectionObserver((seen) => seen.some((e) => e.isIntersecting) && setNear(true), { rootMargin: "200px" });
    sight.observe(own.current!);
    return () => sight.disconnect();
  }, []);
  useEffect(() => {
    if (!near) return;
    const abort = new AbortController();
    let made = "";
    store.api.request(`/products/${p.product_ID}/picture?size=${large ? "full" : "small"}`, { signal: abort.signal, timeout: 0 })
      .then((answer) => answer.blob())
      .then((content) => {
        if (abort.signal.aborted) return;
        made = URL.createObjectURL(content);
        setAddress(made);
      })
      .catch(() => abort.signal.aborted || setBad(true));
    return () => {
      abort.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [near, large]);
  return (
    <figure ref={own} class={large ? "large" : ""}>
      <button type="button" aria-expanded={large} title={p.title} onClick={() => setLarge(!large)}>
        {bad ? <Icon name="file" /> : <img src={address || undefined} alt={p.title} onError={() => address && setBad(true)} />}
      </button>
      <figcaption>
        <span dir="auto">{p.title}</span>
        <span class="muted">
          <bdi>{p.source ?? p.user}</bdi>, <Ago at={Date.parse(p.time)} />
        </span>
      </figcaption>
    </figure>
  );
}
