// Package docs holds the pages of the documentation, so that the program can search them.
package docs

import "embed"

// Pages are the pages: Markdown, one file each, with the title in the first line.
//
//go:embed *.md
var Pages embed.FS

// Moved leads from the name of a former page to the page, and the heading in it, that has its text.
var Moved = map[string]string{
	"adding-a-source": "first-source.md", "exercises": "drill.md", "notifications": "tell.md", "oidc": "sign-on.md",
	"tls":        "install.md#one-server-with-tls",
	"operations": "operate.md", "monitoring": "operate.md#monitoring-with-prometheus-and-grafana", "backup": "operate.md#backups-restores-moving-to-another-database",
	"scaling": "cluster.md", "runbook": "cluster.md#runbook-a-cluster-in-trouble",
	"public": "publish.md", "cap": "publish.md#publish-cap-messages", "two-people": "publish.md#two-people-approve-warnings",
	"gis": "integrate.md", "recipes": "integrate.md#recipes-hazards-in-other-programs", "mcp": "integrate.md#let-an-assistant-read-hazards-mcp", "programs": "integrate.md#programs-that-were-tested",
	"limits": "interface.md#limits", "measurements": "interface.md#measurements", "shapes": "interface.md#shapes",
	"cap-senders": "sources.md#how-senders-of-cap-behave",
	"symbols":     "map.md#symbols", "languages": "map.md#languages", "brief": "map.md#briefs-a-hazard-on-one-or-two-printed-pages", "pictures": "map.md#pictures",
	"importance": "how-hazards-are-made.md#importance-which-hazards-come-first", "exposure": "how-hazards-are-made.md#exposure-how-many-people-live-there",
	"assets": "how-hazards-are-made.md#assets-which-of-our-places-a-hazard-reaches", "security": "../SECURITY.md",
}
