package handlers

import (
	"slices"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/turn/chat"
)

// Defaults of Settings where the zero value of Config has another meaning.
const (
	settingHeartbeat    = 15 * time.Second
	settingWriteTimeout = 5 * time.Second
)

// Policy holds the settings of streams that the wiring converts.
type Policy struct {
	// Admission decides whether a stream is admitted below Config.MaxStreams.
	Admission Admission
	GetTools  chat.ToolAccess // of a turn that came by GET
}

// Admission is the way to decide about streams.
type Admission string

// Admissions.
const (
	adaptToDelay Admission = "adaptive" // as many as the machine can carry at the moment
	Count        Admission = "count"    // the number of streams alone
)

// Settings registers the settings of a Server. It is bound to c's parts of type Config and Policy.
func Settings(c *config.Config) config.Section {
	own, policy := config.Bind[Config](c), config.Bind[Policy](c)
	access := []string{chat.ToolsAll: "all", chat.ToolsReadOnly: "readonly", chat.ToolsOff: "off"}
	var getTools string
	return config.Section{Name: "streams", Settings: []config.Setting{
		config.Duration("SLUICE_REQUEST_TIMEOUT", &own.Timeout, defaultTimeout,
			"the whole turn"),
		config.DurationOrNone("SLUICE_HEARTBEAT", &own.Heartbeat, settingHeartbeat,
			"a comment after this much silence; `0` disables"),
		config.Duration("SLUICE_WRITE_TIMEOUT", &own.WriteTimeout, settingWriteTimeout,
			"one write to one client; a slower client is cut"),
		config.Int("SLUICE_MAX_STREAMS", &own.MaxStreams, defaultMaxStreams, 1, 1_000_000,
			"concurrent streams; above it `503`. Lowered at the start, with a warning, to what descriptors and the memory limit carry"),
		config.OneOf("SLUICE_ADMISSION", &policy.Admission, adaptToDelay, []Admission{adaptToDelay, Count},
			"below `SLUICE_MAX_STREAMS`, `adaptive` also refuses what the machine cannot carry at the moment; `count` does not"),
		config.Origins("SLUICE_CORS_ORIGINS", &own.Origins,
			"exact origins, comma-separated; `*` allows all, without credentials"),
		config.Hosts("SLUICE_HOSTS", &own.Hosts,
			"comma-separated names that a request's `Host` may be, beside loopback ones (else `403`), against DNS rebinding").As("none: any"),
		config.OneOf("SLUICE_GET_TOOLS", &getTools, access[chat.ToolsAll], access,
			"tools that a turn of a `GET` may call").Finally(func(func(string)) {
			policy.GetTools = chat.ToolAccess(slices.Index(access, getTools)) // -1 is none
		}),
	}}
}
