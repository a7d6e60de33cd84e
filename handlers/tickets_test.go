package handlers_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// issued is the reply of POST /chat/tickets.
type issued struct {
	Ticket, URL string
	ExpiresAt   time.Time `json:"expires_at"`
}

// ticket has a ticket issued for a request.
func (g *gateway) ticket(t testing.TB, body string, headers ...string) issued {
	t.Helper()
	got := g.do(t, "POST", "/chat/tickets", body, append(headers, jsonType)...)
	var i issued
	if err := json.Unmarshal([]byte(got.body), &i); err != nil || got.status != http.StatusCreated || i.URL != "/chat/stream?ticket="+i.Ticket {
		t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	return i
}

// asked is what a Runner was asked that says hello.
type asked struct {
	mu   sync.Mutex // guards what follows
	reqs []chat.Request
}

func (a *asked) run(ctx context.Context, req chat.Request, sink stream.Sink) error {
	a.mu.Lock()
	a.reqs = append(a.reqs, req)
	a.mu.Unlock()
	return hello(ctx, req, sink)
}

func (a *asked) last(t testing.TB) chat.Request {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.reqs) == 0 {
		t.Fatal("nothing was asked")
	}
	return a.reqs[len(a.reqs)-1]
}

// asAnn are the headers of a caller whom byHeader knows.
var asAnn = []string{"X-Tenant: t", "X-Principal: ann"}

// Nothing can be read in a ticket, which ends in logs.
func TestTicketIsSealed(t *testing.T) {
	t.Parallel()
	const secret = "a text that is for nobody else"
	g := serve(t, handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil)})
	before := time.Now()
	got := g.do(t, "POST", "/chat/tickets", `{"input":"`+secret+`","conversation_id":"conv_1"}`, append(asAnn, jsonType)...)
	if got.status != http.StatusCreated || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	i := g.ticket(t, `{"input":"`+secret+`"}`, asAnn...)
	if left := i.ExpiresAt.Sub(before); left < 59*time.Second || left > 61*time.Second+time.Since(before) {
		t.Errorf("it ends in %v", left)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(i.Ticket, "slt1."))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, _ := io.ReadAll(flate.NewReader(bytes.NewReader(raw[28:])))
	for _, where := range []string{i.URL, string(raw), string(unpacked)} {
		for _, what := range []string{"text that", "ann", "conv_1"} {
			if strings.Contains(where, what) {
				t.Errorf("%q can be read in %q", what, where)
			}
		}
	}
	if again := g.ticket(t, `{"input":"`+secret+`"}`, asAnn...); again.Ticket == i.Ticket {
		t.Error("two tickets are alike")
	}
	if log := g.log.String(); strings.Contains(log, secret) || strings.Contains(log, i.Ticket) || strings.Count(log, `"ticket_issued"`) != 3 {
		t.Errorf("the log:\n%s", log)
	}
}

