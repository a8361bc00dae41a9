/** The header of requests by which texts are wished in a language, before those of the browser (RFC 9110, section 12.5.4). */
export const accepted = (wish: string): string => [wish, ...navigator.languages].slice(0, 10).map((language, place) => `${language};q=${1 - place / 10}`).join(", ");

/** The best of the languages for a reader of these tags, the most wanted first (RFC 4647, section 3.4); the first if none fits. */
export function best<L extends { readonly id: string }>(languages: readonly L[], wanted: readonly string[]): L {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split("-");
    for (let n = parts.length; n > 0; n--) {
      const found = languages.find((l) => l.id.toLowerCase() === parts.slice(0, n).join("-"));
      if (found) return found;
    }
  }
  return languages[0]!;
}
