package handlers_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"sluice/handlers"
)

var generated = regexp.MustCompile(`^req_[0-9a-f]{12}$`)

func TestRequestID(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	long := strings.Repeat("a", 64)
	for _, tt := range []struct {
		name    string
		inbound []string
		kept    bool
	}{
		{"none", nil, false},
		{"ours", []string{"req_0123456789ab"}, true},
		{"one character", []string{"-"}, true},
		{"all kinds", []string{"aZ09._-"}, true},
		{"64", []string{long}, true},
		{"65", []string{long + "a"}, false},
		{"8 KB", []string{strings.Repeat("a", 8000)}, false},
		{"empty", []string{""}, false},
		{"two", []string{"a", "b"}, false},
		{"twice the same", []string{"a", "a"}, false},
		{"list", []string{"a, b"}, false},
		{"space", []string{"a b"}, false},
		{"markup", []string{"<b>"}, false},
		{"not ASCII", []string{"é"}, false},
		{"bidi override", []string{"a\u202eb"}, false},
		{"colon", []string{"a:1"}, false},
	} {
		var headers []string
		for _, v := range tt.inbound {
			headers = append(headers, "X-Request-ID: "+v)
		}
		got := g.do(t, "GET", "/healthz", "", headers...).header.Values("X-Request-ID")
		switch {
		case len(got) != 1:
			t.Errorf("%s: %d ids: %q", tt.name, len(got), got)
		case tt.kept && got[0] != tt.inbound[0]:
			t.Errorf("%s: replaced by %q", tt.name, got[0])
		case !tt.kept && !generated.MatchString(got[0]):
			t.Errorf("%s: got %q, want one of ours", tt.name, got[0])
		}
	}
}

func TestRequestIDIsOnEveryResponse(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Origins: []string{"https://app.example"}})
	for want, req := range map[int][]string{
		200: {"GET", "/chat/stream?input=hi"},
		404: {"GET", "/nowhere"},
		405: {"DELETE", "/tools"},
		415: {"POST", "/chat/stream"},
		422: {"GET", "/chat/stream"},
		403: {"GET", "/chat/stream?input=hi", "Sec-Fetch-Site: cross-site"},
		204: {"OPTIONS", "/chat/stream", "Origin: https://app.example", "Access-Control-Request-Method: POST"},
	} {
		got := g.do(t, req[0], req[1], "", append(req[2:], "X-Request-ID: mine")...)
		if got.status != want || got.header.Get("X-Request-ID") != "mine" {
			t.Errorf("%v: status %d (want %d), X-Request-ID %q", req, got.status, want, got.header.Get("X-Request-ID"))
		}
	}
	events := judge(t, g.chat(t).body)
	if id := events[0].data["request_id"].(string); !generated.MatchString(id) {
		t.Errorf("the stream's request_id is %q, want one of ours", id)
	}
}

// Whatever comes in, one clean id goes out, and the inbound one only if it is fit.
func FuzzRequestID(f *testing.F) {
	for _, s := range []string{"", "req_0123456789ab", "a b", "é", strings.Repeat("x", 65), "a\r\nb", "\x00"} {
		f.Add(s)
	}
	srv := handlers.NewServer(handlers.Config{Dialects: withOwn(nil)})
	fit := regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	f.Fuzz(func(t *testing.T, in string) {
		r := httptest.NewRequest("GET", "/healthz", nil)
		r.Header["X-Request-Id"] = []string{in}
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		got := w.Header().Values("X-Request-ID")
		if len(got) != 1 || fit.MatchString(in) && got[0] != in || !fit.MatchString(in) && !generated.MatchString(got[0]) {
			t.Errorf("inbound %q became %q", in, got)
		}
	})
}
