// Command print writes the description of the interface as programs read it, for generators and linters.
package main

import (
	"log"
	"os"

	"github.com/hazardd/hazardd/internal/openapi"
)

func main() {
	if _, err := os.Stdout.Write(openapi.JSON("https://hazards.example.org")); err != nil {
		log.Fatal(err)
	}
}
