package handlers_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/handlers"
)

// With names configured, no other name is served, in whatever spelling it comes, but
// for loopback ones.
func TestHosts(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Hosts: []string{"chat.example.com", "10.1.2.3", "2001:db8::1"}})
	for host, served := range map[string]bool{
		"chat.example.com": true, "chat.example.com:8080": true, "Chat.EXAMPLE.com:1": true, "chat.example.com.": true, "chat.example.com.:80": true,
		"10.1.2.3:9": true, "[2001:db8::1]": true, "[2001:DB8:0::1]:443": true, "[::ffff:10.1.2.3]:9": true,
		"localhost": true, "LOCALHOST:8080": true, "localhost.": true, "a.b.localhost:1": true, "127.0.0.1:80": true, "127.255.0.9": true,
		"[::1]": true, "[::1]:8080": true, "[::ffff:127.0.0.1]": true,
		"evil.example": false, "evil.example:8080": false, "chat.example.com.evil.example": false, "evil.chat.example.com": false, "xchat.example.com": false,
		"chat.example.com..": false, "chat.example.com:80:80": false, "chat.example.com:evil": false, ".": false, "localhost.evil.example": false, "evillocalhost": false,
		"127.0.0.1.evil.example": false, "10.1.2.4": false, "192.168.0.1": false, "0.0.0.0": false, "[::]": false, "[2001:db8::2]": false, "[::1": false, "::1]": false,
	} {
		got := g.do(t, "GET", "/tools", "", "Host: "+host)
		if want := map[bool]int{true: 200, false: 403}[served]; got.status != want {
			t.Errorf("Host %q: status %d, want %d: %s", host, got.status, want, got.body)
		}
		if !served && (!strings.Contains(got.body, `"error_type":"origin_refused"`) || !strings.Contains(got.body, "SLUICE_HOSTS")) {
			t.Errorf("Host %q: %s", host, got.body)
		}
	}
}

// A page whose name was made to resolve to the gateway's address is, to its browser, of
// the gateway's own origin. It gets nothing; probes, which ask by any name, are answered.
func TestHostsStopRebinding(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Hosts: []string{"chat.example.com"}, Origins: []string{"*"}})
	rebound := []string{"Host: evil.example", "Origin: http://evil.example", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty"}
	for _, request := range []string{"POST /chat/stream", "GET /chat/stream?input=hi", "POST /chatkit", "GET /diag/sse", "GET /tools", "HEAD /tools", "GET /", "GET /nowhere", "OPTIONS /chat/stream", "GET /healthz/"} {
		method, path, _ := strings.Cut(request, " ")
		if got := g.do(t, method, path, "", append(rebound, "Access-Control-Request-Method: POST")...); got.status != 403 || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, headers %v", request, got.status, got.header)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		for _, method := range []string{"GET", "HEAD"} {
			if got := g.do(t, method, path, "", rebound...); got.status != 200 {
				t.Errorf("%s %s: status %d, want 200", method, path, got.status)
			}
		}
	}
	if n := g.runs.Load(); n != 0 {
		t.Errorf("%d turns were run", n)
	}
}

// HTTP/1.0 knows requests without a Host.
func TestNoHost(t *testing.T) {
	t.Parallel()
	for want, hosts := range map[int][]string{200: nil, 403: {"chat.example.com"}} {
		r := httptest.NewRequest("GET", "/tools", nil)
		r.Host = ""
		w := httptest.NewRecorder()
		handlers.NewServer(handlers.Config{Dialects: withOwn(nil), Runner: hello, Hosts: hosts}).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("hosts %v: status %d, want %d", hosts, w.Code, want)
		}
	}
}
