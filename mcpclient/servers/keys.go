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

// side is the kind of servers that a key is for, named by the key that defines the kind.
type side string

const (
	both       side = ""
	childSide  side = "command"
	remoteSide side = "url"
)

// key is one key that a server can have. Its value is put into the Server of the same tag. check
// reports the faults that no schema finds.
type key struct {
	name  string
	side  side
	check func(*file.Node)
}

// serverKeys lists all keys of a server, bound to s.
func (f *reader) serverKeys(s *Server) []key {
	return []key{
		{"type", both, checkedBy(oneOf(mcpclient.Stdio, mcpclient.HTTP, mcpclient.SSE))},
		{"command", childSide, checkedBy(checkCommand)},
		{"builtin", both, checkedBy(oneOf(builtinNames()...))},
		{"args", childSide, func(n *file.Node) { f.checkArgs(n, s) }},
		{"env", childSide, f.checkEnv},
		{"dir", childSide, checkedBy(config.Text("", new(string), "", "").Parse)},
		{"url", remoteSide, func(n *file.Node) { f.checkURL(n, s) }},
		{"headers", remoteSide, f.checkHeaders},
		{"timeout", both, func(n *file.Node) { s.Timeout = readTimeout(n) }},
		{"protocolVersion", both, checkedBy(checkProtocolVersion)},
		{"allow", both, checkTools},
		{"deny", both, checkTools},
		{"fallback", both, func(n *file.Node) { checkFallbacks(n, s.Name) }},
		{"readOnly", both, checkTools},
		{"idempotent", both, checkTools},
		{"destructive", both, checkTools},
		{"confirm", both, checkConfirm},
		{"on_unknown", both, checkedBy(oneOf(askUnknown, ReportUnknown))},
		{"trust", both, checkBool},
		{"cache", both, func(n *file.Node) { s.Cache = readCache(n) }},
		{"cache_shared", both, checkBool},
		{"identity", both, checkBool},
	}
}

// Values of Server.OnUnknown.
const (
	askUnknown    = "ask"  // a person
	ReportUnknown = "tell" // the model, as in a turn
)

// builtinNames are the servers that the program brings along.
func builtinNames() []string {
	return []string{"todo", "home-lights", "home-music", "home-climate", "timesheet", "fake-payments"}
}

// checkedBy returns a check that accepts a string if parse does.
func checkedBy(parse func(string) error) func(*file.Node) {
	return func(n *file.Node) {
		if s, ok := stringOf(n); ok {
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

// stringOf returns a string. Any other value is a fault.
func stringOf(n *file.Node) (string, bool) {
	s, ok := n.Text()
	if !ok {
		n.Fault("must be a string")
	}
	return s, ok
}

// checkCommand accepts the program of a child process.
func checkCommand(value string) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	return config.Text("", new(string), "", "").Parse(value)
}

// checkProtocolVersion accepts a version of MCP: a date, or auto.
func checkProtocolVersion(value string) error {
	if _, err := time.Parse(time.DateOnly, value); err != nil && value != "auto" {
		return errors.New("must be a date such as 2025-11-25, or auto")
	}
	return nil
}

// checkURL checks a URL, with variables filled in. It stores the values of the variables, to be
// hidden in the log.
func (f *reader) checkURL(n *file.Node, s *Server) {
	if value, ok := f.expandNode(n, &s.Expanded); ok {
		if err := check.BaseURL(value); err != nil {
			n.Fault(err.Error())
		}
	}
}

// checkArgs checks a list of strings with variables filled in. It refuses a NUL, which would cut an
// argument of a process.
func (f *reader) checkArgs(n *file.Node, s *Server) {
	for _, m := range elementsOf(n) {
		if value, ok := f.expandNode(m, &s.Expanded); ok && !check.Plain(value) {
			m.Fault("must not hold a NUL")
		}
	}
}

// checkTools checks a list of tool names. An empty one is refused: as allow it would leave no
// tool at all, and nobody means that.
func checkTools(n *file.Node) {
	isList := n.Kind() == '['
	list := elementsOf(n)
	for _, m := range list {
		if name, ok := stringOf(m); ok && name == "" {
			m.Fault("must not be empty")
		}
	}
	if isList && len(list) == 0 {
		n.Fault("must name a tool, or be left out")
	}
}

// elementsOf lists the items of a list.
func elementsOf(n *file.Node) []*file.Node {
	if n.Kind() != '[' {
		n.Fault("must be an array of strings")
		return nil
	}
	return slices.Collect(n.Members())
}

// checkBool accepts a boolean.
func checkBool(n *file.Node) {
	if _, ok := n.Bool(); !ok {
		n.Fault("must be true or false")
	}
}

// readTimeout reads a duration, or a number of seconds. 0: it was refused.
func readTimeout(n *file.Node) (d time.Duration) {
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

// readCache reads an object of durations, by tool.
func readCache(n *file.Node) map[string]time.Duration {
	all := make(map[string]time.Duration)
	for m := range membersOf(n, `must be an object of durations, such as {"search": "1m"}`) {
		if m.Name() == "" {
			m.Fault("must not be empty")
			continue
		}
		d := readTimeout(m)
		if d != 0 && (d < minCache || d > maxCache) {
			m.Fault("must be from 1s to 5m")
		}
		all[m.Name()] = d
	}
	return all
}
