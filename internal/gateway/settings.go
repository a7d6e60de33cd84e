// This file has the table of the settings: the variables of the environment and their
// flags. Most sections come from the package that they are about; those here belong to the
// process itself or to parts that know nothing of the gateway. Documents have this table
// (config.Table.Markdown), so that its texts are written for readers of a manual.

package gateway

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sluice/a2aclient"
	"sluice/agent"
	"sluice/approval"
	"sluice/config"
	"sluice/gemini"
	"sluice/handlers"
	"sluice/mcpclient/servers"
	"sluice/store"
)

// Sections returns the table of what can be set, bound to c and f.
func Sections(c *config.Config, f *File) config.Table {
	return config.Table{
		documentSection(c, f),
		processSection(c),
		gemini.Settings(c),
		agent.Settings(c),
		servers.Settings(c),
		a2aclient.Settings(c),
		todoServerSection(c),
		handlers.Settings(c),
		stateSection(c),
		approval.Settings(c),
		chatKitSection(c),
		loggingSection(c),
		telemetrySection(c),
		recordingSection(c),
	}
}

// Loader returns a Loader of the table, for one command that needs nothing of the
// configuration file. The file is checked all the same.
func Loader() *config.Loader { return LoaderWith(new(File)) }

// LoaderWith returns a Loader of the table that puts what the configuration file says
// into f.
//
// f is filled in when the Loader loads.
func LoaderWith(f *File) *config.Loader {
	return config.NewLoader(func(c *config.Config) config.Table { return Sections(c, f) })
}

// processSection has the settings of the process itself, which no package knows.
func processSection(c *config.Config) config.Section {
	return config.Section{Name: "process", Settings: []config.Setting{
		config.Address("SLUICE_ADDR", &c.Addr, ":8080",
			"listen address; port 0 picks one, logged as `listening`").Or("PORT", config.Port(&c.Addr)).As("`:8080`, or `:$PORT`"),
		config.Address("SLUICE_ADMIN_ADDR", &c.AdminAddr, "",
			"second listen address, for operators alone: [agents](docs/agents.md) are added and taken out there").As("none"),
		config.Int("SLUICE_MAX_CONNECTIONS", &c.MaxConnections, 0, 1, 1_000_000,
			"client connections; at it, the one that has waited longest for bytes of a request (250 ms at least) is closed for a new one").As("from the descriptors"),
		config.DurationOrNone("SLUICE_DRAIN_TIMEOUT", &c.DrainTimeout, 30*time.Second,
			"time for running streams to end after SIGTERM or SIGINT"),
	}}
}

// todoServerSection has those of the built-in server. Its package shares nothing with
// the gateway.
func todoServerSection(c *config.Config) config.Section {
	return config.Section{Name: "todo", Settings: []config.Setting{
		config.DataFile("SLUICE_TODO_DB", &c.TodoDB, &c.TodoDBIsDefault, "sluice/todo.db",
			"SQLite file of the built-in todo server, or `:memory:`"),
	}}
}

// chatKitSection has those of the ChatKit endpoint.
func chatKitSection(c *config.Config) config.Section {
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

// stateSection has those of the store. The value may hold a password, and is a secret
// from here on.
func stateSection(c *config.Config) config.Section {
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

// loggingSection has those of the log.
func loggingSection(c *config.Config) config.Section {
	return config.Section{Name: "log", Settings: []config.Setting{
		config.OneOf("SLUICE_LOG_LEVEL", &c.LogLevel, "info", []string{"debug", "info", "warning", "error"},
			"the least serious lines that are written"),
		config.Bool("SLUICE_LOG_PAYLOADS", &c.LogPayloads,
			"tool arguments and result previews in the log"),
	}}
}

// telemetrySection has the switch; the rest are the variables of OpenTelemetry.
func telemetrySection(c *config.Config) config.Section {
	return config.Section{Name: "telemetry", Settings: []config.Setting{
		config.Telemetry("SLUICE_OTEL", &c.OTel,
			"`otlp` sends [spans and metrics](docs/operations.md#telemetry) by OTLP over HTTP, as the `OTEL_*` variables say"),
	}}
}

// recordingSection has where turns are recorded.
func recordingSection(c *config.Config) config.Section {
	return config.Section{Name: "recording", Settings: []config.Setting{
		config.Func("SLUICE_RECORD", "", "path", "folder into which each turn is [recorded](docs/operations.md#recordings), with all texts and without keys", func(value string) error {
			if strings.ContainsFunc(value, unicode.IsControl) {
				return errors.New("must be the path of a folder")
			}
			c.Record = value
			return nil
		}).As("none"),
		config.Func("SLUICE_RECORD_MAX", "256MiB", "`1MiB` to `64GiB`", "recordings that stay in the folder; the oldest go", func(value string) (err error) {
			c.RecordMax, err = size(value)
			return err
		}),
	}}
}

// size reads a number of bytes with its unit.
//
// The unit is required: a bare number could mean bytes or megabytes.
func size(text string) (int64, error) {
	for unit, bytes := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30} {
		number, ok := strings.CutSuffix(text, unit)
		n, err := strconv.ParseInt(number, 10, 32)
		if ok && err == nil && n > 0 && n*bytes <= 64<<30 {
			return n * bytes, nil
		}
	}
	return 0, errors.New("must be a whole number with MiB or GiB, from 1MiB to 64GiB")
}
