// Package settings has the tables of all that can be configured: the variables of the
// environment with their flags, and the sections of the configuration file.
//
// Most sections come from the package that they are about. The others belong to the process itself,
// or to packages that do not know the gateway. Documents have the tables, so that their texts are
// written for readers of a manual.
package settings

import (
	"crypto/tls"
	"time"

	"sluice/handlers"
	"sluice/internal/app/process"
	"sluice/internal/base/config"
	"sluice/internal/edge/access/door"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/remote"
	"sluice/internal/engine/approval"
	"sluice/internal/model/gemini"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
	"sluice/mcpclient/servers"
)

// Sections returns the table of all settings, bound to c and f.
func Sections(c *config.Config, f *File) config.Table {
	unnamed := func() bool { return config.Bind[door.Environment](c).Keys == "" } // the variable's file is read by itself
	return sectionsWith(c, documentSection(c, f, unnamed), tlsSection(c), door.SettingsOfStart(c, &f.Auth))
}

// sectionsWith returns the table with these sections for the configuration file, TLS and access.
func sectionsWith(c *config.Config, document, encrypted, auth config.Section) config.Table {
	return config.Table{
		document,
		processSection(c),
		encrypted,
		gemini.Settings(c),
		agent.Settings(c),
		servers.Settings(c),
		remote.Settings(c),
		todoServerSection(c),
		handlers.Settings(c),
		auth,
		store.Settings(c),
		approval.Settings(c),
		dialectsSection(c),
		chatKitSection(c),
		loggingSection(c),
		telemetrySection(c),
		recording.Settings(c),
		clientSection(c),
	}
}

// Loader returns a Loader of the table, for a command that does not use the configuration file. The
// file is checked all the same.
func Loader() *config.Loader { return LoaderWith(new(File)) }

// LoaderWith returns a Loader of the table that puts the configuration file into f.
//
// f is filled in when the Loader loads.
func LoaderWith(f *File) *config.Loader {
	return config.NewLoader(func(c *config.Config) config.Table { return Sections(c, f) })
}

// LoaderAgain is LoaderWith for what looks at the settings of a gateway that runs. Files of a certificate
// are not read: they may be about to be replaced, and the gateway sees to them itself.
func LoaderAgain(f *File) *config.Loader {
	return config.NewLoader(func(c *config.Config) config.Table {
		return sectionsWith(c, documentSection(c, f, nil), tlsAgain(c), door.Settings(c, &f.Auth))
	})
}

// LoaderOfClient is LoaderAgain for a client that knows only the environment of its gateway. The
// settings that SLUICE_AUTH=required needs may be in a file that only the gateway's command line
// names.
func LoaderOfClient(f *File) *config.Loader {
	return config.NewLoader(func(c *config.Config) config.Table {
		return sectionsWith(c, documentSection(c, f, nil), tlsAgain(c), door.SettingsOfClient(c, &f.Auth))
	})
}

// tlsAgain is tlsSection without reading the files.
func tlsAgain(c *config.Config) config.Section {
	own, section := config.Bind[Process](c), tlsSection(c)
	section.Settings[0] = config.Text("SLUICE_TLS_CERT", &own.TLS.Cert, "", section.Settings[0].Meaning).As("none")
	section.Settings[1] = config.Text("SLUICE_TLS_KEY", &own.TLS.Key, "", section.Settings[1].Meaning).As("none")
	return section
}

// Of returns a copy of cfg's settings of type T: see config.Of.
func Of[T any](cfg *Config) T { return config.Of[T](&cfg.Config) }

// Process has the settings of the process itself.
type Process struct {
	// Addr is the listen address, host:port. Port 0 lets the kernel pick one.
	Addr string
	// AdminAddr is the listen address for operators; empty without one.
	AdminAddr string
	// MaxConnections bounds client connections; 0 leaves it to the file descriptors.
	MaxConnections int
	// DrainTimeout is 0 when running streams are ended at once.
	DrainTimeout time.Duration
	// TLS has the files of the certificate; without any the ports are not encrypted.
	TLS process.TLS
}

// processSection has the settings of the process itself, outside of any package.
func processSection(c *config.Config) config.Section {
	own := config.Bind[Process](c)
	return config.Section{Name: "process", Settings: []config.Setting{
		config.Address("SLUICE_ADDR", &own.Addr, "127.0.0.1:8080",
			"listen address; anyone who reaches it may ask, unless [access](docs/access.md) is closed; port 0 picks one, logged as `listening`").
			Or("PORT", config.Port(&own.Addr)).As("`127.0.0.1:8080`, or `:$PORT`"),
		config.Address("SLUICE_ADMIN_ADDR", &own.AdminAddr, "",
			"second listen address, for operators alone: [metrics, readiness, profiles](docs/operations.md#the-address-for-operators), and [agents](docs/agents.md) are added and taken out there").As("none"),
		config.Int("SLUICE_MAX_CONNECTIONS", &own.MaxConnections, 0, 1, 1_000_000,
			"client connections; at it, the one that has waited longest for bytes of a request (250 ms at least) is closed for a new one").As("from the descriptors"),
		config.DurationOrNone("SLUICE_DRAIN_TIMEOUT", &own.DrainTimeout, 30*time.Second,
			"time for running streams to end after SIGTERM or SIGINT"),
		config.Bool("SLUICE_STRICT", &c.Strict,
			"`true`: a variable `SLUICE_…` that there is not stops the start, instead of a warning"),
	}}
}

