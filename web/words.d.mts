import type { Plugin } from "vite";
export function languages(): {
  readonly file: string;
  readonly language: { id: string; name: string; dir: string; locale: string; checked: boolean } & Record<string, unknown>;
  readonly [part: string]: unknown;
}[];
export function argumentsOf(message: string): Map<string, "string" | "number">;
export const embed: Readonly<Record<string, readonly string[]>>;
export function words(parts?: Readonly<Record<string, readonly string[]>>): Plugin;
export function wordsFile(chunk: { facadeModuleId: string | null }): string | null;
