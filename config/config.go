// Package config is the one reader of flags and environment.
//
// It turns them into one Config, or into one Error that lists every fault at
// once. What there is to set it does not know: each package registers its own
// Section, and the program joins them to a Table. The values are the program's to
// hand out: a package gets its part in its own Config.
//
// A value comes from a flag, else from the environment, else from the default.
// One that is empty counts as not given, as container platforms set variables
// to nothing. Neither faults nor logs repeat a value: it may be a secret that
// got under the wrong name. Secret is a string that prints as dots.
package config

import (
	"slices"
	"strings"
	"time"

	"sluice/redact"
)

// DefaultGeminiBaseURL is where the Gemini API itself lives. It always wants a key.
const DefaultGeminiBaseURL = "https://generativelanguage.googleapis.com"

// Config is all that can be set from outside. Load fills the fields that sections are
// bound to, with the defaults that the sections name.
type Config struct {
	// Addr is the listen address, host:port. Port 0 lets the kernel pick one.
	Addr string
	// AdminAddr is the listen address for operators; empty: there is none.
	AdminAddr string

	// GeminiAPIKey is empty when there is none.
	GeminiAPIKey Secret
	GeminiModel  string
	// GeminiBaseURL is an http or https URL without a trailing slash.
	GeminiBaseURL string
	// GeminiDriver is "rest" or "sdk".
	GeminiDriver string
	// GeminiThinking is "summary", "off", "low", "medium", "high", or a budget in
	// tokens as a decimal number, of which -1 means that the model decides.
	GeminiThinking string

	// Proxy is where requests to models go through.
	Proxy Proxy

	// FileSecrets holds keys and other secrets of the configuration file by their JSON
	// pointers, so that the log can be kept free of them.
	FileSecrets map[string]Secret

	// Parts holds what packages keep themselves of what was set; see Bind.
	Parts Parts `json:"-"`

	// Record is the folder that turns are recorded into; empty: they are not. RecordMax is
	// how many bytes of them stay.
	Record    string
	RecordMax int64

	// Timezone is never nil.
	Timezone *time.Location

	// The three timeouts are positive.
	RequestTimeout time.Duration
	ModelTimeout   time.Duration
	ToolTimeout    time.Duration

	// Heartbeat is 0 when there is none.
	Heartbeat    time.Duration
	WriteTimeout time.Duration
	MaxStreams   int
	// Admission is AdmitAdaptive or AdmitCount.
	Admission string
	// MaxConnections bounds client connections; 0 leaves it to the file descriptors.
	MaxConnections int
	// DrainTimeout is 0 when running streams are ended at once.
	DrainTimeout time.Duration

	// CORSOrigins holds exact origins, or "*" alone.
	CORSOrigins []string
	// Hosts holds the names, in lower case and without a port, that a request's Host
	// may be, beside loopback names and addresses. Empty allows every name.
	Hosts []string
	// GetTools is GetToolsAll, GetToolsReadOnly or GetToolsOff.
	GetTools string
	// Store is where turns are kept, as store.ParseLocation reads it; empty or "none":
	// nowhere. It may hold a password. StorePrefix stands before every key; with
	// StoreRequired no turn begins while the store is unavailable.
	Store         Secret
	StorePrefix   string
	StoreRequired bool

	// Confirm says which tool calls a person must allow: off, destructive, writes or all.
	Confirm string
	// ApprovalKey holds keys as approval.ParseKeys reads them; empty: a random one.
	// ApprovalTTL is 0 where the default holds, which depends on the store.
	ApprovalKey Secret
	ApprovalTTL time.Duration

	// ChatKitHistory is HistoryNone, HistoryInMemory or HistoryInStore.
	ChatKitHistory string
	// LogLevel is "debug", "info", "warning" or "error".
	LogLevel    string
	LogPayloads bool

	OTel OTel

	MCPBreaker    Breaker
	GeminiBreaker Breaker
	A2ABreaker    Breaker // of each remote agent

	// TodoDB is the file of the built-in todo server, or ":memory:", which is
	// also what it is when no folder of the user's is known.
	TodoDB string
	// TodoDBIsDefault says that nobody chose TodoDB: if it cannot be written, memory
	// does as well.
	TodoDBIsDefault bool

	// ChildEnv is what every child process may know of our environment, as
	// NAME=value. It holds no key.
	ChildEnv []string
}

// Where the threads of ChatKit are kept.
const (
	HistoryNone     = "none"
	HistoryInMemory = "memory" // of the process
	HistoryInStore  = "store"
)

// What decides whether a stream is admitted below MaxStreams.
const (
	AdmitAdaptive = "adaptive" // what the machine can carry at the moment
	AdmitCount    = "count"    // MaxStreams alone
)

// Which tools a turn may call that came by GET.
const (
	GetToolsAll      = "all"
	GetToolsReadOnly = "readonly"
	GetToolsOff      = "off"
)

// Breaker sets a circuit breaker. All fields are positive.
type Breaker struct {
	Failures      int // consecutive ones that open it
	Recovery      time.Duration
	HalfOpenCalls int
}

// HasStore says whether turns are kept.
func (c *Config) HasStore() bool { return c.Store != "" && c.Store != "none" }

// Offline says whether the built-in offline model is to be used: there is no
// key, and no server other than Google's that might need none.
func (c Config) Offline() bool {
	return c.GeminiAPIKey == "" && c.GeminiBaseURL == DefaultGeminiBaseURL
}

// Secrets returns every secret value for the log's scrubber, in order and each once.
// Of a header such as "Bearer <token>" the token is in it by itself as well. Values
// shorter than redact.MinLength are left out; see ShortSecrets.
func (c Config) Secrets() []string {
	all := append(c.Proxy.secrets(), c.GeminiAPIKey.Reveal())
	for _, v := range c.OTel.Hidden {
		all = append(all, v.Reveal())
	}
	all = append(all, strings.Split(c.ApprovalKey.Reveal(), ",")...)
	if _, credentials, ok := strings.Cut(c.Store.Reveal(), "://"); ok {
		if userinfo, _, ok := strings.Cut(credentials, "@"); ok {
			_, password, _ := strings.Cut(userinfo, ":")
			all = append(all, password)
		}
	}
	for _, v := range c.FileSecrets {
		all = append(all, v.Reveal(), v.Credentials())
	}
	for _, part := range c.Parts {
		if h, ok := part.(SecretHolder); ok {
			for _, v := range h.Secrets() {
				all = append(all, v.Reveal())
			}
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < redact.MinLength })
	slices.Sort(all)
	return slices.Compact(all)
}

// ShortSecrets names, in order, the settings whose value is a secret that is too
// short to be searched for, so that the log cannot be kept free of it.
func (c Config) ShortSecrets() []string {
	var short []string
	add := func(setting, value string) {
		if value != "" && len(value) < redact.MinLength {
			short = append(short, setting)
		}
	}
	add("GEMINI_API_KEY", c.GeminiAPIKey.Reveal())
	for pointer, v := range c.FileSecrets {
		if strings.HasSuffix(pointer, "/api_key") || redact.SecretName(pointer[strings.LastIndexByte(pointer, '/')+1:]) {
			add("SLUICE_CONFIG: "+pointer, v.Credentials())
		}
	}
	for _, part := range c.Parts {
		if h, ok := part.(SecretHolder); ok {
			for setting, v := range h.Named() {
				add(setting, v.Reveal())
			}
		}
	}
	slices.Sort(short)
	return short
}