// A ticket runs one turn, as its request would by POST, for whom it was issued to.
func TestTicketRunsOneTurn(t *testing.T) {
	t.Parallel()
	var got asked
	g := serve(t, handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil), Runner: runner(got.run),
		Dialects: []dialect.Dialect{sluice.Dialect{GetTools: chat.ToolsOff}}})
	for name, tt := range map[string]struct {
		scopes, body string
		want         chat.Request
	}{
		"a user":          {"chat", `{"input":"a & b=c\u00e9","accumulated":false,"conversation_id":"conv_1"}`, chat.Request{Input: "a & b=c\u00e9", UserID: "ann", ConversationID: "conv_1"}},
		"who reads alone": {"chat:readonly", `{"input":"hi"}`, chat.Request{Input: "hi", UserID: "ann", Tools: chat.ToolsReadOnly}},
		"oneself, named":  {"chat", `{"input":"hi","user_id":"ann"}`, chat.Request{Input: "hi", UserID: "ann"}},
		"a backend":       {"chat act_as", `{"input":"hi","user_id":"eve"}`, chat.Request{Input: "hi", UserID: "eve"}},
	} {
		scopes, _ := chat.ParseScopes(strings.Fields(tt.scopes))
		tt.want.Principal = chat.Principal{Tenant: "t", ID: tt.want.UserID, Scopes: scopes}
		if name == "a backend" {
			tt.want.Principal.By = "ann"
		}
		i := g.ticket(t, tt.body, append(asAnn, "X-Scopes: "+tt.scopes)...)
		runs := g.runs.Load()
		first, second := g.do(t, "GET", i.URL, ""), g.do(t, "GET", i.URL, "")
		if first.status != 200 || second.status != 204 || g.runs.Load() != runs+1 {
			t.Errorf("%s: %d, then %d, and %d turns", name, first.status, second.status, g.runs.Load()-runs)
		}
		judge(t, first.body)
		req := got.last(t)
		if diff := cmp.Diff(tt.want, chat.Request{Input: req.Input, UserID: req.UserID, ConversationID: req.ConversationID, Principal: req.Principal, Tools: req.Tools}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Where nobody is asked who they are a ticket keeps texts out of addresses. What a proxy in front
// has asked for is none of its business.
func TestTicketWithoutADoor(t *testing.T) {
	t.Parallel()
	var got asked
	tickets := approval.NewTickets(nil)
	g := serve(t, handlers.Config{Tickets: tickets, Runner: runner(got.run)})
	i := g.ticket(t, `{"input":"hi","user_id":"ann","idempotency_key":"0123456789"}`)
	if r := g.do(t, "GET", i.URL, "", "Authorization: Basic eDp5"); r.status != 200 || got.last(t).UserID != "ann" || got.last(t).Principal != (chat.Principal{}) {
		t.Errorf("%d %s: %+v", r.status, r.body, got.last(t))
	}
	if r := g.do(t, "POST", "/chat/stream", `{"input":"hi","user_id":"ann"}`, jsonType, "Idempotency-Key: 0123456789"); r.status != 409 {
		t.Errorf("the key of the request is not that of its turn: %d %s", r.status, r.body)
	}
	guarded := serve(t, handlers.Config{Tickets: tickets, Door: byHeader{}})
	if r := guarded.do(t, "GET", g.ticket(t, `{"input":"hi"}`).URL, ""); r.status != 401 {
		t.Errorf("issued to nobody, and opened where somebody must ask: %d %s", r.status, r.body)
	}
	if r := g.do(t, "GET", guarded.ticket(t, `{"input":"hi"}`, asAnn...).URL, ""); r.status != 401 {
		t.Errorf("issued to somebody, and opened where nobody is asked: %d %s", r.status, r.body)
	}
	if r := serve(t, handlers.Config{}).do(t, "POST", "/chat/tickets", `{"input":"hi"}`, jsonType); r.status != 404 && r.status != 405 {
		t.Errorf("without tickets: %d", r.status)
	}
}

// What is wrong with a request is said when its ticket is asked for.
func TestTicketIsRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil), Origins: []string{"https://app.example"}})
	noise := make([]rune, 5000)
	for i := range noise {
		noise[i] = rune(0x4e00 + rand.IntN(0x5000)) // which no packing makes short
	}
	for name, tt := range map[string]struct {
		body    string
		headers []string
		status  int
		want    string // in the reply
	}{
		"nobody":           {`{"input":"hi"}`, []string{"X-Tenant: t"}, 401, `"unauthorized"`},
		"another scope":    {`{"input":"hi"}`, append(asAnn, "X-Scopes: ops inspect"), 403, `"forbidden"`},
		"another user":     {`{"input":"hi","user_id":"bob"}`, asAnn, 403, `"forbidden"`},
		"a foreign page":   {`{"input":"hi"}`, []string{"Origin: https://evil.example"}, 403, `"origin_refused"`},
		"another type":     {`{"input":"hi"}`, append(asAnn, "Content-Type: text/plain"), 415, ""},
		"no input":         {`{}`, asAnn, 422, `"/input"`},
		"no JSON":          {`hi`, asAnn, 422, ""},
		"a history":        {`{"input":"hi","history":[]}`, asAnn, 422, `"/history","code":"not_allowed"`},
		"a workflow":       {`{"input":"hi","workflow":"w"}`, asAnn, 422, `"/workflow","code":"not_allowed"`},
		"an approval":      {`{"approval":{"token":"slap1.x","action":"approve"}}`, asAnn, 422, ""},
		"a key of no form": {`{"input":"hi","idempotency_key":"a b"}`, asAnn, 422, `"/idempotency_key"`},
		"a key of no type": {`{"input":"hi","idempotency_key":12345678}`, asAnn, 422, `"/idempotency_key","code":"wrong_type"`},
		"the longest":      {`{"input":"` + string(noise) + `","task_id":null}`, asAnn, 201, ""},
		"a long body":      {`{"input":"hi","x":"` + strings.Repeat("x", 128<<10) + `"}`, asAnn, 413, `"payload_too_large"`},
	} {
		headers := append([]string{jsonType}, tt.headers...)
		if slices.ContainsFunc(tt.headers, func(h string) bool { return strings.HasPrefix(h, "Content-Type") }) {
			headers = tt.headers
		}
		got := g.do(t, "POST", "/chat/tickets", tt.body, headers...)
		if got.status != tt.status || !strings.Contains(strings.NewReplacer(" ", "", "\n", "").Replace(got.body), tt.want) {
			t.Errorf("%s: %d %.400s", name, got.status, got.body)
		}
	}
	g.Drain()
	if got := g.do(t, "POST", "/chat/tickets", `{"input":"hi"}`, jsonType); got.status != 503 {
		t.Errorf("while draining, of nobody: %d %s", got.status, got.body)
	}
}