// tlsSection has the certificate of the process. The start checks that it can be used, and reports
// that with all other faults.
func tlsSection(c *config.Config) config.Section {
	own := config.Bind[Process](c)
	var cert, key []byte
	var least string
	return config.Section{Name: "tls", Settings: []config.Setting{
		config.File("SLUICE_TLS_CERT", "PEM file with the certificate and those that it was issued by: both addresses then speak [TLS](docs/operations.md#tls), with HTTP/2. Read again each 5 s and on SIGHUP",
			func(path string, content []byte, _ config.Sources) []config.Fault {
				own.TLS.Cert, own.TLS.ReadFile, cert = path, config.ReadFile, content
				return nil
			}),
		config.File("SLUICE_TLS_KEY", "PEM file with its key", func(path string, content []byte, _ config.Sources) []config.Fault {
			own.TLS.Key, key = path, content
			return nil
		}).Finally(func(fault func(string)) {
			if (own.TLS.Cert == "") != (own.TLS.Key == "") {
				fault("SLUICE_TLS_CERT and SLUICE_TLS_KEY are used together")
			} else if own.TLS.On() {
				if _, err := process.ParsePair(cert, key, time.Now()); err != nil {
					fault(err.Error())
				}
			}
		}),
		config.OneOf("SLUICE_TLS_MIN", &least, "1.2", []string{"1.2", "1.3"}, "the least version of TLS").Finally(func(func(string)) {
			if least == "1.3" {
				own.TLS.Min = tls.VersionTLS13
			}
		}),
	}}
}

// Client has the credential of the commands that ask a gateway.
type Client struct {
	// Key is an API key or a token; empty: they show none.
	Key config.Secret
}

// clientSection has the settings of commands that are clients.
func clientSection(c *config.Config) config.Section {
	own := config.Bind[Client](c)
	return config.Section{Name: "client", Settings: []config.Setting{
		config.Key("SLUICE_KEY", "", &own.Key,
			"API key or token that `sluice ask`, `loadtest` and `doctor` [show](docs/access.md) a gateway, as `Authorization: Bearer`").As("none"),
	}}
}

// Todos has the place of the built-in todo server's data.
type Todos struct {
	// DB is an SQLite file, or ":memory:", the default if the user's folder is unknown.
	DB string
	// IsDefault says that nobody chose DB: if it cannot be written, memory does as well.
	IsDefault bool
}

// todoServerSection has those of the built-in server. Its package shares nothing with
// the gateway.
func todoServerSection(c *config.Config) config.Section {
	own := config.Bind[Todos](c)
	return config.Section{Name: "todo", Settings: []config.Setting{
		config.DataFile("SLUICE_TODO_DB", &own.DB, &own.IsDefault, "sluice/todo.db",
			"SQLite file of the built-in todo server, or `:memory:`"),
	}}
}

// ChatKit has the settings of the ChatKit endpoint.
type ChatKit struct{ History History }

// History says where the threads of ChatKit are kept.
type History string

// Places of threads.
const (
	historyNone     History = "none"
	HistoryInMemory History = "memory" // of the process
	HistoryInStore  History = "store"
)

// keepsApart reports whether threads are set to be kept elsewhere than in the store, if there is one.
func (k *ChatKit) keepsApart(stored bool) bool {
	return k.History == HistoryInMemory || k.History == historyNone && stored
}

// chatKitSection has those of the ChatKit endpoint.
func chatKitSection(c *config.Config) config.Section {
	own, kept := config.Bind[ChatKit](c), config.Bind[store.Config](c)
	return config.Section{Name: "chatkit", Settings: []config.Setting{
		config.OneOf("SLUICE_CHATKIT_HISTORY", &own.History, "", []History{historyNone, HistoryInMemory, HistoryInStore},
			"threads of [ChatKit](docs/chatkit.md): `none`, `memory` of this process, for development, or the `store`, for all gateways").
			As("`store` with a store, else `none`").Finally(func(fault func(string)) {
			switch {
			case own.History == "" && kept.On():
				own.History = HistoryInStore
			case own.History == "":
				own.History = historyNone
			case own.History == HistoryInStore && !kept.On():
				fault("needs SLUICE_STORE")
			}
		}),
	}}
}

// Logging has the settings of the log.
type Logging struct {
	Level    string // debug, info, warning or error
	Payloads bool   // the words of users and upstreams are in it
}

// loggingSection has those of the log.
func loggingSection(c *config.Config) config.Section {
	own := config.Bind[Logging](c)
	return config.Section{Name: "log", Settings: []config.Setting{
		config.OneOf("SLUICE_LOG_LEVEL", &own.Level, "info", []string{"debug", "info", "warning", "error"},
			"the least serious lines that are written"),
		config.Bool("SLUICE_LOG_PAYLOADS", &own.Payloads,
			"tool arguments and result previews in the log"),
	}}
}

// telemetrySection has the switch; the rest are the variables of OpenTelemetry.
func telemetrySection(c *config.Config) config.Section {
	return config.Section{Name: "telemetry", Settings: []config.Setting{
		config.Telemetry("SLUICE_OTEL", config.Bind[config.OTel](c),
			"`otlp` sends [spans and metrics](docs/operations.md#telemetry) by OTLP over HTTP, as the `OTEL_*` variables say"),
	}}
}
