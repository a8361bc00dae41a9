// What stands on paper before the list.
import { useEffect, useState } from "preact/hooks";
import { severities } from "../model";
import { local, utc } from "../time";
import { number, text } from "../words";
import { usePage } from "./context";
import { Badge } from "./parts";

/** The width of the map on paper, CSS pixels, whatever the screen's is: its names can be read on A4 and Letter. Its shape is that of the screen, but not so high that it would fill the page. */
const WIDTH = 900;
const MOST = 1.3;

/** On paper: the subject of the list, the map as of the start of printing with the numbers of the list, and the levels. */
export function PrintHead() {
  const page = usePage();
  const { store } = page;
  const [{ url, numbers }, setMap] = useState<{ url: string; numbers: readonly (readonly [rank: number, x: number, y: number])[] }>({ url: "", numbers: [] });
  useEffect(() => {
    const before = () => {
      page.printing.value = true;
      const ranked = [...page.ranks.peek()].flatMap(([id, rank]) => {
        const h = store.shown.peek().get(id);
        return h ? [{ h, rank }] : [];
      });
      const map = page.map.peek();
      const { clientWidth, clientHeight } = map?.map.getContainer() ?? { clientWidth: 1, clientHeight: 1 };
      const drawn = map?.picture({ width: WIDTH, height: Math.round(WIDTH / Math.max(MOST, clientWidth / clientHeight || MOST)) }, ranked.map(({ h }) => h));
      setMap(
        drawn
          ? { url: drawn.url, numbers: drawn.places.map(({ x, y }, n) => [ranked[n]!.rank, x, y]) }
          : { url: document.querySelector<HTMLImageElement>(".map-picture img")?.src ?? "", numbers: [] },
      );
    };
    const after = () => (page.printing.value = false);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  if (!page.printing.value) return null;
  const at = store.past.value?.at ?? (store.connection.value.state === "lost" ? store.connection.value.heard : undefined) ?? store.now.peek() + store.api.skew;
  return (
    <div class="print-head">
      <h2>{text.print.title({ at: [local(at), utc(at)].filter(Boolean).join(" · ") })}</h2>
      {url && (
        <div class="print-map">
          <img src={url} alt={text.print.map} />
          {numbers.map(([rank, x, y]) => <span key={rank} class="rank" style={{ left: `${100 * x}%`, top: `${100 * y}%` }} aria-hidden="true">{number(rank)}</span>)}
        </div>
      )}
      <ul aria-label={text.legend.severity}>
        {[...severities].reverse().map((s) => (
          <li key={s.id}>
            <Badge id={s.id} /> <span class={`swatch area-${s.id}`} aria-hidden="true" />
          </li>
        ))}
      </ul>
    </div>
  );
}
