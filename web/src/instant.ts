// A moment in words, without the words of the page.

export const date: Intl.DateTimeFormatOptions = { day: "numeric", month: "short", year: "numeric" };
export const minutes: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
/** With the zone's name: "21 Nov 2026, 14:03 CET". */
export const moment: Intl.DateTimeFormatOptions = { ...date, ...minutes, timeZoneName: "short" };
