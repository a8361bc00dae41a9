// Times in words: in the viewer's zone, in UTC, and relative to now.

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

// Making a formatter is slow, using it is not.
const relatives = new Map<string, Intl.RelativeTimeFormat>();

/**
 * How long ago, or how far ahead: "3 min ago", "in 2 hrs". Under a minute it is "now": seconds would only be unrest. Days are spans of 24 hours,
 * so none is called "tomorrow": that is another day than "in 1 day" for half of them.
 */
export function relative(at: number, now: number, locale = "en-GB"): string {
  let format = relatives.get(locale);
  if (!format) relatives.set(locale, (format = new Intl.RelativeTimeFormat(locale, { numeric: "always", style: "short" })));
  const ahead = at - now;
  for (const [unit, size] of units) if (Math.abs(ahead) >= size) return format.format(Math.trunc(ahead / size), unit);
  return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(0, "second");
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatter(locale: string, zone: string | undefined, withDate: boolean, withName: boolean): Intl.DateTimeFormat {
  const key = `${locale}|${zone}|${withDate}|${withName}`;
  let f = formats.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat(locale, {
      ...(withDate ? { day: "numeric", month: "short", year: "numeric" } : {}),
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
      ...(zone ? { timeZone: zone } : {}),
      ...(withName ? { timeZoneName: "short" } : {}),
    });
    formats.set(key, f);
  }
  return f;
}

/** In the viewer's zone (or `zone`), with the zone's name: "21 Nov 2026, 14:03 CET". */
export const local = (at: number, locale = "en-GB", zone?: string): string => (Number.isFinite(at) ? formatter(locale, zone, true, true).format(at) : "–");

/** In UTC; the date is left out when it is the same day in the viewer's zone. Empty when the viewer's zone is UTC itself. */
export function utc(at: number, locale = "en-GB", zone?: string): string {
  if (!Number.isFinite(at)) return "";
  const day = (z: string | undefined) => new Intl.DateTimeFormat("en-CA", { ...(z ? { timeZone: z } : {}) }).format(at);
  const sameDay = day(zone) === day("UTC");
  if (sameDay && formatter("en-GB", zone, false, false).format(at) === formatter("en-GB", "UTC", false, false).format(at)) return "";
  return `${formatter(locale, "UTC", !sameDay, false).format(at)} UTC`;
}

/** Hours, minutes and seconds in the viewer's zone. */
export const clock = (at: number, locale = "en-GB"): string => new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(at);

/** A span in two units at most: "45 s", "3 min 20 s", "2 h 5 min", "4 d 1 h". */
export function span(milliseconds: number): string {
  const s = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (a: number, ua: string, b: number, ub: string) => (b ? `${a} ${ua} ${b} ${ub}` : `${a} ${ua}`);
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86_400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
}
