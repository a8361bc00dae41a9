// Command print writes the description of the interface for generators and linters: OpenAPI, or
// AsyncAPI with the argument async.
package main

import (
	"log"
	"os"
	"slices"

	"github.com/hazardd/hazardd/internal/serve/openapi"
)

const base = "https://hazards.example.org"

func main() {
	text, err := openapi.JSON(base), error(nil)
	if slices.Contains(os.Args[1:], "async") {
		text, err = openapi.Async(base)
	}
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(text); err != nil {
		log.Fatal(err)
	}
}
