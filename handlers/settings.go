package handlers

import (
	"time"

	"sluice/config"
)

// Defaults of Config.
const (
	DefaultTimeout    = 30 * time.Second
	DefaultMaxStreams = 10_000
)

// What Settings say unless they are set, where Config's zero value has a meaning
// of its own.
const (
	settingHeartbeat    = 15 * time.Second
	settingWriteTimeout = 5 * time.Second
)

// Settings registers what can be set of a Server from outside.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "streams", Settings: []config.Setting{
		config.Duration("SLUICE_REQUEST_TIMEOUT", &c.RequestTimeout, DefaultTimeout,
			"the whole turn"),
		config.DurationOrNone("SLUICE_HEARTBEAT", &c.Heartbeat, settingHeartbeat,
			"a comment after this much silence; `0` disables"),
		config.Duration("SLUICE_WRITE_TIMEOUT", &c.WriteTimeout, settingWriteTimeout,
			"one write to one client; a slower client is cut"),
		config.Int("SLUICE_MAX_STREAMS", &c.MaxStreams, DefaultMaxStreams, 1, 1_000_000,
			"concurrent streams; above it `503`. Lowered at the start, with a warning, to what descriptors and the memory limit carry"),
		config.OneOf("SLUICE_ADMISSION", &c.Admission, config.AdmitAdaptive, []string{config.AdmitAdaptive, config.AdmitCount},
			"below `SLUICE_MAX_STREAMS`, `adaptive` also refuses what the machine cannot carry at the moment; `count` does not"),
		config.Origins("SLUICE_CORS_ORIGINS", &c.CORSOrigins,
			"exact origins, comma-separated; `*` allows all, without credentials"),
		config.Hosts("SLUICE_HOSTS", &c.Hosts,
			"comma-separated names that a request's `Host` may be, beside loopback ones (else `403`), against DNS rebinding").As("none: any"),
		config.OneOf("SLUICE_GET_TOOLS", &c.GetTools, config.GetToolsAll, []string{config.GetToolsAll, config.GetToolsReadOnly, config.GetToolsOff},
			"tools that a turn of a `GET` may call"),
	}}
}
