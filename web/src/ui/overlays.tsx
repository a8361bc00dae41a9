// What lies on the map: notices, the tip beside the pointer.
import { isWarning } from "../diff";
import { severity, severityName } from "../model";
import type { Notice } from "../store";
import { text } from "../words";
import { usePage } from "./context";
import { Ago, Badge, DrillTag, IconButton, kindOf, Symbol } from "./parts";

/** Cards of warnings at once. */
const CARDS = 4;

export function Notices() {
  const page = usePage();
  const { store } = page;
  const warned = store.warned.value;
  const rest = warned.length - CARDS;
  const shown = store.notices.value.filter((n) => !isWarning(n) || warned.indexOf(n) < CARDS);
  return (
    <ul class="notices" aria-label={text.notice.new}>
      {shown.map((n) => (
        <li key={n.id} class={`notice ${isOver(n) ? "notice-over" : `sev-${severity(n.hazard.severity_ID).id}`}`}>
          <button
            type="button"
            class="notice-open"
            onClick={() => {
              store.acknowledge([n]);
              page.open(n.hazard, { zoom: true });
            }}
          >
            <Symbol h={n.hazard} size={32} />
            <span>
              <span class="notice-kind">
                {kind(n)} {!isOver(n) && n.kind !== "lowered" && <Badge id={n.hazard.severity_ID} />} <DrillTag h={n.hazard} />{" "}
                <span class="notice-age">
                  <Ago at={n.at} />
                </span>
              </span>
              <span class="notice-name" dir="auto">{n.hazard.hazard_Name}</span>
            </span>
          </button>
          {isWarning(n)
            ? <button type="button" class="small" aria-label={text.notice.acknowledgeLong({ name: n.hazard.hazard_Name })} onClick={() => store.acknowledge([n])}>{text.notice.acknowledge}</button>
            : <IconButton icon="close" label={text.notice.dismiss} onClick={() => store.acknowledge([n])} />}
        </li>
      ))}
      {warned.length > 1 && (
        <li class="notice-rest">
          {rest > 0 && <span>{text.notice.rest({ n: rest })}</span>}
          <button type="button" class="small" onClick={() => store.acknowledge(warned)}>{text.notice.acknowledgeAll({ n: warned.length })}</button>
        </li>
      )}
    </ul>
  );
}

const isOver = (n: Notice): boolean => n.kind === "ended" || n.kind === "retracted";

const kind = (n: Notice): string =>
  n.kind === "lowered" ? text.notice.lowered({ severity: severityName(severity(n.hazard.severity_ID)) }) : n.kind === "retracted" ? text.history.retracted : text.notice[n.kind];

/** How long words stay on the screen, milliseconds. */
const SHOWN = 8_000;

/** What was said: to screen readers each as it comes, to all for a while. */
export function Spoken() {
  const { store } = usePage();
  const since = store.now.value - SHOWN;
  return (
    <div class="spoken" role="log" aria-live="polite">
      {store.said.value.map((s) => <p key={s.id} class={s.shown && s.at > since ? "" : "sr"}>{s.words}</p>)}
    </div>
  );
}

export function Tip() {
  const page = usePage();
  const tip = page.tip.value;
  const h = tip && page.store.shown.value.get(tip.id);
  if (!tip || !h || page.narrow.value) return null;
  return (
    <div class="tip" aria-hidden="true" style={{ left: `${tip.place.x}px`, top: `${tip.place.y}px` }}>
      <strong>
        <DrillTag h={h} />
        <bdi>{h.hazard_Name}</bdi>
      </strong>
      <span>
        <Badge id={h.severity_ID} /> {kindOf(h)} · <Ago at={Number(h.last_Update)} />
      </span>
    </div>
  );
}
