package serve

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// Patterns returns the patterns of all routes.
func Patterns() []string {
	return newRouter(Config{Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)}).Patterns()
}
