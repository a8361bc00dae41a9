// What is new, changed and ended since the map was last looked at in this browser.
import { useState } from "preact/hooks";
import { freshness } from "../freshness";
import { matcher } from "../filter";
import type { Hazard } from "../model";
import { lastLook, newsBetween } from "../since";
import { relative } from "../time";
import { text } from "../words";
import { usePage } from "./context";
import { Ago, Badge, Icon, Loading, Symbol, useData } from "./parts";

/** Rows per section; after a long absence the map is more useful. */
const ROWS = 100;

export function Since() {
  const { store } = usePage();
  const [open, setOpen] = useState(false);
  const at = lastLook.value;
  if (at === undefined) return null;
  return (
    <div class="since">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="clock" /> {text.since.title({ when: relative(at, store.around.value) })}
      </button>
      {open && <News at={at} />}
    </div>
  );
}

function News({ at }: { at: number }) {
  const page = usePage();
  const { store } = page;
  const then = useData(`since/${at}`, async (signal) => {
    const answer = await store.api.request(`/hazards/active?sort=importance&at=${new Date(at).toISOString()}`, { signal });
    const list = (await answer.json()) as readonly Hazard[];
    return { list, recorded: freshness(answer.headers).change !== 0 };
  });
  return (
    <Loading state={then}>
      {(found) => {
        if (!store.loaded.value) return <p class="muted">{text.list.loading}</p>;
        if (!found.recorded) return <p class="caution">{text.time.unrecorded}</p>;
        const news = newsBetween(found.list, store.live.value);
        const match = matcher(store.filter.value);
        const parts = (["came", "changed", "ended"] as const).map((kind) => ({ kind, list: news[kind].filter(match).sort(store.by.value) })).filter((p) => p.list.length > 0);
        if (parts.length === 0) return <p>{text.since.nothing}</p>;
        return (
          <div class="since-parts" tabIndex={0} role="group" aria-label={text.since.title({ when: relative(at, store.around.value) })}>
            {parts.map(({ kind, list }) => (
              <section key={kind}>
                <h2>{text.since[kind]({ n: list.length })}</h2>
                <ul>
                  {list.slice(0, ROWS).map((h) => (
                    <li key={h.hazard_ID}>
                      <button type="button" onClick={() => page.open(h, { zoom: kind !== "ended" })}>
                        <Symbol h={h} size={24} /> <Badge id={h.severity_ID} /> <bdi>{h.hazard_Name}</bdi> {kind !== "ended" && <Ago at={Number(h.last_Update)} of={h} />}
                      </button>
                    </li>
                  ))}
                </ul>
                {list.length > ROWS && <p class="muted">{text.since.more({ n: list.length - ROWS })}</p>}
              </section>
            ))}
          </div>
        );
      }}
    </Loading>
  );
}
