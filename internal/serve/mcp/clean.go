package mcp

import (
	"strings"
	"unicode"
)

// clean returns a record without what would trouble an assistant or hide from the people who read
// along. Texts are cut to most characters. Lists are cut to maxItems; a member "…_left_out" has the
// number of missing items. Invisible characters are removed.
func clean(v any, most int) any {
	switch v := v.(type) {
	case string:
		return clip(v, most)
	case []any:
		kept := make([]any, 0, min(len(v), maxItems))
		for _, one := range v[:min(len(v), maxItems)] {
			kept = append(kept, clean(one, most))
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, one := range v {
			kept[clip(name, 80)] = clean(one, most)
			if list, ok := one.([]any); ok && len(list) > maxItems {
				kept[clip(name, 80)+"_left_out"] = len(list) - maxItems
			}
		}
		return kept
	}
	return v
}

// clip returns at most most characters of a text, without invisible ones: those that control
// terminals or the direction of writing, and tags (from U+E0000), which spell words that nobody
// sees. Joiners stay, because scripts and emoji need them.
func clip(text string, most int) string {
	var out strings.Builder
	n := 0
	for _, r := range text {
		if hidden(r) {
			continue
		}
		if n == most {
			return out.String() + "…"
		}
		out.WriteRune(r)
		n++
	}
	return out.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
		return false
	case r >= 0xE0100 && r <= 0xE01EF: // variation selectors beyond the 16 that emoji use
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
}
