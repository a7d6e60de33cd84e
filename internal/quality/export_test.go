package quality

// The names that the external tests use.
const (
	Enforce = modeEnforce
	Observe = modeObserve
	Send    = fallbackSend
)

var Defaults = defaultSettings
