// Where something is, as people write it.
import { number, text } from "./words";

/** Degrees with so many decimals: "53.546° N, 9.966° E". */
export function position(latitude: number, longitude: number, decimals: number): string {
  const degrees = (n: number) => number(Math.abs(n), { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return text.panel.at({
    latitude: (latitude < 0 ? text.sides.south : text.sides.north)({ degrees: degrees(latitude) }),
    longitude: (longitude < 0 ? text.sides.west : text.sides.east)({ degrees: degrees(longitude) }),
  });
}
