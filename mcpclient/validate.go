package mcpclient

import (
	"errors"
	"fmt"
	"net/textproto"

	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/base/check"
)

// checkConfig returns every fault of c at once. No value is repeated in the text:
// a URL, a header or a variable may hold a secret.
func (c Config) checkConfig() error {
	var faults []error
	if c.Timeout < 0 || c.Refresh < 0 || c.ConnectWait < 0 {
		faults = append(faults, errors.New("a duration is negative"))
	}
	seen := map[string]bool{}
	for i, s := range c.Servers {
		where := fmt.Sprintf("server %d", i+1)
		if !check.ServerName(s.Name) {
			faults = append(faults, fmt.Errorf("%s: its name is not of the form [A-Za-z0-9_-]{1,64}", where))
		} else {
			where = fmt.Sprintf("server %q", s.Name)
		}
		if seen[s.Name] {
			faults = append(faults, fmt.Errorf("%s: there are two of that name", where))
		}
		seen[s.Name] = true
		for _, err := range s.listFaults() {
			faults = append(faults, fmt.Errorf("%s: %w", where, err))
		}
	}
	return errors.Join(faults...)
}

// listFaults returns all faults of a server, for callers that configure one in code. The readers of
// files check the same and name the place.
func (s Server) listFaults() []error {
	var faults []error
	add := func(bad bool, text string) {
		if bad {
			faults = append(faults, errors.New(text))
		}
	}
	switch s.Transport {
	case HTTP, SSE:
		add(check.URL(s.URL) != nil, "url is not an absolute http or https URL")
		faults = append(faults, headerFaults(s.Headers)...)
	case Stdio:
		add(s.Command == "", "command is missing")
		add(!plainEnv(s.Env), "env has a name or value that a process cannot be given")
	case InProcess:
		add(s.InProcess == nil, "the in-process server is missing")
	default:
		add(true, "transport is none of http, sse, stdio, inprocess")
	}
	add(s.URL != "" && s.Transport != HTTP && s.Transport != SSE, "url is for http and sse servers")
	add(s.Command != "" && s.Transport != Stdio, "command is for stdio servers")
	add(s.Timeout < 0, "timeout is negative")
	known := s.ProtocolVersion == "" || s.ProtocolVersion == autoProtocol || mcp.IsValidProtocolVersion(s.ProtocolVersion)
	add(!known, "protocolVersion is not known")
	return faults
}

// plainEnv reports whether a child's variables are such that the system takes them as they
// are meant. Their values are not repeated in an error: they may be secrets.
func plainEnv(env map[string]string) bool {
	for name, value := range env {
		if !check.Variable(name, value) {
			return false
		}
	}
	return true
}

// isReserved reports whether a header, by its canonical name, cannot be configured. With an
// idempotency key net/http would itself repeat a POST (http.Request.isReplayable), and so run a
// tool twice. The others belong to HTTP or to MCP.
func isReserved(header string) bool {
	switch header {
	case "Idempotency-Key", "X-Idempotency-Key",
		"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Transfer-Encoding", "Trailer", "Upgrade",
		"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
		"Last-Event-Id", "X-Request-Id":
		return true
	}
	return false
}

// headerFaults returns the faults of a server's headers: those that net/http refuses, and those
// that the transport sets itself. Their values are not repeated.
func headerFaults(headers map[string]string) []error {
	var faults []error
	for name, value := range headers {
		switch {
		case !check.HeaderName(name):
			faults = append(faults, errors.New("a header's name is not valid"))
		case isReserved(textproto.CanonicalMIMEHeaderKey(name)):
			faults = append(faults, fmt.Errorf("the header %s cannot be configured", name))
		case !check.HeaderValue(value):
			faults = append(faults, fmt.Errorf("the value of header %s is not valid", name))
		}
	}
	return faults
}
