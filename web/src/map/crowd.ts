// Which hazards get a symbol on the map, and which are counted at another's.
//
// The most important are placed first. What has no room is counted at the nearest symbol, if it is of the same level. So a symbol shows the type and
// the level of its worst, and the number how many more there are of that level; others of milder levels are found by a touch.
export interface Spot {
  readonly id: number;
  readonly longitude: number;
  readonly latitude: number;
  /** Of its level. */
  readonly rank: number;
  /** It always has a symbol of its own. */
  readonly kept: boolean;
}

export interface Placed {
  readonly spot: Spot;
  /** How many more of its level it stands for. */
  readonly more: number;
  /** All that it stands for, itself first, the most important first. */
  readonly ids: readonly number[];
}

/** Pixels between symbols; from this zoom on less. */
const ROOM = 52;
const NEAR_ROOM = 34;
const NEAR = 7;

/** Places spots, the most important first, at a zoom. */
export function place(spots: Iterable<Spot>, zoom: number): Placed[] {
  const room = zoom < NEAR ? ROOM : NEAR_ROOM;
  const world = 512 * 2 ** zoom;
  const grid = new Map<number, { x: number; y: number; spot: Spot; more: number; ids: number[] }[]>();
  const all: { x: number; y: number; spot: Spot; more: number; ids: number[] }[] = [];
  const columns = Math.ceil(world / room) + 2;
  for (const spot of spots) {
    const x = (spot.longitude / 360 + 0.5) * world;
    const latitude = Math.max(-85, Math.min(85, spot.latitude));
    const y = (0.5 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / (2 * Math.PI)) * world;
    const [column, row] = [Math.floor(x / room), Math.floor(y / room)];
    let nearest;
    let least = room;
    for (let r = row - 1; r <= row + 1; r++) {
      for (let c = column - 1; c <= column + 1; c++) {
        for (const other of grid.get(r * columns + c) ?? []) {
          const distance = Math.hypot(other.x - x, other.y - y);
          if (distance < least) [nearest, least] = [other, distance];
        }
      }
    }
    if (nearest && !spot.kept) {
      nearest.ids.push(spot.id);
      if (nearest.spot.rank === spot.rank) nearest.more++;
      continue;
    }
    const here = { x, y, spot, more: 0, ids: [spot.id] };
    all.push(here);
    const key = row * columns + column;
    const cell = grid.get(key);
    if (cell) cell.push(here);
    else grid.set(key, [here]);
  }
  return all;
}
