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
		{"same-site without an origin", nil, []string{"Sec-Fetch-Site: same-site"}, false},
		{"own, from a page of the other scheme", nil, []string{"Origin: http://chat.example.com:8080", "Sec-Fetch-Site: cross-site"}, false},
		{"own, and typed in", nil, []string{"Origin: http://chat.example.com:8080", "Sec-Fetch-Site: none"}, true},
		{"own twice", nil, []string{"Origin: http://chat.example.com:8080", "Origin: http://chat.example.com:8080"}, false},
		{"own and foreign", nil, []string{"Origin: http://chat.example.com:8080", "Origin: https://evil.example"}, false},
		{"listed twice", []string{"https://app.example"}, []string{"Origin: https://app.example", "Origin: https://app.example"}, false},
		{"empty", nil, []string{"Origin: "}, false},
		{"two sites", nil, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: same-origin"}, false},
		{"two sites in one", nil, []string{"Sec-Fetch-Site: same-origin, cross-site"}, false},
		{"no site", nil, []string{"Sec-Fetch-Site: "}, false},
		{"a site that is not known", nil, []string{"Sec-Fetch-Site: same-planet"}, false},
		{"a site in capitals", nil, []string{"Sec-Fetch-Site: Same-Origin"}, false},
		{"all, cross-site without an origin", []string{"*"}, []string{"Sec-Fetch-Site: cross-site"}, false},
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

// A GET without Origin is one of an EventSource or a fetch of our own page, or of a
// program, or it runs nothing. A POST goes by Origin alone, which browsers always send.
func TestGetWithoutOrigin(t *testing.T) {
	t.Parallel()
	const browser, own = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0.0.0", "Referer: http://chat.example.com:8080/"
	app := []string{"https://app.example"}
	for _, tt := range []struct {
		name    string
		origins []string
		headers []string
		allowed bool
	}{
		{"curl", nil, []string{"User-Agent: curl/8.5.0", "Accept: */*"}, true},
		{"undici", nil, []string{"User-Agent: node", "Sec-Fetch-Mode: cors", "Accept: text/event-stream"}, true},
		{"a program with a foreign referer", nil, []string{"User-Agent: k6/1.0", "Referer: https://evil.example/"}, true},
		{"no user agent", nil, []string{"User-Agent: "}, true},
		{"Mozilla further on", nil, []string{"User-Agent: curl (not Mozilla/5.0)"}, true},

		{"EventSource", nil, []string{browser, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, true},
		{"EventSource without a referrer", nil, []string{browser, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty", "Referer: "}, true},
		{"no dest", nil, []string{browser, "Sec-Fetch-Site: same-origin"}, true},
		{"an extension", nil, []string{browser, "Sec-Fetch-Site: none", "Sec-Fetch-Dest: empty"}, true},
		{"typed in", nil, []string{browser, "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, false},
		{"a link on our own page", nil, []string{browser, own, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, false},
		{"an image on our own page", nil, []string{browser, own, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: image"}, false},
		{"another port, with a referer of ours", nil, []string{browser, own, "Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: empty"}, false},
		{"a foreign image", nil, []string{browser, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"}, false},
		{"a foreign image, all allowed", []string{"*"}, []string{browser, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"}, false},
		{"a foreign prefetch, all allowed", []string{"*"}, []string{browser, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: empty"}, false},
		{"an image without a site", nil, []string{"Sec-Fetch-Dest: image"}, false},
		{"an empty dest", nil, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: "}, false},
		{"two dests", nil, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty", "Sec-Fetch-Dest: empty"}, false},
		{"a dest in capitals", nil, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: Empty"}, false},

		{"plain HTTP, our page", nil, []string{browser, own + "?q=1"}, true},
		{"plain HTTP, our page, other case", nil, []string{browser, "Referer: HTTP://Chat.Example.COM:8080/"}, true},
		{"plain HTTP behind TLS", nil, []string{browser, "Referer: https://chat.example.com:8080/"}, true},
		{"plain HTTP, no referer", nil, []string{browser}, false},
		{"plain HTTP, an empty referer", nil, []string{browser, "Referer: "}, false},
		{"plain HTTP, another page", nil, []string{browser, "Referer: http://evil.example/"}, false},
		{"plain HTTP, another port", nil, []string{browser, "Referer: http://chat.example.com:8081/"}, false},
		{"plain HTTP, no port", nil, []string{browser, "Referer: http://chat.example.com/"}, false},
		{"plain HTTP, a subdomain", nil, []string{browser, "Referer: http://evil.chat.example.com:8080/"}, false},
		{"plain HTTP, our name as a user", nil, []string{browser, "Referer: http://chat.example.com:8080@evil.example/"}, false},
		{"plain HTTP, a user of ours", nil, []string{browser, "Referer: http://evil@chat.example.com:8080/"}, false},
		{"plain HTTP, our name in the path", nil, []string{browser, "Referer: http://evil.example/http://chat.example.com:8080/"}, false},
		{"plain HTTP, another scheme", nil, []string{browser, "Referer: ftp://chat.example.com:8080/"}, false},
		{"plain HTTP, no scheme", nil, []string{browser, "Referer: chat.example.com:8080/"}, false},
		{"plain HTTP, no URL", nil, []string{browser, "Referer: http://chat.example.com:8080/%zz"}, false},
		{"plain HTTP, two referers", nil, []string{browser, own, own}, false},
		{"plain HTTP, an allowed page", app, []string{browser, "Referer: https://app.example/page"}, true},
		{"plain HTTP, a page below an allowed one", app, []string{browser, "Referer: https://app.example.evil.example/"}, false},
		{"plain HTTP, all allowed", []string{"*"}, []string{browser, "Referer: https://any.example/"}, true},
		{"plain HTTP, all allowed, no referer", []string{"*"}, []string{browser}, false},
		{"plain HTTP, all allowed, a referer of nowhere", []string{"*"}, []string{browser, "Referer: about:blank"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{Origins: tt.origins})
			want, runs := 200, int64(1)
			if !tt.allowed {
				want, runs = 403, 0
			}
			for _, path := range []string{"/diag/sse?ticks=1", "/chat/stream?input=hi"} {
				got := g.do(t, "GET", path, "", append(tt.headers, "Host: chat.example.com:8080")...)
				if got.status != want || !tt.allowed && !strings.Contains(got.body, `"error_type":"origin_refused"`) {
					t.Errorf("%s: status %d, want %d: %s", path, got.status, want, got.body)
				}
			}
			if n := g.runs.Load(); n != runs {
				t.Errorf("%d runs, want %d", n, runs)
			}
		})
	}
}

// What a page of a listed origin may read, and what all may when all are allowed.
func TestCORSHeaders(t *testing.T) {
	t.Parallel()
	const expose = "X-Request-ID, Retry-After, X-Sluice-History, X-Sluice-Ignored, X-Sluice-Replayed, X-Error-Type, X-Should-Retry, Retry-After-Ms, X-Vercel-AI-UI-Message-Stream"
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
	ask := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type, x-app;, X-Own"}

	got := g.do(t, "OPTIONS", "/chat/stream", "", append(ask, "Origin: https://app.example")...)
	want := map[string]string{
		"Access-Control-Allow-Origin":      "https://app.example",
		"Access-Control-Allow-Credentials": "true",
		"Access-Control-Allow-Methods":     "GET, POST",
		"Access-Control-Allow-Headers":     "content-type, X-Own",
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

	got = g.do(t, "OPTIONS", "/chat/stream", "", ask[0], "Origin: https://app.example")
	if names := got.header.Get("Access-Control-Allow-Headers"); names != "Content-Type, Idempotency-Key, Last-Event-ID, X-Request-ID" {
		t.Errorf("without a list: %q", names)
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
	srv := handlers.NewServer(handlers.Config{Dialects: withOwn(nil), Runner: hello, Origins: []string{listed}})
	f.Fuzz(func(t *testing.T, origin string) {
		r := httptest.NewRequest("GET", "/chat/stream?input=hi", nil)
		r.Host = host
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		isListed := strings.ToLower(origin) == listed
		ok := isListed
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
