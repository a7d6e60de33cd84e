package check_test

import (
	"strings"
	"testing"

	"sluice/internal/base/check"
)

func TestRules(t *testing.T) {
	t.Parallel()
	good := func(rule func(string) error) func(string) bool {
		return func(s string) bool { return rule(s) == nil }
	}
	location := func(s string) bool {
		zone, ok := check.Location(s)
		return ok && zone.String() == s
	}
	for _, tt := range []struct {
		name   string
		rule   func(string) bool
		accept []string
		refuse []string
	}{
		{"URL", good(check.URL),
			[]string{"http://h", "https://u:p@h:1/a?b=c#d", "http://[::1]:8000/mcp", "http://127.0.0.1"},
			[]string{"", "h", "//h", "ftp://h", "http://", "http://:80", "http://h:99999", "http://h:x", "http://a b", "http://h\x7f/", "unix:///x"}},
		{"BaseURL", good(check.BaseURL),
			[]string{"http://h", "https://h:1/a/", "http://[::1]:8000/mcp"},
			[]string{"", "h", "http://u@h", "http://h?k=v", "http://h?", "http://h#f", "http://h#"}},
		{"Origin", good(check.Origin),
			[]string{"https://a.test", "http://b.test:8080", "app://x"},
			[]string{"*", "null", "a.test", "https://a.test/", "https://A.test", "https://a.test:443", "http://a.test:80", "https://u@a.test", "https://a.test:99999", "https://*.a.test", "https://münchen.test"}},
		{"Host", check.Host,
			[]string{"a", "a.b-c.test", "a.test.", "10.0.0.1", "::1", "2001:db8::1"},
			[]string{"", "-a", "a b", "a/b", "[::1]", strings.Repeat("a", 254)}},
		{"Port", check.Port, []string{"0", "80", "65535"}, []string{"", "-1", "08", "65536", "http", "+1"}},
		{"HeaderName", check.HeaderName, []string{"Authorization", "X-A_b.1"}, []string{"", "a b", "a:", "é", "a\n"}},
		{"HeaderValue", check.HeaderValue, []string{"", "a\tb", "é"}, []string{"a\r\nb", "\x00", "\x7f"}},
		{"Key", check.Key, []string{"", "AIza-0_9~"}, []string{"two words", "ключ", "a\x01", "a\n", "\x7f"}},
		{"ServerName", check.ServerName, []string{"todo", "A-b_9", strings.Repeat("a", 64)}, []string{"", "a b", "a/b", "a:b", strings.Repeat("a", 65), "todo\n"}},
		{"Location", location,
			[]string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+3", "Asia/Ust-Nera"},
			[]string{"", "Local", "localtime", "posixrules", "posix", "posix/UTC", "right/UTC", "Mars/Olympus", "Europe", "zone.tab", "./UTC", "Europe/./Berlin",
				"Europe//Berlin", "UTC/", "/UTC", "../zoneinfo/UTC", "Europe/../UTC", `Europe\Berlin`, "UTC\x00", "UTC\n", " UTC", "+02:00", "-UTC", strings.Repeat("a", 65)}},
	} {
		for _, s := range tt.accept {
			if !tt.rule(s) {
				t.Errorf("%s refuses %q", tt.name, s)
			}
		}
		for _, s := range tt.refuse {
			if tt.rule(s) {
				t.Errorf("%s accepts %q", tt.name, s)
			}
		}
	}
	for _, v := range [][2]string{{"", "x"}, {"A=B", "x"}, {"A\x00", "x"}, {"A", "x\x00"}} {
		if check.Variable(v[0], v[1]) {
			t.Errorf("Variable accepts %q", v)
		}
	}
	if !check.Variable("A", "x=y") {
		t.Error("Variable refuses A and x=y")
	}
}

// The fault of an origin whose host is not in ASCII shows the form that browsers send.
func TestOriginShowsItsForm(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://münchen.example":      "https://xn--mnchen-3ya.example",
		"https://MÜNCHEN.example:8443": "https://xn--mnchen-3ya.example:8443",
		"http://пример.испытание":      "http://xn--e1afmkfd.xn--80akhbyknj4f",
	} {
		if err := check.Origin(origin); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %s", origin, err, want)
		}
	}
}
