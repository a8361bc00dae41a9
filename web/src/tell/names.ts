// What countries, channels and errors are called.
import { LoggedOutError, LostError, Problem } from "../api";
import { locale, tell, text } from "../words";

/** A country by its code of ISO 3166-1, in the reader's language; parts of countries as they are. */
export function countryName(code: string): string {
  try {
    return new Intl.DisplayNames(locale(), { type: "region" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** "telegram-ops" as people write it: Telegram ops. */
export const templateName = (name = ""): string => name === "sms" ? "SMS" : (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("-", " ");

/** Describes an error for the author; "" if the page already shows it. */
export function explain(error: unknown): string {
  if (error instanceof LostError) return tell.lost;
  if (error instanceof Problem && error.retryAfter) return text.login.limited({ seconds: error.retryAfter });
  if (error instanceof LoggedOutError) return "";
  return error instanceof Error ? error.message : String(error);
}
