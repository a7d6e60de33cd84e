package otlp

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
)

// quiet is how long nothing is logged after a line about a failure.
const quiet = time.Minute

// reporter logs what could not be sent.
type reporter struct {
	log zerolog.Logger

	mu   sync.Mutex // guards the fields below
	last time.Time
	more int // failures since then
}

// logFailure logs err unless it is nil, or the last line is not old enough: then it is
// counted.
func (r *reporter) logFailure(signal string, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	if !r.last.IsZero() && time.Since(r.last) < quiet {
		r.more++
		r.mu.Unlock()
		return
	}
	more := r.more
	r.last, r.more = time.Now(), 0
	r.mu.Unlock()
	r.log.Warn().Dict("details", zerolog.Dict().
		Str("signal", signal).
		Int("failures_since_last", more).
		AnErr("reason", err)).Msg("telemetry_unavailable")
}

// takeOver redirects the SDK's messages for stderr to the reporter. The SDK has one such place in a
// process, and its messages contain values of variables.
func (r *reporter) takeOver() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { r.logFailure("sdk", err) }))
	otel.SetLogger(logr.New(sdkLog{r}))
}

// sdkLog takes the errors of the SDK's log: variables that it cannot read, and ignores.
// It keeps their values to itself.
type sdkLog struct{ r *reporter }

// Init implements logr.LogSink.
func (sdkLog) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink: errors are logged whatever it says.
func (sdkLog) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (sdkLog) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s sdkLog) Error(_ error, message string, _ ...any) {
	s.r.log.Warn().Dict("details", zerolog.Dict().Str("reason", message)).Msg("telemetry_setting_ignored")
}

// WithValues implements logr.LogSink.
func (s sdkLog) WithValues(...any) logr.LogSink { return s }

// WithName implements logr.LogSink.
func (s sdkLog) WithName(string) logr.LogSink { return s }
