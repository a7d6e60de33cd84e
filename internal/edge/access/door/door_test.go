package door

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/jwt"
	"sluice/internal/turn/chat"
)

// someTokens accepts tokens that begin with good, and knows those of cached.
type someTokens struct {
	cached      map[string]bool
	read        int
	unavailable bool
}

func (s *someTokens) Verify(_ context.Context, token string, mayRead bool) (*access.Identity, error) {
	switch {
	case s.cached[token]:
	case !mayRead:
		return nil, jwt.ErrUnread
	case s.unavailable:
		return nil, &fault.Error{Type: fault.AuthUnavailable, RetryAfter: time.Second}
	default:
		if s.read++; !strings.HasPrefix(token, "good") {
			return nil, refusedFor("signature")
		}
	}
	return &access.Identity{Method: access.ByToken, Principal: chat.Principal{ID: "tom", Tenant: strings.TrimPrefix(token, "good"), Scopes: chat.ScopeChat}}, nil
}

func (*someTokens) State() []health.Issuer {
	return []health.Issuer{{Issuer: "i", State: health.KeysFresh}}
}
func (*someTokens) Close() {}

// someKeys accepts one key.
type someKeys struct{ rejected bool }

const goodKey = "slk_good"

var kim = &access.Identity{Method: access.ByKey, Principal: chat.Principal{ID: "kim", KeyID: "k1", Scopes: chat.ScopeChat}}

func (someKeys) Verify(credential string) (*access.Identity, error) {
	if credential == goodKey {
		return kim, nil
	}
	return nil, refusedFor("unknown")
}

func (someKeys) Renew(id *access.Identity) bool { return id.KeyID == kim.KeyID }

func (someKeys) Len() int          { return 7 }
func (s someKeys) IsCurrent() bool { return !s.rejected }

// records is what the audit was given.
type records struct {
	mu    sync.Mutex
	lines []string
}

func (a *records) write(r *http.Request, event string, details func(*zerolog.Event)) {
	var b bytes.Buffer
	l := zerolog.New(&b)
	e := l.Log()
	details(e)
	e.Send()
	line := event + " " + strings.TrimSpace(b.String())
	if r == nil {
		line = "counted: " + line
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
}

// drain returns the lines since it was called last.
func (a *records) drain() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := a.lines
	a.lines = nil
	return lines
}

