import type { Plugin } from "vite";
export function languages(): {
  readonly file: string;
  readonly language: { id: string; name: string; dir: string; locale: string; checked: boolean } & Record<string, unknown>;
  readonly [part: string]: unknown;
}[];
export function argumentsOf(message: string): Map<string, "string" | "number">;
export function words(): Plugin;
export function wordsFile(chunk: { facadeModuleId: string | null }): string | null;
