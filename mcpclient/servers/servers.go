// Package servers reads what an operator says of MCP servers: MCP_SERVER_URL, the mcpServers file of MCP_CONFIG, and
// the section mcpServers of the configuration file. It connects to none of them; that is mcpclient's part.
//
// Keys of servers are checked one by one, and every fault is reported with its place.
package servers

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"sluice/config"
	"sluice/mcpclient"
	"sluice/redact"
)

// List is the part of a config.Config that holds the server of MCP_SERVER_URL, then those of MCP_CONFIG in the
// order of the file, then those of the configuration file. Empty means the built-in todo server.
type List []Server

// Secrets implements config.SecretHolder.
func (l List) Secrets() (all []config.Secret) {
	for _, s := range l {
		for _, v := range s.Headers {
			all = append(all, v, config.Secret(v.Credentials()))
		}
		all = slices.AppendSeq(all, maps.Values(s.Env))
		all = append(all, s.Expanded...)
	}
	return all
}

// Named implements config.SecretHolder: headers and variables whose names say that they are secret.
func (l List) Named() iter.Seq2[string, config.Secret] {
	return func(yield func(string, config.Secret) bool) {
		for _, s := range l {
			at := "MCP_CONFIG: /mcpServers/" + s.Name
			for name, v := range s.Headers {
				if redact.SecretName(name) && !yield(at+"/headers/"+name, config.Secret(v.Credentials())) {
					return
				}
			}
			for name, v := range s.Env {
				if redact.SecretName(name) && !yield(at+"/env/"+name, v) {
					return
				}
			}
		}
	}
}

// Server is one server to take tools from.
type Server struct {
	// Name is unique and matches [A-Za-z0-9_-]{1,64}.
	Name      string
	Transport mcpclient.Transport

	// URL and Headers belong to mcpclient.HTTP and SSE.
	URL     string
	Headers map[string]config.Secret

	// Builtin names a server inside the process; of mcpclient.InProcess.
	Builtin string

	// Command, Args, Env and Dir belong to mcpclient.Stdio. Env comes on top of
	// config.Config.ChildEnv. An empty Dir is our own working folder.
	Command string
	Args    []string
	Env     map[string]config.Secret
	Dir     string

	// Timeout is that of one tool call; 0 means config.Config.ToolTimeout.
	Timeout time.Duration
	// ProtocolVersion is a date such as "2025-11-25", or "auto" to negotiate.
	// Empty leaves the choice to the client.
	ProtocolVersion string
	// Allow, unless it is nil, names the only tools that are offered. Deny names
	// tools that are not offered, and wins.
	Allow []string
	Deny  []string

	// ReadOnly, Idempotent and Destructive name tools that are so, whatever the
	// server says. Untrusted ignores what it says of the others, too.
	ReadOnly    []string
	Idempotent  []string
	Destructive []string
	Untrusted   bool
	// Fallback names, by tool, those to run when the server is unavailable, in the order
	// in which they are tried: "<tool>" or "<server>/<tool>".
	Fallback map[string][]string
	// Confirm says of tools, by name, whether a person must allow their calls: always or
	// never.
	Confirm map[string]string
	// OnUnknown says who learns that nobody knows what became of a call in a workflow:
	// AskUnknown, which is also what empty means, or TellUnknown.
	OnUnknown string

	// Cache says of tools for how long their results are kept, 1 s to 5 min, and
	// CacheShared that those for one user serve all.
	Cache       map[string]time.Duration
	CacheShared bool
	// Identity tells the server for whom its tools are called.
	Identity bool

	// Expanded holds what ${VAR} put into URL and Args, where no Secret can hide
	// it: it is often a token.
	Expanded []config.Secret
}

// String tells which server it is, and no more: an address or an argument may
// hold a token.
func (s Server) String() string { return s.Name + " (" + string(s.Transport) + ")" }

// Format writes String whatever the verb is.
func (s Server) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText is String, so that JSON holds no more either.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
