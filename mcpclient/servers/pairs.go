package servers

import (
	"net/textproto"

	"sluice/internal/base/check"
	"sluice/internal/base/config/file"
)

// checkPairs checks an object of strings and fills in their variables. wrong returns the fault of a
// pair, or an empty text.
func (f *reader) checkPairs(n *file.Node, wrong func(name, value string) string) {
	for m := range membersOf(n, "must be an object of strings") {
		value, ok := f.expandNode(m, nil)
		if !ok {
			continue
		}
		if fault := wrong(m.Name(), value); fault != "" {
			m.Fault(fault)
		}
	}
}

// checkEnv checks the variables that a child process gets on top of the few that it inherits.
func (f *reader) checkEnv(n *file.Node) {
	f.checkPairs(n, func(name, value string) string {
		if !check.Variable(name, value) {
			return "a variable needs a name without =, and neither part may hold a NUL"
		}
		return ""
	})
}

// checkHeaders refuses what net/http would refuse later, call by call, and names that
// are one to HTTP, of which only one would be sent.
func (f *reader) checkHeaders(n *file.Node) {
	seen := make(map[string]bool)
	f.checkPairs(n, func(name, value string) string {
		same := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !check.HeaderName(name):
			return "is not a header's name"
		case seen[same]:
			return "is given twice: names that differ only in upper and lower case are the same"
		case !check.HeaderValue(value):
			return "the value must not hold line ends or other control characters"
		}
		seen[same] = true
		return ""
	})
}
