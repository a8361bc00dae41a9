// The slider for the past, with the number of active hazards over time and the news since the last
// visit.
import { useEffect, useState } from "preact/hooks";
import { BARS, countAt, moments, type Activity } from "../activity";
import { text } from "../words";
import { fromInput, inputTime, local, utc } from "../time";
import { usePage } from "./context";
import { Icon, IconButton } from "./parts";
import { Since } from "./since";
import "./timebar.css";

const spans = { day: 86_400_000, week: 604_800_000, month: 2_592_000_000 };
const STEPS = 288; // slider steps of five minutes in a day
/** Steps from one picture to the next while it plays, and how long each stays, milliseconds. */
const PLAYED = 6;
const STAY = 1_000;

export function TimeBar() {
  const page = usePage();
  const { store } = page;
  const [range, setRange] = useState(604_800_000);
  const now = store.around.value;
  const at = store.past.value?.at ?? now;
  const step = range / STEPS;
  const go = (t: number) => void store.lookAt(t >= now - step / 2 ? undefined : Math.round(Math.max(t, 0) / 1000) * 1000);
  // The moment that was asked for, and no other near it.
  const exactly = (t: number) => void store.lookAt(t >= store.api.now() ? undefined : Math.max(t, 0));
  const [playing, setPlaying] = useState(false);
  const past = store.past.value;
  useEffect(() => {
    if (!playing || past?.state === "loading") return;
    if (!past || past.state === "failed") return setPlaying(false); // it has come to the present, or cannot go on
    const timer = setTimeout(() => go(past.at + PLAYED * step), STAY);
    return () => clearTimeout(timer);
  }, [playing, past]);
  const play = () => {
    setPlaying(!playing);
    if (!playing && !past) go(now - range);
  };
  const close = () => {
    page.timeOpen.value = false;
    void store.lookAt(undefined);
  };
  return (
    <section class="timebar" aria-label={text.time.title}>
      <div class="timebar-row">
        <IconButton icon="left" label={text.time.earlier} onClick={() => go(at - step)} />
        <IconButton icon={playing ? "pause" : "play"} label={playing ? text.time.pause : text.time.play} onClick={play} />
        <div class="timebar-slider">
          <Bars range={range} now={now} />
          <label>
            <span class="sr">{text.time.slider}</span>
            <input
              type="range"
              min={0}
              max={STEPS}
              step={1}
              value={STEPS - Math.round((now - at) / step)}
              aria-valuetext={local(at)}
              onInput={(e) => go(now - (STEPS - Number(e.currentTarget.value)) * step)}
            />
          </label>
        </div>
        <IconButton icon="right" label={text.time.later} onClick={() => go(at + step)} />
        <IconButton icon="close" label={text.close} onClick={close} />
      </div>
      <div class="timebar-row">
        <output class="timebar-at">
          {store.past.value
            ? (
              <>
                {local(at)} <span class="muted">{utc(at)}</span>
              </>
            )
            : (
              <>
                <Icon name="clock" /> {text.status.live}
              </>
            )}
        </output>
        <label>
          <span class="sr">{text.time.span}</span>
          <select value={range} onChange={(e) => setRange(Number(e.currentTarget.value))}>
            {(["day", "week", "month"] as const).map((span) => <option key={span} value={spans[span]}>{text.time.spans[span]}</option>)}
          </select>
        </label>
        <label>
          <span class="sr">{text.time.exact}</span>
          <input type="datetime-local" value={inputTime(at)} max={inputTime(now)} onChange={(e) => e.currentTarget.value && exactly(fromInput(e.currentTarget.value))} />
        </label>
      </div>
      <Since />
    </section>
  );
}

/**
 * The number of active hazards in the range, and of warnings among them. It is the same for all
 * readers; only unknown moments are requested.
 */
function Bars({ range, now }: { range: number; now: number }) {
  const { store } = usePage();
  const [found, setFound] = useState<ReadonlyMap<number, Activity | null>>(new Map());
  const wanted = moments(range, now);
  useEffect(() => {
    const over = new AbortController();
    void countAt(store.api, wanted.filter((at) => !found.has(at)), (at, a) => setFound((f) => new Map(f).set(at, a)), over.signal);
    return () => over.abort();
  }, [wanted[0], range]);
  const bars = wanted.flatMap((at) => (found.has(at) ? { at, of: found.get(at)! } : []));
  const most = Math.max(1, ...bars.map((b) => b.of?.hazards ?? 0));
  const x = (at: number) => ((at - (now - range)) / range) * 100;
  const width = 70 / BARS;
  return (
    <svg class="timebar-bars" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={text.time.bars({ n: most })} data-known={bars.length}>
      {bars.map(({ at, of }) =>
        of === null ? <rect key={at} class="unknown" x={x(at) - width / 2} width={width} y={0} height={24} /> : (
          <g key={at}>
            <rect x={x(at) - width / 2} width={width} y={24 - (22 * of.hazards) / most} height={(22 * of.hazards) / most} />
            <rect class="warnings" x={x(at) - width / 2} width={width} y={24 - (22 * of.warnings) / most} height={(22 * of.warnings) / most} />
          </g>
        )
      )}
    </svg>
  );
}
