// Package docs holds the pages of the documentation, so that the program can search them.
package docs

import "embed"

// Pages are the pages: Markdown, one file each, with the title in the first line.
//
//go:embed *.md
var Pages embed.FS
