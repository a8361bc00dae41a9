package admin

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// scraped serves the registry's metrics. It logs a collector's error and serves the rest.
func scraped(registry *prometheus.Registry, logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)})
}

// metrics serves the metrics to programs on this machine, to admins, and to services with a token
// for it.
func (a *Operations) metrics(w http.ResponseWriter, r *http.Request) error {
	if !a.Local(r) {
		who, err := a.Caller(r, a.Now())
		if err != nil {
			route.InvalidToken(w)
			return nil
		}
		if who.Scope == auth.ScopeMetrics {
			route.MarkKnown(r)
		} else if err := route.Role(who, auth.Admin); err != nil {
			return err
		} else if who.NeedsFactor {
			return auth.ErrNeedsFactor
		}
	}
	if err := route.NoQuery(r); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = route.NoStore
	a.scraped.ServeHTTP(w, r)
	return nil
}
