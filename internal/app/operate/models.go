package operate

import (
	"context"

	"github.com/rs/zerolog"

	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/metrics"
)

// openModels opens the models of a configuration for a moment. Their metrics are not shown
// anywhere.
func openModels(ctx context.Context, cfg settings.Config, log zerolog.Logger) (*providers.Models, error) {
	return providers.Open(ctx, providers.Config{Settings: cfg.Config, Models: cfg.Models, Version: cfg.Version, Log: log, Metrics: metrics.New()})
}