// tiny are tickets that have room for nothing.
type tiny struct{ handlers.Tickets }

func (tiny) Seal([]byte) (string, error) { return "", fault.ErrClientGone }

func TestTicketTooLong(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Tickets: tiny{}})
	if got := g.do(t, "POST", "/chat/tickets", `{"input":"hi"}`, jsonType); got.status != 413 || !strings.Contains(got.body, "by POST") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// Whatever is wrong with a ticket, the reply is the same, and nothing runs.
func TestTicketIsNoGood(t *testing.T) {
	t.Parallel()
	tickets := approval.NewTickets(nil)
	cfg := handlers.Config{Door: byHeader{}, Tickets: tickets, Origins: []string{"https://app.example", "https://other.example"}}
	g, other := serve(t, cfg), serve(t, handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil)})
	good := func() string {
		return g.ticket(t, `{"input":"hi"}`, append(asAnn, "Origin: https://app.example")...).URL
	}
	altered := []byte(good())
	altered[len(altered)-9] ^= 1
	var texts []string
	for name, tt := range map[string]struct {
		path    string
		headers []string
		reason  string
	}{
		"altered":                      {string(altered), nil, "altered"},
		"cut":                          {good()[:60], nil, "altered"},
		"empty":                        {"/chat/stream?ticket=", nil, "altered"},
		"of another gateway":           {other.ticket(t, `{"input":"hi"}`, asAnn...).URL, nil, "altered"},
		"of another kind":              {"/chat/stream?ticket=" + strings.Replace(strings.TrimPrefix(good(), "/chat/stream?ticket="), "slt1.", "slap1.", 1), nil, "altered"},
		"that holds no request":        {"/chat/stream?ticket=" + sealed(t, tickets, "[]"), nil, "altered"},
		"of another page":              {good(), []string{"Origin: https://other.example"}, "origin"},
		"of one without a page":        {g.ticket(t, `{"input":"hi"}`, asAnn...).URL, []string{"Origin: https://app.example"}, "origin"},
		"of a credential that is gone": {g.ticket(t, `{"input":"hi"}`, "X-Principal: gone").URL, nil, "credential"},
		"beside a token":               {good(), []string{"Authorization: Bearer x"}, "several"},
		"beside a key of its own":      {good(), []string{"X-API-Key: x"}, "several"},
		"beside what cannot be read":   {good() + "&a=%zz", nil, "form"},
		"at another path":              {strings.Replace(good(), "/chat/stream", "/tools", 1), append(asAnn, "Authorization: Bearer x"), ""},
		"at another path, alone":       {strings.Replace(good(), "/chat/stream", "/me", 1), nil, ""},
	} {
		runs, logged := g.runs.Load(), len(g.log.String())
		got := g.do(t, "GET", tt.path, "", tt.headers...)
		if got.status != 401 || g.runs.Load() != runs || got.header.Get("WWW-Authenticate") != `Bearer realm="sluice", error="invalid_token"` {
			t.Errorf("%s: %d %v %s", name, got.status, got.header, got.body)
		}
		if id := got.header.Get("X-Request-ID"); id != "" {
			got.body = strings.ReplaceAll(got.body, id, "ID")
		}
		got.body = strings.ReplaceAll(got.body, strings.Split(tt.path, "?")[0], "PATH")
		texts = append(texts, got.body)
		if audit := g.log.String()[logged:]; tt.reason != "" && (!strings.Contains(audit, `"ticket_refused"`) || !strings.Contains(audit, `"reason":"`+tt.reason+`"`)) {
			t.Errorf("%s: the audit lacks %q: %s", name, tt.reason, audit)
		}
	}
	for _, text := range texts[1:] {
		if diff := cmp.Diff(texts[0], text); diff != "" {
			t.Fatalf("two texts:\n%s", diff)
		}
	}
	if got := g.do(t, "POST", good(), `{"input":"hi"}`, jsonType); got.status != 401 {
		t.Errorf("by POST: %d %s", got.status, got.body)
	}
	if strings.Contains(g.log.String(), "slt1.") {
		t.Error("the log has a ticket")
	}
	for path, want := range map[string]string{good() + "&input=hi": "/input", good() + "&" + good()[len("/chat/stream?"):]: "/ticket", good() + "&idempotency_key=12345678": "/idempotency_key"} {
		got := g.do(t, "GET", path, "")
		if got.status != 422 || !strings.Contains(got.body, want) || !strings.Contains(got.body, "not_allowed") {
			t.Errorf("%.40s…%s: %d %s", path, want, got.status, got.body)
		}
	}
	if got := g.do(t, "GET", good(), "", "Origin: https://app.example"); got.status != 200 {
		t.Errorf("of its own page: %d %s", got.status, got.body)
	}
	if got := g.do(t, "GET", string(altered), "", "Origin: https://evil.example"); got.status != 403 {
		t.Errorf("what is refused before a credential: %d %s", got.status, got.body)
	}
	last := good()
	g.Drain()
	for _, path := range []string{last, string(altered)} {
		if got := g.do(t, "GET", path, ""); got.status != 503 {
			t.Errorf("while draining: %d %s", got.status, got.body)
		}
	}
}

