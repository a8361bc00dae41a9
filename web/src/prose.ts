// Texts of sources, made readable: never as HTML, only as text with links.
import type { Hazard, Report } from "./model";

/**
 * The language of a hazard's name and description, if they have a single known one; otherwise
 * undefined.
 */
export function languageOf(h: Pick<Hazard, "hazard_Name" | "description">, reports: readonly Pick<Report, "texts">[]): string | undefined {
  const said = reports.flatMap((r) => r.texts ?? []).filter((t) => t.name === h.hazard_Name && h.description.includes(t.description ?? ""));
  const tags = new Set(said.map((t) => t.language));
  return tags.size === 1 ? [...tags][0] || undefined : undefined;
}

/** A piece of text, or a link. */
export type Piece = { readonly text: string; readonly href?: string };

// A full stop or bracket behind an address belongs to the sentence.
const address = /\bhttps?:\/\/[^\s<>"'`{}|\\^]+[^\s<>"'`{}|\\^.,;:!?)\]]/gi;

/** Splits a text at the web addresses in it. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let end = 0;
  for (const m of text.matchAll(address)) {
    if (m.index > end) out.push({ text: text.slice(end, m.index) });
    out.push({ text: m[0], href: m[0] });
    end = m.index + m[0].length;
  }
  if (end < text.length) out.push({ text: text.slice(end) });
  return out;
}

/** The address if it is http or https. A source's link must never run a script. */
export function webAddress(s: string | null | undefined): string | undefined {
  if (!s) return undefined;
  try {
    const u = new URL(s);
    return u.protocol === "https:" || u.protocol === "http:" ? u.href : undefined;
  } catch {
    return undefined;
  }
}

/** From this length on, in characters, a line was most likely broken because it was full: bulletins have lines of 66 to 80. */
const FULL = 48;

/**
 * Undoes the line breaks of bulletins that were written for a teleprinter, so that the text takes the width there is. Blank lines stay, and so do
 * short lines, lists and tables.
 */
export function reflow(text: string): string {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  let out = "";
  lines.forEach((line, i) => {
    const before = lines[i - 1];
    if (before === undefined) {
      out = line;
      return;
    }
    const goesOn = before.trimEnd().length >= FULL && /^[\p{L}\p{N}("'.]/u.test(line) && !/^\d+[.)]\s/.test(line) && !/ {3,}\S/.test(line) && !/ {3,}\S/.test(before);
    out = goesOn ? `${out.trimEnd()} ${line}` : `${out}\n${line}`;
  });
  return out.trim();
}

/** A text of so many letters without a small one was written for a machine that had none. */
const SHOUTED = 24;

/**
 * Sets paragraphs in capitals as sentences. Words that `names` writes with a capital, and not all in capitals, keep it; usual abbreviations and words with digits stay.
 * Texts in which capitals mean something, such as a line between small letters, stay as they are.
 */
export function calm(text: string, names: string): string {
  const known = new Map((names.match(/\p{Lu}[\p{L}'’]*\p{Ll}[\p{L}'’]*/gu) ?? []).map((word) => [word.toUpperCase(), word]));
  return text
    .split(/(\n{2,})/)
    .map((part) => {
      if (/\p{Ll}/u.test(part) || (part.match(/\p{Lu}/gu) ?? []).length < SHOUTED) return part;
      const low = part.replace(
        /[\p{L}\p{N}'’]+/gu,
        (word) => (/\p{N}/u.test(word) || /^(AM|PM|[NS][EW]|MB|KT|FT|MI|UK|EU|[ECMP][DS]T|AK[DS]T|HST|UTC|GMT|NWS|NOAA)$/.test(word) ? word : known.get(word) ?? word.toLowerCase()),
      );
      return low.replace(/(^|[.!?…]\s+|\n\s*|\.{3}\s*)(\p{Ll})/gu, (_, before: string, letter: string) => before + letter.toUpperCase());
    })
    .join("");
}
