// Package settings joins the sections of all packages to the table of what can be
// set of Sluice, and adds those of the process itself.
package settings

import (
	"errors"
	"strings"
	"time"

	"sluice/agent"
	"sluice/approval"
	"sluice/config"
	"sluice/gemini"
	"sluice/handlers"
	"sluice/mcpclient"
	"sluice/store"
)

// Sections returns the table of what can be set, bound to c and f.
func Sections(c *config.Config, f *File) config.Table {
	return config.Table{
		document(c, f),
		process(c),
		gemini.Settings(c),
		agent.Settings(c),
		mcpclient.Settings(c),
		todoServer(c),
		handlers.Settings(c),
		state(c),
		approval.Settings(c),
		chatKit(c),
		logging(c),
		telemetry(c),
	}
}

// Loader returns a Loader of the table, for one command that needs nothing of the
// configuration file. The file is checked all the same.
func Loader() *config.Loader { return LoaderWith(new(File)) }

// LoaderWith returns a Loader of the table that puts what the configuration file says
// into f.
func LoaderWith(f *File) *config.Loader {
	return config.NewLoader(func(c *config.Config) config.Table { return Sections(c, f) })
}

// Load reads the configuration for a command without flags of its own. See
// config.Loader.Load.
func Load(args []string, lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (config.Config, error) {
	return Loader().Load(args, lookup, readFile)
}

// process has the settings of the process itself, which no package knows.
func process(c *config.Config) config.Section {
	return config.Section{Name: "process", Settings: []config.Setting{
		config.Address("SLUICE_ADDR", &c.Addr, ":8080",
			"listen address; port 0 picks one, logged as `listening`").Or("PORT", config.Port(&c.Addr)).As("`:8080`, or `:$PORT`"),
		config.Int("SLUICE_MAX_CONNECTIONS", &c.MaxConnections, 0, 1, 1_000_000,
			"client connections; at it, the one that has waited longest for bytes of a request (250 ms at least) is closed for a new one").As("from the descriptors"),
		config.DurationOrNone("SLUICE_DRAIN_TIMEOUT", &c.DrainTimeout, 30*time.Second,
			"time for running streams to end after SIGTERM or SIGINT"),
	}}
}

// todoServer has those of the built-in server. Its package shares nothing with
// the gateway.
func todoServer(c *config.Config) config.Section {
	return config.Section{Name: "todo", Settings: []config.Setting{
		config.DataFile("SLUICE_TODO_DB", &c.TodoDB, &c.TodoDBIsDefault, "sluice/todo.db",
			"SQLite file of the built-in todo server, or `:memory:`"),
	}}
}

// chatKit has those of the ChatKit endpoint.
func chatKit(c *config.Config) config.Section {
	return config.Section{Name: "chatkit", Settings: []config.Setting{
		config.OneOf("SLUICE_CHATKIT_HISTORY", &c.ChatKitHistory, "", []string{config.HistoryNone, config.HistoryInMemory, config.HistoryInStore},
			"threads of [ChatKit](docs/chatkit.md): `none`, `memory` of this process, for development, or the `store`, for all gateways").
			As("`store` with a store, else `none`").Finally(func(fault func(string)) {
			at, err := store.ParseLocation(c.Store.Reveal())
			kept := err == nil && at.Kind != store.None
			switch {
			case c.ChatKitHistory == "" && kept:
				c.ChatKitHistory = config.HistoryInStore
			case c.ChatKitHistory == "":
				c.ChatKitHistory = config.HistoryNone
			case c.ChatKitHistory == config.HistoryInStore && err == nil && !kept:
				fault("needs SLUICE_STORE")
			}
		}),
	}}
}

// maxPrefix bounds SLUICE_STORE_PREFIX.
const maxPrefix = 64

// state has those of the store. The value may hold a password, and is a secret
// from here on.
func state(c *config.Config) config.Section {
	return config.Section{Name: "store", Settings: []config.Setting{
		config.Func("SLUICE_STORE", string(store.None), "`none`, `memory`, `sqlite:PATH`, `redis://…`, `rediss://…`, `unix://…`, `redis+sentinel://…`",
			"where turns are [kept](docs/state.md), so that they outlive their connection", func(value string) error {
				_, err := store.ParseLocation(value)
				c.Store = config.Secret(value)
				return err
			}),
		config.Func("SLUICE_STORE_PREFIX", "", "up to 64 printable ASCII characters", "stands before every key in the store", func(value string) error {
			if len(value) > maxPrefix || strings.Trim(value, printable) != "" {
				return errors.New("must be up to 64 printable ASCII characters without spaces")
			}
			c.StorePrefix = value
			return nil
		}).As("none"),
		config.Bool("SLUICE_STORE_REQUIRED", &c.StoreRequired,
			"`true`: while the store is unavailable turns get `503` and `/readyz` fails"),
	}}
}

// printable are the characters of a prefix.
const printable = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// logging has those of the log.
func logging(c *config.Config) config.Section {
	return config.Section{Name: "log", Settings: []config.Setting{
		config.OneOf("SLUICE_LOG_LEVEL", &c.LogLevel, "info", []string{"debug", "info", "warning", "error"},
			"the least serious lines that are written"),
		config.Bool("SLUICE_LOG_PAYLOADS", &c.LogPayloads,
			"tool arguments and result previews in the log"),
	}}
}

// telemetry has the switch; the rest are the variables of OpenTelemetry.
func telemetry(c *config.Config) config.Section {
	return config.Section{Name: "telemetry", Settings: []config.Setting{
		config.Telemetry("SLUICE_OTEL", &c.OTel,
			"`otlp` sends [spans and metrics](docs/operations.md#telemetry) by OTLP over HTTP, as the `OTEL_*` variables say"),
	}}
}