// sealed is a ticket of any text.
func sealed(t testing.TB, tickets *approval.Tickets, text string) string {
	t.Helper()
	ticket, err := tickets.Seal([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// keptTickets serves turns that are kept in st, with time that is a test's.
func keptTickets(st store.Store, run runner) (g *gateway, stop func()) {
	tasks := task.New(task.Config{Store: st})
	g, _, end := serveInBubble(handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil), Keeping: handlers.Keeping{Tasks: tasks},
		Runner: run, Dialects: []dialect.Dialect{sluice.Dialect{Stored: true}}})
	return g, func() { end(); tasks.Close() }
}

// lastID is the id of the event that a client has seen.
func lastID(body string, n int) string {
	ids := strings.Split(body, "id: ")
	id, _, _ := strings.Cut(ids[n], "\n")
	return "Last-Event-ID: " + id
}

// A ticket that is used again is attached to its turn where that is kept. Later it begins nothing,
// but goes on with what it has begun, and with nothing else.
func TestTicketOfAKeptTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, stop := keptTickets(memory.New(memory.Config{Tasks: 100}), hello)
		defer stop()
		i := g.ticket(t, `{"input":"hi"}`, asAnn...)
		whole := g.do(t, "GET", i.URL, "")
		another := g.do(t, "GET", g.ticket(t, `{"input":"another"}`, asAnn...).URL, "")
		if whole.status != 200 || another.status != 200 {
			t.Fatalf("%d, %d", whole.status, another.status)
		}
		if again := g.do(t, "GET", i.URL, ""); again.status != 200 || again.body != whole.body || again.header.Get("X-Sluice-Replayed") != "true" {
			t.Errorf("again: %d %v (-first +again):\n%s", again.status, again.header, cmp.Diff(whole.body, again.body))
		}
		rest := whole.body[strings.Index(whole.body, "id: "+strings.TrimPrefix(lastID(whole.body, 3), "Last-Event-ID: ")):]
		resumes := func(when string) {
			t.Helper()
			got := g.do(t, "GET", i.URL, "", lastID(whole.body, 2))
			if got.status != 200 || strings.TrimPrefix(got.body, "retry: 1000\n") != rest {
				t.Errorf("%s: %d (-want +got):\n%s", when, got.status, cmp.Diff(rest, got.body))
			}
			if got := g.do(t, "GET", i.URL, "", lastID(another.body, 2)); got.status != 401 {
				t.Errorf("%s, another turn of the same user: %d %s", when, got.status, got.body)
			}
			unused := g.ticket(t, `{"input":"unused"}`, asAnn...)
			if got := g.do(t, "GET", unused.URL, "", lastID(another.body, 2)); got.status != 401 {
				t.Errorf("%s, by a ticket that has begun none: %d %s", when, got.status, got.body)
			}
		}
		resumes("at once")
		time.Sleep(59 * time.Second)
		if got := g.do(t, "GET", i.URL, ""); got.status != 200 {
			t.Errorf("in time: %d %s", got.status, got.body)
		}
		time.Sleep(time.Second)
		resumes("after its time")
		for _, last := range []string{"", "Last-Event-ID: x", "Last-Event-ID: turn_00000000000000000000000000:1"} {
			var headers []string
			if last != "" {
				headers = append(headers, last)
			}
			if got := g.do(t, "GET", i.URL, "", headers...); got.status != 401 {
				t.Errorf("%q too late: %d %s", last, got.status, got.body)
			}
		}
		if n := g.runs.Load(); n != 2 {
			t.Errorf("%d turns, want 2", n)
		}
	})
}

