// The names of the worst on the map: number, what and where, beside the point and with a line to it. The list says the same, so a screen reader and the
// pointer do not meet them.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Hazard } from "../model";
import { number } from "../words";
import { usePage } from "./context";
import { Symbol } from "./parts";

interface Box {
  readonly x: number;
  readonly y: number;
}

/** The size of a callout, its distance from the point, and what stays free at the map's edges; CSS pixels. */
const SIZES = { wide: { width: 240, height: 76 }, narrow: { width: 152, height: 46 } };
const GAP = 30;
const EDGES = { left: 6, top: 14, right: 60, bottom: 40 };
/** Letters of a place that a callout has room for: of its second line, or alone. */
const LETTERS = { wide: 52, narrow: 22 };
/** What has no room for a callout is numbered at that of one of its type that is so near, in CSS pixels. */
const NEAR = 40;
/** On a phone there is room for fewer. */
const NARROW_RANKS = 2;

/** Where a callout may stand beside its point, as parts of its size and the gap; the first that is free is taken. */
const SIDES: readonly (readonly [x: number, y: number])[] = [
  [1, 0],
  [-1, 0],
  [1, -1],
  [-1, -1],
  [1, 1],
  [-1, 1],
  [0, -1],
  [0, 1],
  [1, -2],
  [-1, -2],
  [1, 2],
  [-1, 2],
  [0, -2],
  [0, 2],
  [2, 0],
  [-2, 0],
  [2, -1],
  [-2, -1],
  [2, 1],
  [-2, 1],
  [-1, -3],
  [1, -3],
];

/**
 * Places callouts at points, the first first: none covers another, nor another's point, and as few of the `others` as can be. Undefined: there is no
 * room. `kept` are sides that were chosen before.
 */
export function layOut(
  points: readonly Box[],
  size: { readonly width: number; readonly height: number },
  map: { readonly width: number; readonly height: number },
  kept: readonly (number | undefined)[] = [],
  others: readonly Box[] = [],
) {
  const taken: Box[] = [];
  const { width, height } = size;
  return points.map((p, n) => {
    const at = (side: number): Box => {
      const [sx, sy] = SIDES[side]!;
      return { x: p.x + sx * (width / 2 + GAP) - width / 2, y: p.y + sy * (height / 2 + GAP) - height / 2 };
    };
    const covers = (b: Box, of: readonly Box[]): number => of.filter((q) => q.x >= b.x - 24 && q.x <= b.x + width + 24 && q.y >= b.y - 24 && q.y <= b.y + height + 24 && q !== p).length;
    const free = (b: Box): boolean =>
      b.x >= EDGES.left && b.x + width <= map.width - EDGES.right && b.y >= EDGES.top && b.y + height <= map.height - EDGES.bottom &&
      taken.every((t) => Math.abs(t.x - b.x) >= width + 8 || Math.abs(t.y - b.y) >= height + 8) &&
      covers(b, points) === 0;
    const sides = [kept[n] ?? -1, ...SIDES.keys()].filter((i) => i >= 0 && free(at(i)));
    if (sides.length === 0) return undefined;
    const covered = sides.map((i) => covers(at(i), others));
    const side = sides[covered.indexOf(Math.min(...covered))]!;
    taken.push(at(side));
    return { side, ...at(side) };
  });
}

/** A place in few letters: without what follows its commas, as far as it must be. */
export function inShort(where: string, letters: number): string {
  let parts = where.split(/(?=, |، |、|，)/);
  while (parts.length > 1 && parts.join("").length > letters) parts = parts.slice(0, -1);
  return parts.join("");
}

export function Callouts() {
  const page = usePage();
  const { store } = page;
  const map = page.map.value;
  const [, moved] = useState(0);
  const sides = useRef(new Map<number, number>());
  useEffect(() => {
    if (!map) return;
    const move = () => moved((n) => n + 1);
    map.map.on("move", move);
    map.map.on("resize", move);
    return () => {
      map.map.off("move", move);
      map.map.off("resize", move);
    };
  }, [map]);
  const narrow = page.narrow.value;
  const ranked = [...page.ranks.value].slice(0, narrow ? NARROW_RANKS : undefined).flatMap(([id, rank]) => {
    const h = store.shown.value.get(id);
    return h && h.uuid !== store.selected.value ? [{ h, rank }] : []; // the panel says what is selected
  });
  useEffect(() => {
    for (const { h } of ranked) if (!store.past.peek()) page.said.want(h);
  });
  if (!map || !page.drawn.value || store.placing.value || page.editing.task.value || (narrow && (store.selected.value !== undefined || page.sheet.value !== "half"))) return null;
  const { clientWidth, clientHeight } = map.map.getContainer();
  const inside: { readonly h: Hazard; readonly ranks: number[]; readonly p: Box }[] = [];
  for (const { h, rank } of ranked) {
    const p = map.at(h);
    if (p.x <= 0 || p.y <= 0 || p.x >= clientWidth || p.y >= clientHeight) continue;
    inside.push({ h, ranks: [rank], p });
  }
  const size = narrow ? SIZES.narrow : SIZES.wide;
  const others = page.worst.value.map((h) => map.at(h));
  const places = layOut(inside.map(({ p }) => p), size, { width: clientWidth, height: clientHeight }, inside.map(({ h }) => sides.current.get(h.hazard_ID)), others);
  inside.forEach(({ h, ranks, p }, n) => {
    if (!places[n]) inside.find((o, i) => places[i] && o.h.type_ID === h.type_ID && Math.hypot(o.p.x - p.x, o.p.y - p.y) < NEAR)?.ranks.push(...ranks);
  });
  return (
    <div class="callouts" aria-hidden="true">
      <svg width={clientWidth} height={clientHeight}>
        {inside.map(({ h, p }, n) => {
          const at = places[n];
          return at && <line key={h.hazard_ID} x1={p.x} y1={p.y} x2={at.x + size.width / 2} y2={at.y + size.height / 2} />;
        })}
      </svg>
      {inside.map(({ h, ranks }, n) => {
        const at = places[n];
        if (!at) return null;
        sides.current.set(h.hazard_ID, at.side);
        return (
          <Callout
            key={h.hazard_ID}
            h={h}
            ranks={ranks}
            style={{ width: `${size.width}px`, height: `${size.height}px`, transform: `translate(${at.x}px, ${at.y}px)` }}
          />
        );
      })}
    </div>
  );
}

function Callout({ h, ranks, style }: { h: Hazard; ranks: readonly number[]; style: Record<string, string> }) {
  const page = usePage();
  const said = page.said.of(h);
  const narrow = page.narrow.value;
  const where = inShort(said?.where ?? "", narrow ? LETTERS.narrow : LETTERS.wide);
  return (
    <div class="callout" style={style}>
      <div dir="auto">
        <span class="ranks">
          {ranks.map((rank) => <span key={rank} class="rank">{number(rank)}</span>)}
        </span>
        {!narrow && <Symbol h={h} size={34} />}
        <span>
          <strong>{(narrow && where) || (said?.what ?? h.hazard_Name)}</strong>
          {where && !narrow && <small>{where}</small>}
        </span>
      </div>
    </div>
  );
}
