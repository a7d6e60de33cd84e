package handlers

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/internal/base/telemetry/metrics"
)

// serveMetrics routes the metrics of r.
func serveMetrics(ro *router, r *metrics.Registry) {
	shown := metricsHandler(r)
	ro.routeRead("/metrics", measured, func(w http.ResponseWriter, r *http.Request) error { shown.ServeHTTP(w, r); return nil })
}

// metricsHandler panics when a collector fails, so that the reply is a 500 like any
// other and its cause is in the log; by itself promhttp would send it to the client.
func metricsHandler(r *metrics.Registry) http.Handler {
	return promhttp.HandlerFor(r.Gatherer(), promhttp.HandlerOpts{ErrorHandling: promhttp.PanicOnError})
}