// Without a store a lost stream cannot be resumed, and nothing runs again.
func TestTicketOfALostTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil)})
		defer stop()
		i := g.ticket(t, `{"input":"hi"}`, asAnn...)
		whole := g.do(t, "GET", i.URL, "")
		got := g.do(t, "GET", i.URL, "", lastID(whole.body, 2))
		time.Sleep(time.Minute)
		late := g.do(t, "GET", i.URL, "", lastID(whole.body, 2))
		unused := g.do(t, "GET", g.ticket(t, `{"input":"hi"}`, asAnn...).URL, "", "Last-Event-ID: x")
		if got.status != 204 || late.status != 401 || unused.status != 204 || g.runs.Load() != 1 {
			t.Errorf("%d, late %d, unused %d, and %d turns", got.status, late.status, unused.status, g.runs.Load())
		}
	})
}

// failing is a store that can be unavailable.
type failing struct {
	store.Store
	broken bool
}

func (f *failing) Value(ctx context.Context, key string) (store.Value, error) {
	if f.broken {
		return store.Value{}, fmt.Errorf("%w: broken", store.ErrUnavailable)
	}
	return f.Store.Value(ctx, key)
}

// A store that does not answer does not say that a ticket has begun another turn.
func TestTicketWithoutItsStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &failing{Store: memory.New(memory.Config{Tasks: 100})}
		g, stop := keptTickets(st, hello)
		defer stop()
		i := g.ticket(t, `{"input":"hi"}`, asAnn...)
		whole := g.do(t, "GET", i.URL, "")
		st.broken = true
		if got := g.do(t, "GET", i.URL, "", lastID(whole.body, 2)); got.status != 503 {
			t.Errorf("%d %s", got.status, got.body)
		}
		st.broken = false
		if got := g.do(t, "GET", i.URL, "", lastID(whole.body, 2)); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// ending is a door for credentials that end.
type ending struct {
	byHeader
	at time.Time
}

func (e ending) Authenticate(r *http.Request) (*access.Identity, error) {
	who, err := e.byHeader.Authenticate(r)
	if err == nil {
		who.Expires, who.Ends = e.at, e.at
	}
	return who, err
}

func (e ending) Counts(who *access.Identity) bool {
	return who.Ends.Equal(e.at) && time.Now().Before(e.at)
}

// A stream that was resumed by a ticket ends with the credential behind it, without done. The turn
// goes on.
func TestTicketEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := task.New(task.Config{Store: memory.New(memory.Config{Tasks: 100})})
		defer tasks.Close()
		end := time.Now().Add(30 * time.Second)
		g, _, stop := serveInBubble(handlers.Config{Door: ending{at: end}, Tickets: approval.NewTickets(nil), Keeping: handlers.Keeping{Tasks: tasks},
			Runner: slow(2 * time.Minute), Limits: handlers.Limits{Heartbeat: 5 * time.Second}, Dialects: []dialect.Dialect{sluice.Dialect{Stored: true}}})
		defer stop()
		i := g.ticket(t, `{"input":"hi"}`, asAnn...)
		first, err := g.send(t.Context(), "GET", i.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := make([]byte, 4096)
		n, err := first.Body.Read(begun)
		if _ = first.Body.Close(); err != nil {
			t.Fatal(err)
		}
		rest, err := g.send(t.Context(), "GET", i.URL, nil, lastID(string(begun[:n]), 1))
		if err != nil {
			t.Fatal(err)
		}
		defer rest.Body.Close()
		got, err := io.ReadAll(rest.Body)
		if late := time.Since(end); rest.StatusCode != 200 || err == nil || late < 0 || late > time.Second || strings.Contains(string(got), "event: done") {
			t.Errorf("%d, %v after its end: %v\n%s", rest.StatusCode, late, err, got)
		}
		if again := g.do(t, "GET", i.URL, "", lastID(string(begun[:n]), 1)); again.status != 401 {
			t.Errorf("with a credential that has ended: %d %s", again.status, again.body)
		}
		time.Sleep(2 * time.Minute)
		if !strings.Contains(g.log.String(), `"finish_reason":"stop"`) {
			t.Errorf("the turn did not go on: %s", g.log.String())
		}
	})
}

