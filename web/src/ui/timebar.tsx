// The slider over the past.
import { useState } from "preact/hooks";
import { text } from "../words";
import { local, utc } from "../time";
import { usePage } from "./context";
import { Icon, IconButton } from "./parts";

const spans = { day: 86_400_000, week: 604_800_000, month: 2_592_000_000 };
const STEPS = 288; // of the slider: five minutes of a day

export function TimeBar() {
  const page = usePage();
  const { store } = page;
  const [range, setRange] = useState(604_800_000);
  const now = store.around.value;
  const at = store.past.value?.at ?? now;
  const step = range / STEPS;
  const go = (t: number) => void store.lookAt(t >= now - step / 2 ? undefined : Math.round(Math.max(t, 0) / 1000) * 1000);
  const close = () => {
    page.timeOpen.value = false;
    void store.lookAt(undefined);
  };
  return (
    <section class="timebar" aria-label={text.time.title}>
      <div class="timebar-row">
        <IconButton icon="left" label={text.time.earlier} onClick={() => go(at - step)} />
        <label class="timebar-slider">
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
          <input type="datetime-local" value={inputTime(at)} max={inputTime(now)} onChange={(e) => e.currentTarget.value && go(new Date(e.currentTarget.value).getTime())} />
        </label>
      </div>
    </section>
  );
}

/** As an input of type datetime-local has it: the viewer's zone, to the minute. */
function inputTime(at: number): string {
  const d = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return d.toISOString().slice(0, 16);
}
