// Package servers reads the operator's settings for MCP servers: MCP_SERVER_URL, the mcpServers
// file of MCP_CONFIG, and the section mcpServers of the configuration file. It connects to none of
// them; that is mcpclient's part.
//
// Keys of servers are checked one by one, and every fault is reported with its place.
package servers

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/base/redact"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
)

// List is the part of a config.Config with all servers: that of MCP_SERVER_URL, then those of
// MCP_CONFIG in the order of the file, then those of the configuration file. Empty means the
// built-in todo server.
type List []Server

// Path is the part of a config.Config with the path of the file of MCP_CONFIG; empty without a
// file.
type Path string

// hideSecrets keeps possible secrets of a server out of the log.
func (s *Server) hideSecrets(c *config.Config) {
	named := func(name, place string) string {
		if !redact.SecretName(name) {
			return ""
		}
		return "MCP_CONFIG: /mcpServers/" + s.Name + place + name
	}
	for name, v := range s.Headers {
		c.Hide("", v)
		c.Hide(named(name, "/headers/"), config.Secret(v.Credentials()))
	}
	for name, v := range s.Env {
		c.Hide(named(name, "/env/"), v)
	}
	c.Hide("", s.Expanded...)
}

// Server is one server to take tools from.
type Server struct {
	// Name is unique and matches [A-Za-z0-9_-]{1,64}.
	Name      string              `key:"@"`
	Transport mcpclient.Transport `key:"type"`

	// URL and Headers belong to mcpclient.HTTP and SSE.
	URL     string                   `key:"url"`
	Headers map[string]config.Secret `key:"headers"`

	// Builtin names a server inside the process; of mcpclient.InProcess.
	Builtin string `key:"builtin"`

	// Command, Args, Env and Dir belong to mcpclient.Stdio. Env comes on top of
	// config.Config.ChildEnv. An empty Dir is our own working folder.
	Command string                   `key:"command"`
	Args    []string                 `key:"args"`
	Env     map[string]config.Secret `key:"env"`
	Dir     string                   `key:"dir"`

	// Timeout is that of one tool call; 0 means Common.Timeout.
	Timeout time.Duration
	// ProtocolVersion is a date such as "2025-11-25", or "auto" to negotiate.
	// Empty leaves the choice to the client.
	ProtocolVersion string `key:"protocolVersion"`
	// Allow, unless it is nil, names the only tools that are offered. Deny names
	// tools that are not offered, and wins.
	Allow []string `key:"allow"`
	Deny  []string `key:"deny"`

	// Policy holds the settings for the tools. Results are kept for 1 s to 5 min.
	tool.Policy `key:"."`
	// OnUnknown names the receiver of an unknown outcome of a call in a workflow: "ask" for a
	// person, which is the default, or ReportUnknown.
	OnUnknown string `key:"on_unknown"`

	// Identity sends the server the user for whom its tools are called. If it is nil, built-in
	// servers get the user where senders must authenticate, so that each user has a list of their
	// own.
	Identity *bool `key:"identity"`

	// Expanded holds what ${VAR} put into URL and Args, where no Secret can hide
	// it: it is often a token.
	Expanded []config.Secret
}

// String returns the name and transport only: an address or an argument may hold a token.
func (s Server) String() string { return s.Name + " (" + string(s.Transport) + ")" }

// Address returns the place of the server for a person: scheme and host of a URL, or the program
// of a child. A path or an argument may hold a token.
func (s Server) Address() string {
	switch {
	case s.Command != "":
		return filepath.Base(s.Command)
	case s.URL == "":
		return string(s.Transport)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return string(s.Transport)
	}
	return u.Scheme + "://" + u.Host
}

// Format writes String whatever the verb is.
func (s Server) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText is String, so that JSON holds no more either.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
