// Package check holds the rules for texts that several packages take from outside: a URL, a host, a
// header, a time zone, a server's name. Each rule stands once, so that all packages accept the same
// texts.
//
// An error states the rule, in words that can follow the name of a setting. It never repeats the
// text, which may hold a secret.
package check

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// URL accepts absolute http and https URLs.
func URL(text string) error {
	u, err := url.Parse(text)
	switch {
	case isHostPort(text):
		return errors.New("must begin with http:// or https://; write http://" + text)
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case !Host(u.Hostname()) || u.Port() != "" && !Port(u.Port()):
		return errors.New("must name a host, and a port up to 65535 if any")
	}
	return nil
}

// isHostPort reports whether a text is host:port, which url.Parse takes for a scheme, or refuses.
func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && Host(host) && Port(port)
}

// BaseURL accepts the URLs that can be logged: those without user information, query and fragment,
// where keys would stand.
func BaseURL(text string) error {
	if err := URL(text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.User != nil:
		return errors.New("must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("must not hold a query or fragment")
	}
	return nil
}

// Origin accepts what browsers send as Origin, because it is compared as a whole.
func Origin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || text != u.Scheme+"://"+u.Host || u.Port() != "" && !Port(u.Port()) {
		return errors.New("must be scheme://host or scheme://host:port, without a path or slash at the end")
	}
	if strings.Contains(text, "*") {
		return errors.New("must not hold a *: name each origin")
	}
	if strings.IndexFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return inASCII(u)
	}
	if text != strings.ToLower(text) {
		return errors.New("must be in lower case, as browsers send it")
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return errors.New("must not name the scheme's own port, which browsers leave out")
	}
	return nil
}

// inASCII returns the fault of an origin whose host is not in ASCII. It shows the form that browsers
// send.
func inASCII(u *url.URL) error {
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		return errors.New("must name a host in ASCII, as browsers send it (xn--…)")
	}
	if u.Port() != "" {
		host += ":" + u.Port()
	}
	return errors.New("must be in ASCII, as browsers send it: " + u.Scheme + "://" + host)
}

// Host accepts a host's name, or an address without brackets and port.
func Host(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || isHostName(text)
}

// isHostName reports whether a text has the form of a DNS name of at most 253 characters.
// Underscores are allowed, as names of services and containers have them, and so is the point at
// the end that makes a name absolute.
func isHostName(text string) bool {
	if text == "" || len(text) > 253 || !isAlphanumeric(rune(text[0])) {
		return false
	}
	last := text[len(text)-1]
	return last != '_' && last != '-' && !strings.ContainsFunc(text, func(c rune) bool {
		return !isAlphanumeric(c) && !strings.ContainsRune("._-", c)
	})
}

// Port accepts the numbers of ports, 0 included, as they are usually written.
func Port(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && text == strconv.FormatUint(n, 10)
}

// HeaderName accepts the names that a header may have: tokens (RFC 9110, section 5.6.2).
func HeaderName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// Segment accepts texts that can stand as one segment of a URL's path without escapes, such as a
// model's name in Gemini's paths. They are 1 to 128 letters and digits of ASCII, dots, dashes and
// underscores. The first one is a letter or a digit, so that the text is neither "." nor "..".
func Segment(text string) bool {
	return text != "" && len(text) <= 128 && isAlphanumeric(rune(text[0])) && !strings.ContainsFunc(text, func(c rune) bool {
		return !isAlphanumeric(c) && c != '.' && c != '_' && c != '-'
	})
}

// isAlphanumeric reports whether c is a letter or a digit of ASCII.
func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// HeaderValue accepts what net/http sends as a header's value.
func HeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// Key accepts a key that is sent in a header: printable ASCII without spaces.
func Key(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// ServerName accepts the names that an MCP server may have: they stand in metrics,
// in the log and in the names of breakers. They have 1 to 64 characters.
func ServerName(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(c rune) bool {
		return !isAlphanumeric(c) && c != '_' && c != '-'
	})
}

// Plain accepts a text that a system call takes: one without NUL.
func Plain(text string) bool { return !strings.ContainsRune(text, 0) }

// Variable accepts the name and value of an environment variable that a process can get.
func Variable(name, value string) bool {
	return name != "" && !strings.Contains(name, "=") && Plain(name) && Plain(value)
}

// VariableName accepts the names that ${NAME} may hold: those that a shell takes.
func VariableName(text string) bool {
	for i, c := range []byte(text) {
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return text != ""
}
