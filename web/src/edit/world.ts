// What is drawn, as GeoJSON has it: parts on either side of the antimeridian apart, and with the pole that it goes around (RFC 7946, section 3.1.9).
import type { MultiPolygon, Polygon, Position } from "geojson";
import { rings } from "../geometry";

/**
 * A polygon without holes, each side in the shorter direction, within longitudes from -180 to 180.
 */
export function inWorld(p: Polygon): Polygon | MultiPolygon {
  const ring = rings(p)[0]!; // its longitudes run on
  const [first, last] = [ring[0]!, ring.at(-1)!];
  if (Math.abs(last[0]! - first[0]!) > 180) {
    const pole = ring.reduce((sum, [, y]) => sum + y!, 0) < 0 ? -90 : 90;
    // In steps short enough that each goes in the shorter direction.
    for (const step of [0, 0.25, 0.5, 0.75, 1]) ring.push([last[0]! + step * (first[0]! - last[0]!), pole]);
    ring.push(first);
  } else if (ring.every(([x]) => Math.abs(x!) <= 180)) return p;
  const xs = ring.map(([x]) => x!);
  const parts: Position[][] = [];
  for (let turn = 360 * Math.floor((Math.min(...xs) + 180) / 360); turn - 180 < Math.max(...xs); turn += 360) {
    const part = clip(clip(ring, turn - 180, 1), turn + 180, -1).map(([x, y]): Position => [x! - turn, y!]);
    if (part.length >= 3) parts.push([...part, part[0]!]);
  }
  if (parts.length === 0) parts.push(ring); // so small that nothing is left of it to cut
  return parts.length > 1 ? { type: "MultiPolygon", coordinates: parts.map((part) => [part]) } : { type: "Polygon", coordinates: parts };
}

/** What of a closed ring lies east of a meridian (side 1) or west of it (side -1), not closed (Sutherland and Hodgman). */
function clip(ring: readonly Position[], meridian: number, side: 1 | -1): Position[] {
  const kept: Position[] = [];
  const off = ([x]: Position): number => (x! - meridian) * side;
  ring.forEach((b, i) => {
    const a = ring[(i + ring.length - 1) % ring.length]!;
    if (off(a) * off(b) < 0) kept.push([meridian, a[1]! + ((b[1]! - a[1]!) * (meridian - a[0]!)) / (b[0]! - a[0]!)]);
    if (off(b) >= 0) kept.push(b);
  });
  return kept.filter((p, i) => i === 0 ? kept.length === 1 || p[0] !== kept.at(-1)![0] || p[1] !== kept.at(-1)![1] : p[0] !== kept[i - 1]![0] || p[1] !== kept[i - 1]![1]);
}