// doorOf opens a Door with stand-ins for keys and tokens.
func doorOf(t testing.TB, s Spec, cfg Config) (*Door, *someTokens) {
	t.Helper()
	s.Keys, cfg.Keys = "keys", someKeys{}
	d, err := Open(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	stand := &someTokens{cached: map[string]bool{"cached": true}}
	d.tokens = stand
	return d, stand
}

// proxySpec is a proxy at 10.0.0.0/8.
func proxySpec(change func(*Proxy)) *Proxy {
	p := &Proxy{From: []Range{{must(parseRanges("10.0.0.0/8"))[0]}}, Headers: Headers{User: "X-Forwarded-User"}}
	if change != nil {
		change(p)
	}
	return p
}

// result is what comes of a request, in a line.
func result(id *access.Identity, err error) string {
	if c, ok := errors.AsType[*access.Challenged](err); ok {
		return fmt.Sprint(c.Fault.Type, " ", strings.TrimPrefix(c.Challenge, `Bearer realm="sluice"`))
	}
	if l, ok := errors.AsType[*Limited](err); ok {
		return fmt.Sprint(l.ViolatedPolicies(), " ", fault.From(err).RetryAfter)
	}
	if err != nil {
		return string(fault.From(err).Type)
	}
	if id == nil {
		return "nobody"
	}
	who := id.ID
	if id.IsAnonymous() {
		who = "anonymous"
	}
	return strings.TrimSpace(fmt.Sprint(id.Method, " ", id.Tenant, "/", who, " ", id.Scopes, " ", id.Class))
}

const (
	none    = "unauthorized "
	invalid = `unauthorized , error="invalid_token"`
)

// Each way to show a credential, and to show it wrongly.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
		}
		return h
	}
	const byKey, byToken = "key /kim chat", "jwt /tom chat"
	full := func(p *Proxy) {
		p.Headers = Headers{"Remote-User", "Remote-Tenant", "Remote-Groups", "Remote-Plan"}
	}
	tests := []struct {
		name   string
		peer   string // of the connection; empty: a stranger
		header http.Header
		proxy  *Proxy
		want   string
	}{
		{"none", "", header(), nil, none},
		{"a key", "", header("Authorization", "Bearer "+goodKey), nil, byKey},
		{"a key in its own header", "", header("X-Api-Key", goodKey), nil, byKey},
		{"a token", "", header("Authorization", "Bearer good"), nil, byToken},
		{"other case", "", header("Authorization", "bEARER good"), nil, byToken},
		{"more spaces", "", header("Authorization", "Bearer   good"), nil, byToken},
		{"a bad key", "", header("Authorization", "Bearer slk_bad"), nil, invalid},
		{"a bad token", "", header("Authorization", "Bearer bad"), nil, invalid},
		{"a token in the header of keys", "", header("X-Api-Key", "good"), nil, invalid},
		{"Basic", "", header("Authorization", "Basic Z29vZDpnb29k"), nil, invalid},
		{"Basic with a key", "", header("Authorization", "Basic "+goodKey), nil, invalid},
		{"a key without a scheme", "", header("Authorization", goodKey), nil, invalid},
		{"an empty Bearer", "", header("Authorization", "Bearer"), nil, invalid},
		{"a Bearer of spaces", "", header("Authorization", "Bearer  "), nil, invalid},
		{"empty", "", header("Authorization", ""), nil, invalid},
		{"an empty key", "", header("X-Api-Key", ""), nil, invalid},
		{"two lines", "", header("Authorization", "Bearer good", "Authorization", "Bearer good"), nil, invalid},
		{"two keys", "", header("X-Api-Key", goodKey, "X-Api-Key", goodKey), nil, invalid},
		{"a key and a token", "", header("X-Api-Key", goodKey, "Authorization", "Bearer good"), nil, invalid},
		{"a key and Basic", "", header("X-Api-Key", goodKey, "Authorization", "Basic x"), nil, invalid},
		{"a tab", "", header("Authorization", "Bearer\tgood"), nil, invalid},

		{"from the proxy", "10.0.0.1:1", header("X-Forwarded-User", "ann"), proxySpec(nil), "proxy /ann chat"},
		{"from the proxy, over IPv6", "[::ffff:10.0.0.1]:1", header("X-Forwarded-User", "ann"), proxySpec(nil), "proxy /ann chat"},
		{"from a stranger", "", header("X-Forwarded-User", "ann"), proxySpec(nil), none},
		{"a stranger behind the proxy's name", "", header("X-Forwarded-User", "ann", "X-Forwarded-For", "10.0.0.1"), proxySpec(nil), none},
		{"the proxy names nobody", "10.0.0.1:1", header(), proxySpec(nil), none},
		{"two users", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Forwarded-User", "ann"), proxySpec(nil), none},
		{"an empty user", "10.0.0.1:1", header("X-Forwarded-User", ""), proxySpec(nil), none},
		{"a user with a control", "10.0.0.1:1", header("X-Forwarded-User", "a\tb"), proxySpec(nil), none},
		{"a user that is no UTF-8", "10.0.0.1:1", header("X-Forwarded-User", "\xff"), proxySpec(nil), none},
		{"a key wins", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Api-Key", goodKey), proxySpec(nil), byKey},
		{"a bad key wins", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Api-Key", "slk_bad"), proxySpec(nil), invalid},
		{"an underscore, from the proxy", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Forwarded_user", "bob"), proxySpec(nil), none},
		{"an underscore, from a stranger", "", header("X_forwarded_user", "bob"), proxySpec(nil), none},
		{"an underscore beside a key", "", header("X_FORWARDED-USER", "bob", "X-Api-Key", goodKey), proxySpec(nil), none},
		{"an underscore in another header", "", header("X_Other", "bob", "X-Api-Key", goodKey), proxySpec(nil), byKey},
		{"an underscore without a proxy", "", header("X_Forwarded_User", "bob", "X-Api-Key", goodKey), nil, byKey},
		{"all headers", "10.0.0.1:1", header("Remote-User", "a:b", "Remote-Tenant", "acme", "Remote-Groups", "chat,ops staff", "Remote-Plan", "gold"), proxySpec(full), "proxy acme/a:b chat ops gold"},
		{"absent headers give nothing", "10.0.0.1:1", header("Remote-User", "ann"), proxySpec(func(p *Proxy) { full(p); p.Tenant, p.Scopes, p.Limits = "acme", []string{"admin"}, "gold" }), "proxy /ann"},
		{"fixed", "10.0.0.1:1", header("X-Forwarded-User", "ann"), proxySpec(func(p *Proxy) { p.Tenant, p.Scopes, p.Limits = "acme", []string{"ops"}, "gold" }), "proxy acme/ann ops gold"},
		{"two tenants", "10.0.0.1:1", header("Remote-User", "ann", "Remote-Tenant", "a", "Remote-Tenant", "b"), proxySpec(full), none},
		{"a tenant of another form", "10.0.0.1:1", header("Remote-User", "ann", "Remote-Tenant", "A b"), proxySpec(full), none},
		{"two lists of scopes", "10.0.0.1:1", header("Remote-User", "ann", "Remote-Groups", "chat", "Remote-Groups", "ops"), proxySpec(full), none},
		{"a class of another form", "10.0.0.1:1", header("Remote-User", "ann", "Remote-Plan", "é"), proxySpec(full), none},
		{"an underscore in the tenant's header", "10.0.0.1:1", header("Remote-User", "ann", "Remote_tenant", "acme"), proxySpec(full), none},
		{"the secret", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Secret", "word"), proxySpec(withSecret), "proxy /ann chat"},
		{"no secret", "10.0.0.1:1", header("X-Forwarded-User", "ann"), proxySpec(withSecret), none},
		{"another secret", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Secret", "worD"), proxySpec(withSecret), none},
		{"two secrets", "10.0.0.1:1", header("X-Forwarded-User", "ann", "X-Secret", "word", "X-Secret", "word"), proxySpec(withSecret), none},
		{"the secret from a stranger", "", header("X-Forwarded-User", "ann", "X-Secret", "word"), proxySpec(withSecret), none},
	}
	for _, tt := range tests {
		for _, anonymous := range []*Anonymous{nil, {Scopes: []string{"chat:readonly"}, Limits: "low"}} {
			d, _ := doorOf(t, Spec{Proxy: tt.proxy, Anonymous: anonymous}, Config{})
			r := request("203.0.113.9:1")
			r.Header = tt.header
			if tt.peer != "" {
				r.RemoteAddr = tt.peer
			}
			want := tt.want
			// Nobody is anonymous who has shown something, be it ever so bad.
			if shownNothing := []string{"none", "from a stranger", "a stranger behind the proxy's name", "the proxy names nobody", "the secret from a stranger"}; anonymous != nil && slices.Contains(shownNothing, tt.name) {
				want = "anonymous /anonymous chat:readonly low"
			}
			if got := result(d.Authenticate(r)); got != want {
				t.Errorf("%s (anonymous: %v): %s, want %s", tt.name, anonymous != nil, got, want)
			}
		}
	}
}

func withSecret(p *Proxy) { p.SecretHeader, p.Secret = "X-Secret", config.Secret("word") }

// What is not configured accepts nothing.
func TestMethodsThatAreNotConfigured(t *testing.T) {
	t.Parallel()
	d := must(Open(Spec{Proxy: proxySpec(nil)}, Config{}))
	defer d.Close()
	for _, credential := range []string{goodKey, "good"} {
		r := request("203.0.113.9:1")
		r.Header.Set("Authorization", "Bearer "+credential)
		if got := result(d.Authenticate(r)); got != invalid {
			t.Errorf("%s: %s", credential, got)
		}
	}
	off, err := Open(Spec{Failures: access.Quota{N: 1, Unit: 's'}, FourEyes: true}, Config{})
	if off != nil || err != nil {
		t.Errorf("without a method: %v, %v", off, err)
	}
	if got := result(off.Authenticate(request("203.0.113.9:1"))); got != "nobody" {
		t.Errorf("off: %s", got)
	}
	off.Close()
	if _, err := Open(Spec{Tokens: []jwt.Spec{{Issuer: "i", JWKSFile: "x"}}}, Config{ReadFile: func(string) ([]byte, error) { return nil, errors.New("no") }}); err == nil {
		t.Error("a file that cannot be read is no error")
	}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	var log records
	d, _ := doorOf(t, Spec{}, Config{Audit: log.write, Tenants: func(id string) (known, enabled bool) {
		return id == "acme" || id == "old", id == "acme"
	}})
	for token, want := range map[string]string{"goodacme": "jwt acme/tom chat", "goodold": "forbidden", "goodelse": "forbidden", "good": "forbidden", "bad": invalid} {
		r := request("203.0.113.9:1")
		r.Header.Set("Authorization", "Bearer "+token)
		if got := result(d.Authenticate(r)); got != want {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
		if denied := slices.Contains(log.drain(), `auth_denied {"method":"jwt","reason":"tenant"}`); denied != (want == "forbidden") {
			t.Errorf("%s: in the audit: %v", token, denied)
		}
	}
}

// Too many bad credentials of an address: what would cost a signature is not read any more.
func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, tokens := doorOf(t, Spec{Failures: access.Quota{N: 5, Unit: 'm'}, Proxy: proxySpec(nil)}, Config{Peers: NewPeers(must(parseRanges("192.0.2.0/24")))})
		ask := func(remote, credential string) string {
			r := request(remote, "198.51.100.7")
			r.Header.Set("Authorization", "Bearer "+credential)
			return result(d.Authenticate(r))
		}
		const stranger = "203.0.113.9:1"
		for n := range 5 {
			if got := ask(stranger, "bad"); got != invalid {
				t.Fatalf("%d: %s", n, got)
			}
		}
		for _, tt := range []struct{ name, remote, credential, want string }{
			{"bad", stranger, "bad", "[failures] 12s"},
			{"good, but not read", stranger, "good", "[failures] 12s"},
			{"in the cache", stranger, "cached", "jwt cached/tom chat"},
			{"a key", stranger, goodKey, "key /kim chat"},
			{"a bad key", stranger, "slk_bad", invalid},
			{"another port", "203.0.113.9:2", "good", "[failures] 12s"},
			{"over IPv6", "[::ffff:203.0.113.9]:2", "good", "[failures] 12s"},
			{"another address", "203.0.113.10:1", "good", "jwt /tom chat"},
			{"behind a trusted peer", "192.0.2.1:1", "good", "jwt /tom chat"},
		} {
			if got := ask(tt.remote, tt.credential); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if tokens.read != 7 {
			t.Errorf("%d tokens were read, want 7", tokens.read)
		}
		time.Sleep(12 * time.Second)
		if got := ask(stranger, "bad"); got != invalid {
			t.Errorf("12 s later: %s", got)
		}
		if got := ask(stranger, "bad"); got != "[failures] 12s" {
			t.Errorf("and another one: %s", got)
		}
		for range 1000 { // keys are read all the same, and lead no further
			ask(stranger, "slk_bad")
		}
		if got := ask(stranger, "good"); got != "[failures] 12s" {
			t.Errorf("after a flood of keys: %s", got)
		}
		time.Sleep(12 * time.Second)
		if got := ask(stranger, "good"); got != "jwt /tom chat" {
			t.Errorf("a good one, later: %s", got)
		}
		for range 20 { // of a trusted peer's own, of the proxy's, and of what stands behind it
			for _, r := range []*http.Request{request("192.0.2.1:1"), request("10.0.0.1:1"), request("192.0.2.1:1", "10.0.0.1")} {
				r.Header.Set("Authorization", "Bearer bad")
				if got := result(d.Authenticate(r)); got != invalid {
					t.Fatalf("%s: %s", r.RemoteAddr, got)
				}
			}
		}
		for range 6 {
			ask("192.0.2.1:1", "bad") // counts for 198.51.100.7
		}
		if got := ask("198.51.100.7:1", "good"); got != "[failures] 12s" {
			t.Errorf("a client behind a trusted peer: %s", got)
		}
		for n := range 6 { // a /64 is one client
			ask(fmt.Sprintf("[2001:db9:0:1::%d]:1", n), "bad")
		}
		if got := ask("[2001:db9:0:1:ffff::]:1", "good"); got != "[failures] 12s" {
			t.Errorf("the same /64: %s", got)
		}
		if got := ask("[2001:db9:0:2::]:1", "good"); got != "jwt /tom chat" {
			t.Errorf("another /64: %s", got)
		}
		tokens.unavailable = true
		for range 20 {
			if got := ask("203.0.113.77:1", "good"); got != "auth_unavailable" {
				t.Fatalf("issuer unavailable: %s", got)
			}
		}
		tokens.unavailable = false
		if got := ask("203.0.113.77:1", "good"); got != "jwt /tom chat" {
			t.Errorf("what could not be checked counts as a failure: %s", got)
		}
	})
}

// A million addresses take no more room than a hundred thousand.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	f := newFailures(access.Quota{})
	for n := range 300_000 {
		addr := must(parseRanges(fmt.Sprintf("%d.%d.%d.1", 1+n>>16, n>>8&255, n&255)))[0]
		f.addFailure(addr)
	}
	if n := f.ahead.Len(); n > maxAddresses {
		t.Errorf("%d addresses", n)
	}
	if f.interval != time.Second || f.burst != time.Minute {
		t.Errorf("the default is one each %v, %v ahead", f.interval, f.burst)
	}
}

// The audit has ten failures a minute of an address, and counts the rest; and the first use of
// a key, or of a user, in a day.
func TestAudit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log records
		d, _ := doorOf(t, Spec{Failures: access.Quota{N: 1000, Unit: 'm'}, Anonymous: &Anonymous{}}, Config{Audit: log.write})
		ask := func(remote string, pairs ...string) {
			r := request(remote)
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
			_, _ = d.Authenticate(r)
		}
		for range 25 {
			ask("203.0.113.9:1", "Authorization", "Bearer canary")
		}
		ask("203.0.113.10:1", "X-Api-Key", "slk_canary")
		ask("203.0.113.10:1", "Authorization", "Basic canary")
		want := append(slices.Repeat([]string{`auth_failed {"method":"jwt","reason":"signature"}`}, 10),
			`auth_failed {"method":"key","reason":"unknown"}`, `auth_failed {"method":"none","reason":"form"}`)
		if diff := cmp.Diff(want, log.drain()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute + time.Second)
		if diff := cmp.Diff([]string{`counted: auth_failed {"client":"203.0.113.9","count":15}`}, log.drain()); diff != "" {
			t.Errorf("a minute later (-want +got):\n%s", diff)
		}
		ask("203.0.113.9:1", "Authorization", "Bearer canary")
		if n := len(log.drain()); n != 1 {
			t.Errorf("%d lines in the next minute", n)
		}
		time.Sleep(time.Minute)
		if lines := log.drain(); lines != nil {
			t.Errorf("counts of nothing: %q", lines)
		}

		for range linesPerAddress { // as many as have lines leave nothing to count
			ask("203.0.113.9:1", "X-Api-Key", "slk_canary")
		}
		time.Sleep(time.Minute)
		if lines := log.drain(); len(lines) != linesPerAddress {
			t.Errorf("%d lines for %d failures", len(lines), linesPerAddress)
		}
		for range 3 {
			ask("203.0.113.9:1", "X-Api-Key", goodKey)
			ask("203.0.113.9:1", "Authorization", "Bearer goodacme")
			ask("203.0.113.9:1") // anonymous
		}
		first := []string{`auth_first_use {"method":"key","user":"kim","key_id":"k1"}`, `auth_first_use {"method":"jwt","user":"tom","tenant":"acme"}`}
		if diff := cmp.Diff(first, log.drain()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(24*time.Hour - time.Second)
		ask("203.0.113.9:1", "X-Api-Key", goodKey)
		if lines := log.drain(); lines != nil {
			t.Errorf("within a day: %q", lines)
		}
		time.Sleep(time.Second)
		ask("203.0.113.9:1", "X-Api-Key", goodKey)
		if diff := cmp.Diff(first[:1], log.drain()); diff != "" {
			t.Errorf("a day later (-want +got):\n%s", diff)
		}

		for n := range 3000 { // many addresses have lines apart up to a bound
			ask(fmt.Sprintf("198.51.%d.%d:1", n>>8, n&255), "X-Api-Key", "slk_x")
		}
		if n := len(log.drain()); n != countedApart+linesPerAddress {
			t.Errorf("%d lines", n)
		}
		d.Close() // the end loses no count
		if diff := cmp.Diff([]string{`counted: auth_failed {"count":1990}`}, log.drain()); diff != "" {
			t.Errorf("of all others (-want +got):\n%s", diff)
		}
	})
}

// What was not read is in the audit too, and its reply says when it would be.
func TestLimitedIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log records
		d, _ := doorOf(t, Spec{Failures: access.Quota{N: 1, Unit: 'h'}}, Config{Audit: log.write})
		var err error
		for range 15 {
			r := request("203.0.113.9:1")
			r.Header.Set("Authorization", "Bearer bad")
			_, err = d.Authenticate(r)
		}
		l, ok := errors.AsType[*Limited](err)
		if !ok {
			t.Fatal(err)
		}
		h := http.Header{}
		l.SetHeader(h)
		want := http.Header{"Ratelimit-Policy": {`"failures";q=1;w=3600`}, "Ratelimit": {`"failures";r=0;t=3600`}}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		lines := append([]string{`auth_failed {"method":"jwt","reason":"signature"}`}, slices.Repeat([]string{`limit_refused {"limit":"failures"}`}, 10)...)
		if diff := cmp.Diff(lines, log.drain()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute + time.Second)
		if diff := cmp.Diff([]string{`counted: limit_refused {"client":"203.0.113.9","count":4}`}, log.drain()); diff != "" {
			t.Errorf("a minute later (-want +got):\n%s", diff)
		}
	})
}

