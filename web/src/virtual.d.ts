declare module "virtual:words" {
  import type { AssetsWords, DrawnWords, EditWords, EmbedWords, FindWords, MapWords, NamesWords, TellWords } from "./words.types";
  import type { Language } from "./words";
  export const languages: readonly Language[];
  export const load: Readonly<
    Record<
      string,
      {
        map(): Promise<{ default: { names: NamesWords; map: MapWords } }>;
        edit(): Promise<{ default: { edit: EditWords } }>;
        tell(): Promise<{ default: { tell: TellWords } }>;
        find(): Promise<{ default: { find: FindWords } }>;
        assets(): Promise<{ default: { assets: AssetsWords; drawn: DrawnWords } }>; /** In the widget alone. */
        embed(): Promise<{ default: { names: NamesWords; embed: EmbedWords } }>;
      }
    >
  >;
}
