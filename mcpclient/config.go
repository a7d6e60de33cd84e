package mcpclient

import (
	"context"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Transport is the way to reach an MCP server.
type Transport string

// Transports of MCP.
const (
	HTTP      Transport = "http"      // streamable HTTP
	SSE       Transport = "sse"       // HTTP with a GET stream, as before 2025-03-26
	Stdio     Transport = "stdio"     // a child process
	InProcess Transport = "inprocess" // a server in this process
)

// Protocol versions with a meaning of their own in Server.ProtocolVersion.
const (
	// pinnedProtocol is the version for an empty ProtocolVersion. Old servers answer a
	// server/discover probe late, noisily or not at all, so none is sent.
	pinnedProtocol = "2025-11-25"
	// autoProtocol probes with server/discover and falls back to initialize.
	autoProtocol = "auto"
)

// Config describes a Client. Its zero value is a client without servers.
type Config struct {
	// Servers are the MCP servers, in the order in which their tools are listed.
	Servers []Server
	// Log gets events without a request: connections made and lost, tools dropped. Events of a
	// request go to the logger in its context.
	Log zerolog.Logger
	// Version is ours: the servers see it in User-Agent and clientInfo.
	Version string
	// Timeout bounds one tool call, with all that it takes; 0 means DefaultTimeout.
	Timeout time.Duration
	// Refresh is how often the list of tools is read again; 0 means 60 s.
	Refresh time.Duration
	// ConnectWait is how long Tools and Call wait for a connection that is being
	// made; 0 means 1 s.
	ConnectWait time.Duration
	// Transport carries the requests of all HTTP servers. nil means an http.Transport of our own,
	// without a proxy from the environment. Another one must report to net/http/httptrace as
	// http.Transport does, or a refused connection counts as a call with an unknown outcome.
	Transport http.RoundTripper
	// BaseEnv is the environment ("NAME=value") that child processes may inherit from. Only the
	// variables that baseEnvAllowed accepts are taken over, so that it may be the whole environment
	// of this process.
	BaseEnv []string
	// Lists stores the tools of servers, for a start without them. It may be nil.
	Lists Lists
}

// Lists keeps the list of tools that a server gave last, for as long as it wants. A failure has no
// effect: a failed Load returns nil, and a failed Replace is ignored.
type Lists interface {
	// Load returns a server's list; nil without one.
	Load(ctx context.Context, server string) []byte
	// Replace replaces a server's list.
	Replace(ctx context.Context, server string, list []byte)
}

// DefaultTimeout bounds one tool call unless Config says otherwise.
const DefaultTimeout = 10 * time.Second

// Server is one MCP server.
type Server struct {
	// Name is unique and matches [A-Za-z0-9_-]{1,64}; its breaker is "mcp:<Name>".
	Name      string
	Transport Transport

	// URL of an http or sse server.
	URL string
	// Headers go with each request to URL. Their values are secrets: they reach no
	// log, no error and no model, even if the server repeats them.
	Headers map[string]string

	// Command of a stdio server: a path, or a name that is looked up in the PATH
	// that the child gets. No shell is involved.
	Command string
	Args    []string
	// Env holds the child's variables besides BaseEnv. Values of variables with a name like
	// API_KEY, TOKEN or PASSWORD are secrets like those of Headers.
	Env map[string]string
	// Dir is the child's working directory; empty means ours.
	Dir string

	// InProcess is the server of the transport "inprocess".
	InProcess *server.MCPServer

	// Timeout bounds one tool call; 0 means Config.Timeout.
	Timeout time.Duration
	// ProtocolVersion is "" (pinnedProtocol), "auto" or a version.
	ProtocolVersion string
	// Allow and Deny are names of tools as the server gives them. An empty Allow
	// means all; Deny wins.
	Allow, Deny []string
	// Policy holds the operator's settings for the tools.
	Policy tool.Policy
	// Identity has the server receive for whom each tool is called: _meta has sluice/tenant and
	// sluice/user, a request over HTTP also X-Sluice-Tenant and X-Sluice-User.
	Identity bool
	// Breaker guards the server; nil means one with breaker.Config's defaults.
	Breaker *breaker.Breaker
}

const (
	defaultRefresh     = time.Minute
	defaultConnectWait = time.Second

	// connectTimeout bounds the handshake of an HTTP or in-process server, and
	// startTimeout that of a child: uvx and npx may have to download it first.
	connectTimeout = 10 * time.Second
	startTimeout   = 60 * time.Second
)

// withDefaults fills in what zero values mean.
func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Refresh == 0 {
		c.Refresh = defaultRefresh
	}
	if c.ConnectWait == 0 {
		c.ConnectWait = defaultConnectWait
	}
	return c
}

// withServerDefaults fills in what zero values of a server mean, with the client's own where it has
// one. It makes a breaker if Breaker is nil.
func (c Config) withServerDefaults(s Server) Server {
	if s.Timeout == 0 {
		s.Timeout = c.Timeout
	}
	if s.ProtocolVersion == "" {
		s.ProtocolVersion = pinnedProtocol
	}
	if s.Breaker == nil {
		s.Breaker = breaker.New(breaker.Config{Service: "mcp:" + s.Name, TurnOf: chat.TurnKeyOf, Log: c.Log})
	}
	return s
}

// connectTimeout bounds one handshake with s, its list of tools included.
func (s Server) connectTimeout() time.Duration {
	if s.Transport == Stdio {
		return startTimeout
	}
	return connectTimeout
}
