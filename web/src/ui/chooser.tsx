// The choice among hazards at one place.
import { useEffect, useRef } from "preact/hooks";
import type { Hazard } from "../model";
import { text } from "../words";
import { usePage } from "./context";
import { Badge, DrillTag, IconButton, Symbol } from "./parts";

export function Chooser() {
  const page = usePage();
  const choice = page.chooser.value;
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    root.current?.querySelector<HTMLElement>("button")?.focus();
  }, [choice]);
  if (!choice) return null;
  const hazards = choice.ids.map((id) => page.store.shown.value.get(id)).filter((h): h is Hazard => h !== undefined);
  if (hazards.length === 0) return null;
  const map = page.map.value?.map.getContainer();
  const left = Math.min(choice.place.x, (map?.clientWidth ?? 400) - 310);
  const top = Math.min(choice.place.y, (map?.clientHeight ?? 400) - 60 - Math.min(hazards.length, 6) * 48);
  return (
    <div class="chooser" role="dialog" aria-label={text.map.here({ n: hazards.length })} ref={root} style={{ left: `${Math.max(8, left)}px`, top: `${Math.max(8, top)}px` }}>
      <header>
        <h2>{text.map.here({ n: hazards.length })}</h2>
        <IconButton icon="close" label={text.close} onClick={() => (page.chooser.value = undefined)} />
      </header>
      <ul>
        {hazards.map((h) => (
          <li key={h.hazard_ID}>
            <button type="button" onClick={() => page.open(h)}>
              <Symbol h={h} size={26} />
              <span class="chooser-name">
                <DrillTag h={h} />
                <bdi>{h.hazard_Name}</bdi>
              </span>
              <Badge id={h.severity_ID} />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
