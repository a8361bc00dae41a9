// Times in words: in the zone that the reader has chosen, in UTC, and relative to now.
import { signal } from "@preact/signals";
import { date, minutes, moment } from "./instant";
import { locale, number } from "./words";

/** In which zone times are shown: the device's, UTC, or that of the hazard they belong to. */
export type Zone = "local" | "utc" | "hazard";
export const zones: readonly Zone[] = ["local", "utc", "hazard"];

const STORED = "hazardd.zone";

function stored(): Zone {
  try {
    return zones.find((z) => z === localStorage.getItem(STORED)) ?? "local";
  } catch {
    return "local";
  }
}

export const zone = signal<Zone>(stored());
/**
 * Returns the time zone of a place, latitude and longitude in degrees. It is loaded only if the
 * reader wants such times.
 */
const placeZone = signal<((latitude: number, longitude: number) => string) | undefined>(undefined);

/** Chooses the zone on this device. */
export async function chooseZone(z: Zone): Promise<void> {
  if (z === "hazard") await loadZones();
  zone.value = z;
  try {
    if (z === "local") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, z);
  } catch {
    // It holds until the page is closed.
  }
}

/**
 * Loads the world's time zones if the reader wants times in the hazards' own zones. Until then
 * times are in the device's zone.
 */
export async function loadZones(): Promise<void> {
  placeZone.value ??= (await import("@photostructure/tz-lookup")).default;
}
if (zone.peek() === "hazard") void loadZones().catch(() => {});

/** What a time belongs to. */
export interface Placed {
  readonly latitude: number;
  readonly longitude: number;
}

/** The zone of this device, as Intl names it. */
export const deviceZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone, as Intl names it, in which a time of this is shown; undefined: the device's. */
export function zoneOf(of?: Placed): string | undefined {
  if (zone.value === "utc") return "UTC";
  if (zone.value !== "hazard" || !of || !placeZone.value) return undefined;
  try {
    const name = placeZone.value(of.latitude, of.longitude);
    new Intl.DateTimeFormat("en", { timeZone: name }); // an old browser may not know a new zone
    return name;
  } catch {
    return undefined;
  }
}

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
export function relative(at: number, now: number, language = locale()): string {
  let format = relatives.get(language);
  if (!format) relatives.set(language, format = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" }));
  const ahead = at - now;
  for (const [unit, size] of units) if (Math.abs(ahead) >= size) return format.format(Math.trunc(ahead / size), unit);
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "second");
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatter(language: string, zone: string | undefined, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language}|${zone}|${JSON.stringify(options)}`;
  let f = formats.get(key);
  if (!f) formats.set(key, f = new Intl.DateTimeFormat(language, { ...options, ...(zone ? { timeZone: zone } : {}) }));
  return f;
}

/** In a zone, the reader's unless another is named, with the zone's name: "21 Nov 2026, 14:03 CET". */
export const local = (at: number, language = locale(), zone = zoneOf()): string => Number.isFinite(at) ? formatter(language, zone, moment).format(at) : "–";

/**
 * In UTC. Leaves out the date if it is the same as in the zone shown beside it. Returns "" if that
 * zone is UTC.
 */
export function utc(at: number, language = locale(), zone = zoneOf()): string {
  if (!Number.isFinite(at) || zone === "UTC") return "";
  if (zone === undefined) {
    // Of the device's zone without formatters, which are slow to make: the first rows wait for them.
    const d = new Date(at);
    if (d.getTimezoneOffset() === 0) return "";
    return inUTC(at, language, d.getDate() === d.getUTCDate());
  }
  const day = (z: string | undefined) => formatter("en-CA", z, { year: "numeric", month: "numeric", day: "numeric" }).format(at);
  const sameDay = day(zone) === day("UTC");
  if (sameDay && formatter("en-GB", zone, minutes).format(at) === formatter("en-GB", "UTC", minutes).format(at)) return "";
  return inUTC(at, language, sameDay);
}

const inUTC = (at: number, language: string, sameDay: boolean): string => `${formatter(language, "UTC", { ...(sameDay ? {} : date), ...minutes }).format(at)} UTC`;

/** As an input of type datetime-local has it: to the minute, in the zone of the page's times, UTC or the device's. */
export function inputTime(at: number, zone = zoneOf()): string {
  return new Date(zone === "UTC" ? at : at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment that such an input says, milliseconds. */
export const fromInput = (value: string, zone = zoneOf()): number => new Date(zone === "UTC" ? `${value}Z` : value).getTime();

/** Hours, minutes and seconds. */
export const clock = (at: number, language = locale()): string => formatter(language, zoneOf(), { ...minutes, second: "2-digit" }).format(at);

/** The day and the minute, without the year. */
export const short = (at: number): string => formatter(locale(), zoneOf(), { day: "numeric", month: "short", ...minutes, timeZoneName: "short" }).format(at);

/** A span in two units at most: "45s", "3m 20s", "2h 5m", "4d 1h". */
export function span(milliseconds: number): string {
  const s = Math.max(0, Math.floor(milliseconds / 1000));
  const unit = (n: number, unit: string) => number(n, { style: "unit", unit, unitDisplay: "narrow" });
  const two = (a: number, ua: string, b: number, ub: string) => (b ? `${unit(a, ua)} ${unit(b, ub)}` : unit(a, ua));
  if (s < 60) return unit(s, "second");
  if (s < 3600) return two(Math.floor(s / 60), "minute", s % 60, "second");
  if (s < 86_400) return two(Math.floor(s / 3600), "hour", Math.floor((s % 3600) / 60), "minute");
  return two(Math.floor(s / 86_400), "day", Math.floor((s % 86_400) / 3600), "hour");
}
