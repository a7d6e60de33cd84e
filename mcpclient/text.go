package mcpclient

import (
	"net/url"
	"regexp"
	"strings"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

// clipText returns at most n bytes of s, with a mark if that is not all.
func clipText(s string, n int) string {
	head, cut := chat.Truncate(s, n)
	if cut {
		head += "…"
	}
	return head
}

// newScrubber returns a scrubber of everything in s's configuration that is secret: a server
// may repeat it in an answer.
func newScrubber(s Server) *redact.Scrubber {
	var secrets []string
	add := func(value string) {
		secrets = append(append(secrets, value), strings.Fields(value)...) // "Bearer x": x alone, too
	}
	for _, v := range s.Headers {
		add(v)
	}
	for name, v := range s.Env {
		if redact.SecretName(name) {
			add(v)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	return redact.New(secrets)
}

// localPath matches a path of the server's machine in a text. It asks for a root
// that such paths have: "/items/0/title" is a JSON pointer, and of use.
var localPath = regexp.MustCompile(`(?:/(?:var|etc|home|root|usr|opt|tmp|srv|mnt|media|proc|sys|run|dev|app|data|private|Users|Library|Volumes)/|[A-Za-z]:\\)[^\s"'<>|:;,)\]}]+`)

// address matches what names a machine: a URL, and an IP address or localhost with
// a port.
var address = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+|\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?\b|\[[0-9a-fA-F:]*:[0-9a-fA-F:]+\](?::\d+)?`)

// hidePlaces replaces paths and addresses in a text that a person is shown.
func hidePlaces(s string) string { return address.ReplaceAllString(hidePaths(s), "[address]") }

// hidePaths replaces the paths of the server's machine in the text of an error.
func hidePaths(s string) string { return localPath.ReplaceAllString(s, "[path]") }
