// Describes a place by the nearest town on the map, with distance and direction.
import { distance } from "./geometry";

export interface Town {
  readonly name: string;
  readonly longitude: number;
  readonly latitude: number;
}

/** A town, how far a place is from it in metres, and in which direction: 0 is north, 1 north-east, to 7. */
export interface Near {
  readonly town: Town;
  readonly metres: number;
  readonly direction: number;
}

/** A town farther away than this, in meters, does not help. */
const FAR = 400_000;

/** The town nearest to a place, longitude and latitude in degrees; undefined if none is near. */
export function nearest(towns: readonly Town[], [longitude, latitude]: readonly [number, number]): Near | undefined {
  let best: Town | undefined;
  let least = Infinity;
  const squeeze = Math.cos((latitude * Math.PI) / 180);
  for (const t of towns) {
    // Near enough that the earth is flat.
    const dx = turned(t.longitude - longitude) * squeeze;
    const dy = t.latitude - latitude;
    const d = dx * dx + dy * dy;
    if (d < least) [best, least] = [t, d];
  }
  if (!best) return undefined;
  const metres = distance([longitude, latitude], [best.longitude, best.latitude]);
  if (metres > FAR) return undefined;
  const angle = Math.atan2(turned(longitude - best.longitude) * squeeze, latitude - best.latitude);
  return { town: best, metres, direction: (Math.round((angle * 4) / Math.PI) + 8) % 8 };
}

const turned = (degrees: number): number => degrees - 360 * Math.round(degrees / 360);
