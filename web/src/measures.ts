// What is measured, in the reader's units (units.ts), for what is loaded later.
import { MILE, miles } from "./units";
import { number } from "./words";

/** A speed, of km/h. */
export const speed = (kmh: number, mi = miles): string => number(Math.round(mi ? kmh / MILE : kmh), { style: "unit", unit: `${mi ? "mile" : "kilometer"}-per-hour` });

/** A measured value in its unit, as the service has it: "km/h", "m". */
export const measured = (value: number, unit = "", mi = miles): string =>
  unit === "km/h" ? speed(value, mi) : unit === "m" && mi ? number(Math.round(value / 0.3048), { style: "unit", unit: "foot" }) : `${Math.round(value)} ${unit}`.trim();

/** The size of a fire, of hectares, to two digits. */
export const burnt = (ha: number, words: (n: { n: string }) => string, mi = miles): string =>
  mi ? number(Number((ha * 2.471054).toPrecision(2)), { style: "unit", unit: "acre" }) : words({ n: number(Number(ha.toPrecision(2))) });
