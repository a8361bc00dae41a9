// Command vocabulary writes the vocabularies of the base interface and the colors of severities for
// TypeScript and CSS, from the tables in internal/hazard.
//
//	go run ./internal/atlas/symbol/vocabulary web/src
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
)

const made = "Made by internal/atlas/symbol/vocabulary from internal/hazard. Do not edit: make generate."

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vocabulary folder")
		os.Exit(2)
	}
	for name, text := range map[string]string{"vocabulary.ts": typeScript(), "vocabulary.drawn.ts": drawn(), "vocabulary.css": "/* " + made + " */\n" + symbol.CSS()} {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "vocabulary:", err)
			os.Exit(1)
		}
	}
}

// drawn is what only the map of what sources draw needs: a part that is loaded later.
func drawn() string {
	return fmt.Sprintf("// %s\n\n/** Colors of the perimeters of a fire, the oldest first. */\nexport const growth = [\"%s\"] as const;\n", made, strings.Join(hazard.Growth[:], `", "`))
}

func typeScript() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("// %s", made)
	line("\n/** Least severe first, as the service lists them; the color of the base interface, section 2.4, and that of text on it. */")
	line("export const severities = [")
	for i, s := range hazard.Severities() {
		line("  { id: %q, rank: %d, colour: %q, ink: %q },", s.ID, i, symbol.Hex(s.Colour), symbol.Hex(symbol.Ink(s.Colour)))
	}
	line("] as const;")
	line("\n/** Section 2.5. */")
	line("export const categories = [")
	for _, c := range hazard.Categories() {
		line("  %q,", c.ID)
	}
	line("] as const;")
	line("\n/** Section 2.3. */")
	line("export const types = [")
	for _, t := range hazard.Types() {
		line("  %q,", t.ID)
	}
	line("] as const;")
	return b.String()
}
