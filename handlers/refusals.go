package handlers

import (
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/tally"
)

// maxRefusalLines is how many refusals of a second get a line of their own. A flood of requests
// must not become a flood of log lines: a line costs a tenth of a refusal, and a disk.
const maxRefusalLines = 10

// newRefusals returns the counter of refusals without a line of their own. It logs the counts to
// log once a second. Its lines have an empty request_id, as they stand for many requests.
func newRefusals(log zerolog.Logger) *tally.Tally[fault.Type] {
	log = log.With().Str("request_id", "").Logger()
	return tally.New(tally.Config[fault.Type]{
		Lines: maxRefusalLines, Period: time.Second, Kind: func(fault.Type) fault.Type { return "" },
		Write: func(held map[fault.Type]int) {
			level, total, counts := zerolog.InfoLevel, 0, zerolog.Dict()
			for _, t := range slices.Sorted(maps.Keys(held)) {
				level = max(level, levelOfRefusal(statusOf(t)))
				total += held[t]
				counts.Int(string(t), held[t])
			}
			log.WithLevel(level).Dict("details", zerolog.Dict().Int("count", total).Dict("error_types", counts)).Msg("requests_refused")
		},
	})
}