func TestMissingIsReported(t *testing.T) {
	t.Parallel()
	var log records
	d, _ := doorOf(t, Spec{}, Config{Audit: log.write})
	_, _ = d.Authenticate(request("203.0.113.9:1"))
	if diff := cmp.Diff([]string{`auth_failed {"method":"none","reason":"missing"}`}, log.drain()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 100 {
		_, _ = d.Authenticate(request("203.0.113.9:1"))
	}
	r := request("203.0.113.9:1")
	r.Header.Set("Authorization", "Bearer good")
	if got := result(d.Authenticate(r)); got != "jwt /tom chat" { // to show nothing is no failed credential
		t.Error(got)
	}
}

func TestMetricsAndHealth(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	d, tokens := doorOf(t, Spec{Proxy: proxySpec(nil), Failures: access.Quota{N: 2, Unit: 'h'}}, Config{Metrics: m, Tenants: func(id string) (bool, bool) { return id == "", true }})
	ask := func(credential string) {
		r := request("203.0.113.9:1")
		if credential != "" {
			r.Header.Set("Authorization", "Bearer "+credential)
		}
		_, _ = d.Authenticate(r)
	}
	for _, credential := range []string{"", goodKey, "good", "goodelse"} {
		ask(credential)
	}
	tokens.unavailable = true
	ask("good")
	tokens.unavailable = false
	for range 4 {
		ask("bad")
	}
	got := map[string]float64{}
	for _, f := range must(m.Gatherer().Gather()) {
		if f.GetName() != "sluice_auth_total" {
			continue
		}
		for _, one := range f.GetMetric() {
			got[one.GetLabel()[0].GetValue()+" "+one.GetLabel()[1].GetValue()] = one.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"none missing": 1, "key ok": 1, "jwt ok": 1, "jwt forbidden": 1, "jwt unavailable": 1, "jwt refused": 2, "jwt limited": 2}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	status := d.Check()
	text := string(must(json.Marshal(status)))
	if wantText := `{"methods":["key","proxy"],"keys":7,"issuers":[{"issuer":"i","keys":0,"age_s":null,"state":"ok"}]}`; text != wantText || !status.OK() {
		t.Errorf("%v %s, want %s", status.OK(), text, wantText)
	}
	d.cfg.Keys = someKeys{rejected: true}
	if d.Check().OK() {
		t.Error("a key file at fault is well")
	}
}

// A credential that was good once must still be good when what it opened is used.
func TestCounts(t *testing.T) {
	t.Parallel()
	tenants := func(id string) (known, enabled bool) { return id != "gone", id != "off" }
	all, _ := doorOf(t, Spec{Proxy: proxySpec(nil), Anonymous: &Anonymous{}}, Config{Tenants: tenants})
	keysAlone := must(Open(Spec{Keys: "keys"}, Config{Keys: someKeys{}}))
	t.Cleanup(keysAlone.Close)
	of := func(method access.Method, tenant, key string, ends time.Duration) *access.Identity {
		return &access.Identity{Method: method, Ends: time.Now().Add(ends), Principal: chat.Principal{ID: "x", Tenant: tenant, KeyID: key}}
	}
	for _, tt := range []struct {
		name        string
		who         *access.Identity
		all, byKeys bool
	}{
		{"a key", of(access.ByKey, "", "k1", 0), true, true},
		{"a key taken back", of(access.ByKey, "", "k2", 0), false, false},
		{"a token", of(access.ByToken, "", "", time.Hour), true, false},
		{"a token that has ended", of(access.ByToken, "", "", -time.Second), false, false},
		{"the proxy's", of(access.ByProxy, "", "", 0), true, false},
		{"anonymous", of(access.Anonymous, "", "", 0), true, false},
		{"another method", of("else", "", "", 0), false, false},
		{"a tenant that is gone", of(access.ByKey, "gone", "k1", 0), false, true},
		{"a tenant that is off", of(access.ByProxy, "off", "", 0), false, false},
	} {
		if got := all.Counts(tt.who); got != tt.all {
			t.Errorf("%s, with all methods: %v", tt.name, got)
		}
		if got := keysAlone.Counts(tt.who); got != tt.byKeys {
			t.Errorf("%s, with keys alone: %v", tt.name, got)
		}
	}
}

// Off it costs nothing, and on next to nothing.
func TestAllocations(t *testing.T) {
	d, _ := doorOf(t, Spec{Proxy: proxySpec(nil), Anonymous: &Anonymous{}}, Config{Metrics: metrics.New(), Audit: new(records).write})
	key, plain := request("203.0.113.9:1"), request("203.0.113.9:1", "1.1.1.1")
	key.Header.Set("X-Api-Key", goodKey)
	for name, ask := range map[string]func(){
		"off": func() { _, _ = (*Door)(nil).Authenticate(key) }, "a key": func() { _, _ = d.Authenticate(key) },
		"anonymous": func() { _, _ = d.Authenticate(plain) }, "the client's address": func() { NewPeers(nil).Client(plain) },
	} {
		if n := testing.AllocsPerRun(100, ask); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