// narrowing is a door whose credentials lose the scope chat.
type narrowing struct {
	byHeader
	narrowed *atomic.Bool
}

func (n narrowing) Counts(who *access.Identity) bool {
	if n.narrowed.Load() {
		who.Scopes = chat.ScopeInspect
	}
	return true
}

// A ticket opens no more than the credential behind it does when the ticket is used.
func TestTicketNeedsTheScopeOfItsTurn(t *testing.T) {
	t.Parallel()
	var narrowed atomic.Bool
	g := serve(t, handlers.Config{Door: narrowing{narrowed: &narrowed}, Tickets: approval.NewTickets(nil)})
	before, after := g.ticket(t, `{"input":"hi"}`, asAnn...), g.ticket(t, `{"input":"hi"}`, asAnn...)
	if got := g.do(t, "GET", before.URL, ""); got.status != 200 {
		t.Errorf("with the scope: %d %s", got.status, got.body)
	}
	narrowed.Store(true)
	if got := g.do(t, "GET", after.URL, ""); got.status != 401 {
		t.Errorf("without the scope: %d %s", got.status, got.body)
	}
}

// spender notes what is checked and charged.
type spender struct {
	mu    sync.Mutex // guards what follows
	spent []string
}

func (s *spender) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = append(s.spent, fmt.Sprintf(format, args...))
}

func (s *spender) Check(_ *http.Request, who chat.Principal, what handlers.Spending) error {
	s.note("check %s %v", who.ID, what)
	return nil
}

func (s *spender) Admit(_ *http.Request, who chat.Principal, what handlers.Spending) (handlers.Allowance, error) {
	s.note("charge %s %v", who.ID, what)
	return nil, nil
}

// A turn is one request, by POST or by a ticket, which counts for the user whom it is for. What is
// refused is not charged.
func TestTicketCountsOnce(t *testing.T) {
	t.Parallel()
	s := new(spender)
	g := serve(t, handlers.Config{Door: byHeader{}, Tickets: approval.NewTickets(nil), Limiter: s})
	const both = handlers.SpendRequest | handlers.SpendTurn
	g.chat(t, asAnn...)
	backend := append(asAnn, "X-Scopes: chat act_as")
	g.do(t, "POST", "/chat/tickets", `{}`, append(backend, jsonType)...)
	g.do(t, "GET", g.ticket(t, `{"input":"hi","user_id":"eve"}`, backend...).URL, "")
	want := []string{
		fmt.Sprint("check ann ", both), fmt.Sprint("charge ann ", both),
		fmt.Sprint("check ann ", both),
		fmt.Sprint("check ann ", both), fmt.Sprint("charge eve ", handlers.SpendRequest),
		fmt.Sprint("check eve ", handlers.SpendTurn), fmt.Sprint("charge eve ", handlers.SpendTurn),
	}
	if diff := cmp.Diff(want, s.spent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing that is shown as a ticket runs a turn, unless it is one that was issued.
func FuzzTicket(f *testing.F) {
	tickets := approval.NewTickets(nil)
	g := serve(f, handlers.Config{Door: byHeader{}, Tickets: tickets})
	good := g.ticket(f, `{"input":"hi"}`, asAnn...).Ticket
	for _, seed := range []string{good, good[:len(good)-1], good + "=", strings.ToUpper(good), "slt1.", "slt1.AAAA", "slap1." + good[5:], "%73" + good[1:], good + "&ticket=x", good + "#x", good + "\n",
		sealed(f, tickets, `{"q":"input=hi","z":99999999999999}`), sealed(f, tickets, `{"m":"key","u":"gone","q":"input=hi","i":"0123456789","z":99999999999999}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ticket string) {
		runs := g.runs.Load()
		got := g.do(t, "GET", "/chat/stream?ticket="+url.QueryEscape(ticket), "")
		if ran := g.runs.Load() != runs; got.status == 200 != ran || ran && ticket != good || !slices.Contains([]int{200, 204, 401}, got.status) {
			t.Errorf("%q: %d %s", ticket, got.status, got.body)
		}
	})
}
