package servers

import (
	"errors"
	"math"
	"slices"
	"time"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/mcpclient"
)

// side says which servers a key is for, by the key that makes them such.
type side string

const (
	both       side = ""
	childSide  side = "command"
	remoteSide side = "url"
)

// key is one key that a server can have. Its value is put into the Server of the same tag;
// check reports what no schema has refused.
type key struct {
	name  string
	side  side
	check func(*file.Node)
}

// keys lists all keys of a server, bound to s.
func (f *reader) keys(s *Server) []key {
	return []key{
		{"type", both, checked(oneOf(mcpclient.Stdio, mcpclient.HTTP, mcpclient.SSE))},
		{"command", childSide, checked(command)},
		{"builtin", both, checked(oneOf(builtins()...))},
		{"args", childSide, func(n *file.Node) { f.args(n, s) }},
		{"env", childSide, f.env},
		{"dir", childSide, checked(config.Text("", new(string), "", "").Parse)},
		{"url", remoteSide, func(n *file.Node) { f.url(n, s) }},
		{"headers", remoteSide, f.headers},
		{"timeout", both, func(n *file.Node) { s.Timeout = timeout(n) }},
		{"protocolVersion", both, checked(protocolVersion)},
		{"allow", both, tools},
		{"deny", both, tools},
		{"fallback", both, func(n *file.Node) { fallback(n, s.Name) }},
		{"readOnly", both, tools},
		{"idempotent", both, tools},
		{"destructive", both, tools},
		{"confirm", both, confirm},
		{"on_unknown", both, checked(oneOf(askUnknown, ReportUnknown))},
		{"trust", both, truth},
		{"cache", both, func(n *file.Node) { s.Cache = cache(n) }},
		{"cache_shared", both, truth},
		{"identity", both, truth},
	}
}

// Values of Server.OnUnknown.
const (
	askUnknown    = "ask"  // a person
	ReportUnknown = "tell" // the model, as in a turn
)

// builtins are the servers that the program brings along.
func builtins() []string {
	return []string{"todo", "home-lights", "home-music", "home-climate", "timesheet", "fake-payments"}
}

// checked wants a string that parse accepts.
func checked(parse func(string) error) func(*file.Node) {
	return func(n *file.Node) {
		if s, ok := str(n); ok {
			if err := parse(s); err != nil {
				n.Fault(err.Error())
			}
		}
	}
}

// oneOf accepts some words.
func oneOf[T ~string](words ...T) func(string) error {
	return config.OneOf("", new(T), "", words, "").Parse
}

// str wants a string.
func str(n *file.Node) (string, bool) {
	s, ok := n.Text()
	if !ok {
		n.Fault("must be a string")
	}
	return s, ok
}

// command accepts the program of a child process.
func command(value string) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	return config.Text("", new(string), "", "").Parse(value)
}

// protocolVersion accepts a version of MCP, which is a date, or auto.
func protocolVersion(value string) error {
	if _, err := time.Parse(time.DateOnly, value); err != nil && value != "auto" {
		return errors.New("must be a date such as 2025-11-25, or auto")
	}
	return nil
}

// url checks a URL, with variables filled in. What they held is kept, to be hidden in the
// log.
func (f *reader) url(n *file.Node, s *Server) {
	if value, ok := f.expanded(n, &s.Expanded); ok {
		if err := check.BaseURL(value); err != nil {
			n.Fault(err.Error())
		}
	}
}

// args checks a list of strings with variables filled in. None may hold a NUL, which
// would cut an argument of a process.
func (f *reader) args(n *file.Node, s *Server) {
	for _, m := range elements(n) {
		if value, ok := f.expanded(m, &s.Expanded); ok && !check.Plain(value) {
			m.Fault("must not hold a NUL")
		}
	}
}

// tools checks a list of tool names. An empty one is refused: as allow it would leave no
// tool at all, and nobody means that.
func tools(n *file.Node) {
	isList := n.Kind() == '['
	list := elements(n)
	for _, m := range list {
		if name, ok := str(m); ok && name == "" {
			m.Fault("must not be empty")
		}
	}
	if isList && len(list) == 0 {
		n.Fault("must name a tool, or be left out")
	}
}

// elements lists the items of a list.
func elements(n *file.Node) []*file.Node {
	if n.Kind() != '[' {
		n.Fault("must be an array of strings")
		return nil
	}
	return slices.Collect(n.Members())
}

// truth wants a boolean.
func truth(n *file.Node) {
	if _, ok := n.Bool(); !ok {
		n.Fault("must be true or false")
	}
}

// timeout reads a duration, or a number of seconds. 0: it was refused.
func timeout(n *file.Node) (d time.Duration) {
	var err error
	switch n.Kind() {
	case '"':
		text, _ := n.Text()
		err = config.Duration("", &d, 0, "").Parse(text)
	case '0':
		seconds, _ := n.Float() // infinite if it is too large
		if seconds < 1e-3 || seconds > 24*3600 {
			err = errors.New("must be from 0.001 seconds to a day")
			break
		}
		d = time.Duration(math.Round(seconds * 1e9))
	default:
		err = errors.New("must be a duration such as 15s, or a number of seconds")
	}
	if err != nil {
		n.Fault(err.Error())
	}
	return d
}

// How long the results of a tool may be kept.
const (
	minCache = time.Second
	maxCache = 5 * time.Minute
)

// cache reads an object of durations, by tool.
func cache(n *file.Node) map[string]time.Duration {
	all := make(map[string]time.Duration)
	for m := range members(n, `must be an object of durations, such as {"search": "1m"}`) {
		if m.Name() == "" {
			m.Fault("must not be empty")
			continue
		}
		d := timeout(m)
		if d != 0 && (d < minCache || d > maxCache) {
			m.Fault("must be from 1s to 5m")
		}
		all[m.Name()] = d
	}
	return all
}
