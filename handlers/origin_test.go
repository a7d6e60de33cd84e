package handlers_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	const host = "Host: chat.example.com:8080"
	for _, tt := range []struct {
		name    string
		origins []string
		headers []string
		allowed bool
	}{
		{"neither header", nil, nil, true},
		{"own", nil, []string{"Origin: http://chat.example.com:8080"}, true},
		{"own behind TLS", nil, []string{"Origin: https://chat.example.com:8080"}, true},
		{"own, other case", nil, []string{"Origin: http://CHAT.example.com:8080"}, true},
		{"own, and the browser says so", nil, []string{"Origin: http://chat.example.com:8080", "Sec-Fetch-Site: same-origin"}, true},
		{"other port", nil, []string{"Origin: http://chat.example.com:8081"}, false},
		{"no port", nil, []string{"Origin: http://chat.example.com"}, false},
		{"other scheme", nil, []string{"Origin: evil://chat.example.com:8080"}, false},
		{"own with a user", nil, []string{"Origin: http://evil@chat.example.com:8080"}, false},
		{"own with a path", nil, []string{"Origin: http://chat.example.com:8080/x"}, false},
		{"no scheme", nil, []string{"Origin: chat.example.com:8080"}, false},
		{"null", nil, []string{"Origin: null"}, false},
		{"foreign", nil, []string{"Origin: https://evil.example"}, false},
		{"foreign, though the browser says none", nil, []string{"Origin: https://evil.example", "Sec-Fetch-Site: none"}, false},
		{"cross-site without an origin", nil, []string{"Sec-Fetch-Site: cross-site"}, false},
		{"cross-site with an origin of none", []string{"https://app.example"}, []string{"Sec-Fetch-Site: cross-site"}, false},
		{"same-site without an origin", nil, []string{"Sec-Fetch-Site: same-site"}, true},
		{"same-origin without an origin", nil, []string{"Sec-Fetch-Site: same-origin"}, true},
		{"typed in", nil, []string{"Sec-Fetch-Site: none"}, true},
		{"listed", []string{"https://app.example"}, []string{"Origin: https://app.example", "Sec-Fetch-Site: cross-site"}, true},
		{"listed, other case", []string{"https://App.example"}, []string{"Origin: https://aPP.example"}, true},
		{"listed, the second", []string{"https://a.example", "https://app.example"}, []string{"Origin: https://app.example"}, true},
		{"suffix", []string{"https://example.com"}, []string{"Origin: https://evil-example.com"}, false},
		{"prefix", []string{"https://example.com"}, []string{"Origin: https://example.com.evil.net"}, false},
		{"subdomain", []string{"https://example.com"}, []string{"Origin: https://evil.example.com"}, false},
		{"listed with other scheme", []string{"https://app.example"}, []string{"Origin: http://app.example"}, false},
		{"null is not listed", []string{"https://app.example"}, []string{"Origin: null"}, false},
		{"all", []string{"*"}, []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}, true},
		{"all, null", []string{"*"}, []string{"Origin: null"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{Origins: tt.origins})
			headers := append(tt.headers, host)
			post := g.chat(t, headers...)
			get := g.do(t, "GET", "/chat/stream?input=hi", "", headers...)
			want, runs := 200, int64(2)
			if !tt.allowed {
				want, runs = 403, 0
			}
			if post.status != want || get.status != want || g.runs.Load() != runs {
				t.Errorf("POST %d, GET %d, %d runs; want %d twice and %d runs", post.status, get.status, g.runs.Load(), want, runs)
			}
		})
	}
}

// What a page of a listed origin may read, and what all may when all are allowed.
func TestCORSHeaders(t *testing.T) {
	t.Parallel()
	const expose = "X-Request-ID, Retry-After"
	for _, tt := range []struct {
		origins             []string
		origin              string
		allow, creds, shown string
	}{
		{nil, "https://app.example", "", "", ""},
		{[]string{"https://app.example"}, "https://app.example", "https://app.example", "true", expose},
		{[]string{"https://app.example"}, "https://evil.example", "", "", ""},
		{[]string{"*"}, "https://any.example", "*", "", expose},
		{[]string{"*", "https://app.example"}, "https://app.example", "https://app.example", "true", expose},
		{[]string{"*", "https://app.example"}, "https://any.example", "*", "", expose},
	} {
		g := serve(t, handlers.Config{Origins: tt.origins})
		for _, path := range []string{"/chat/stream?input=hi", "/nowhere"} {
			h := g.do(t, "GET", path, "", "Origin: "+tt.origin).header
			got := []string{h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Credentials"), h.Get("Access-Control-Expose-Headers"), h.Get("Vary")}
			if diff := cmp.Diff([]string{tt.allow, tt.creds, tt.shown, "Origin"}, got); diff != "" {
				t.Errorf("%v, %s of %s (-want +got):\n%s", tt.origins, path, tt.origin, diff)
			}
		}
	}
	g := serve(t, handlers.Config{Origins: []string{"*"}})
	if h := g.chat(t).header; h.Get("Vary") != "" || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("CORS headers without an origin: %v", h)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Origins: []string{"https://app.example"}})
	ask := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type"}

	got := g.do(t, "OPTIONS", "/chat/stream", "", append(ask, "Origin: https://app.example")...)
	want := map[string]string{
		"Access-Control-Allow-Origin":      "https://app.example",
		"Access-Control-Allow-Credentials": "true",
		"Access-Control-Allow-Methods":     "GET, POST",
		"Access-Control-Allow-Headers":     "Content-Type, Idempotency-Key, Last-Event-ID, X-Request-ID",
		"Access-Control-Max-Age":           "600",
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
		}
	}
	if got.status != 204 || got.body != "" {
		t.Errorf("status %d, body %q", got.status, got.body)
	}

	got = g.do(t, "OPTIONS", "/chat/stream", "", append(ask, "Origin: https://evil.example")...)
	if got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("a foreign page is let in: %v", got.header)
	}
}

// A page is let in if, and only if, its origin is spelt as the server's address
// behind http:// or https://, or as a listed origin.
func FuzzOrigin(f *testing.F) {
	const host, listed = "chat.example.com:8080", "https://app.example"
	for _, s := range []string{"http://" + host, "https://" + host, listed, "null", "http://" + host + ".evil.example", "http://evil@" + host, "HTTP://" + host, ""} {
		f.Add(s)
	}
	srv := handlers.NewServer(handlers.Config{Runner: hello, Origins: []string{listed}})
	f.Fuzz(func(t *testing.T, origin string) {
		r := httptest.NewRequest("GET", "/chat/stream?input=hi", nil)
		r.Host = host
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		isListed := strings.ToLower(origin) == listed
		ok := origin == "" || isListed
		for _, scheme := range []string{"http://", "https://"} {
			rest, found := strings.CutPrefix(origin, scheme)
			ok = ok || found && strings.EqualFold(rest, host)
		}
		if (w.Code == 200) != ok {
			t.Errorf("Origin %q: status %d", origin, w.Code)
		}
		if h := w.Header().Get("Access-Control-Allow-Origin"); (h != "") != isListed {
			t.Errorf("Origin %q: Access-Control-Allow-Origin %q", origin, h)
		}
	})
}
