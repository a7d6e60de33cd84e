package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// meter is a Limiter that notes what it is asked, and refuses at will.
type meter struct {
	mu      sync.Mutex // guards the fields below
	asked   []string
	running int
	check   error
	admit   error
}

func (m *meter) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, fmt.Sprintf(format, args...))
}

// all returns what was noted, and forgets it.
func (m *meter) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.asked = nil }()
	return strings.Join(m.asked, " ")
}

func (m *meter) Check(_ *http.Request, _ chat.Principal, what handlers.Spending) error {
	m.note("check:%d", what)
	return m.check
}

func (m *meter) Admit(_ *http.Request, who chat.Principal, what handlers.Spending) (handlers.Allowance, error) {
	m.note("admit:%d%s", what, who.ID)
	if m.admit != nil {
		return nil, m.admit
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	return allowed{m}, nil
}

// allowed is an Allowance that notes its end.
type allowed struct{ m *meter }

func (a allowed) Tokens(int)            {}
func (a allowed) Headers(h http.Header) { h.Set("RateLimit", "shown") }
func (a allowed) End()                  { a.m.note("end") }
func (a allowed) Cancel()               { a.m.note("cancel") }

// beyond is the error of a limit.
type beyond struct{ error }

func (beyond) ViolatedPolicies() []string { return []string{"user-requests", "tenant-streams"} }
func (b beyond) Unwrap() error            { return b.error }

// A turn is looked at before its body and charged when it begins; other requests are charged
// once; what is public, takes nothing or gives something back is not.
func TestWhatIsCharged(t *testing.T) {
	t.Parallel()
	m := new(meter)
	g := serve(t, handlers.Config{Runner: hello, Limiter: m, Dialects: withOwn(nil)})
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPost, "/chat/stream", `{"input":"hi"}`, "check:5 admit:5 end"},
		{http.MethodGet, "/chat/stream?input=hi", "", "check:5 admit:5 end"},
		{http.MethodPost, "/chat/stream", `{"input":""}`, "check:5"},
		{http.MethodGet, "/tools", "", "admit:2"},
		{http.MethodGet, "/agents", "", "admit:2"},
		{http.MethodGet, "/healthz", "", ""},
		{http.MethodGet, "/readyz", "", ""},
		{http.MethodGet, "/nothing", "", ""},
	} {
		r := g.do(t, c.method, c.path, c.body, jsonType)
		if begins := strings.Contains(c.want, "end"); begins != (r.header.Get("RateLimit") == "shown") {
			t.Errorf("%s %s: head %v", c.method, c.path, r.header)
		}
		if got := m.all(); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.method, c.path, c.body, got, c.want)
		}
	}
}

// The audit has ten lines a minute of one limit, and then counts.
func TestAuditOfLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fault.Error{Type: fault.RateLimited, Message: "no", RetryAfter: 1500 * time.Millisecond}
		m := &meter{check: beyond{f}}
		g, _, stop := serveInBubble(handlers.Config{Runner: hello, Limiter: m, Dialects: withOwn(nil)})
		var last reply
		for range 35 {
			last = g.chat(t)
		}
		if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") != "2" || !strings.Contains(last.body, `"retry_after_ms":1500,"violated-policies":["user-requests","tenant-streams"]`) {
			t.Errorf("%d, Retry-After %q, %s", last.status, last.header.Get("Retry-After"), last.body)
		}
		lines := func() int { return strings.Count(g.log.String(), `"message":"limit_refused"`) }
		if lines() != 10 || !strings.Contains(g.log.String(), `"limit":"user-requests"`) {
			t.Errorf("%d lines: %s", lines(), g.log.String())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lines() != 11 || !strings.Contains(g.log.String(), `"count":25`) {
			t.Errorf("%d lines after a minute", lines())
		}
		if !errors.Is(m.check, f) {
			t.Error("a limit hides its fault")
		}
		stop()
	})
}
