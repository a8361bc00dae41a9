package serve

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/store"
)

// Patterns returns the patterns of all routes.
func Patterns() []string {
	return newRouter(Config{Store: new(store.Store), Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)}).Patterns()
}
