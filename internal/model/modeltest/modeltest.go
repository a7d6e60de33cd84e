// Package modeltest checks the rules that all configured models share, whatever their protocol.
// They say when to retry, which verdict the breaker gets, which error the caller gets, and which
// oddities of a service are harmless.
package modeltest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/breaker/breakertest"
	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Protocol is how a service speaks. Events are whole, with what ends them.
type Protocol struct {
	// Spec configures the model. The suite sets the values that it needs.
	Spec model.Spec
	// New makes the model.
	New func(model.Spec, model.Options) (*model.Model, error)
	// Open are the events that come before the first delta; empty: none.
	Open string
	// Text returns the events of a text delta. The text is plain ASCII.
	Text func(s string) string
	// Finish are the events of a good end. An answer without them was cut.
	Finish string
	// FinishEvents are the events which say how an answer ends, without those that may be behind
	// them. It is empty if the protocol has no events behind them.
	FinishEvents string
	// End returns the events of an end with a word of the provider's, and Call those of a whole call
	// of the tool lookup. Nil: the words of the suite are not tried.
	End  func(word string) string
	Call string
	// CallsAtOnce says that calls are handed on before the end.
	CallsAtOnce bool
	// Idle are events that carry nothing of an answer, such as an empty delta.
	Idle []string
	// Pings are events that say that the service lives, and nothing else; the suite adds
	// comments.
	Pings []string
	// Unreadable is an event whose data cannot be read.
	Unreadable string
	// Error returns the body of a refusal of a kind, with a message of the provider's. It returns
	// "" if the protocol lacks such an error.
	Error func(kind model.Kind, message string) string
	// ErrorEvent is Error as an event of the stream.
	ErrorEvent func(kind model.Kind, message string) string
	// BadTool is the body of a 400 that refuses the second of three tools, one, bad_tool and three.
	BadTool string
	// Member is a member that the model sends of its own accord, and Unknown the body of a 400 that
	// refuses it. Both are empty if the protocol lacks such a member.
	Member, Unknown string
}

// Timeouts and retries of the suite's models.
const (
	first   = 15 * time.Second
	idle    = 10 * time.Second
	retries = 2
	key     = "sk-1234567890abcdef"
)

// Outcome is the result of a call.
type Outcome struct {
	Text    string
	Called  bool // a call was handed on
	Usage   chat.Usage
	Finish  chat.Finish
	Err     error
	Elapsed time.Duration
}

// openModel makes the model of p that talks to s.
func (p Protocol) openModel(t *testing.T, s *Service) *model.Model {
	t.Helper()
	spec := p.Spec
	spec.Key, spec.APIKey = "fast", config.Secret(key)
	spec.First, spec.Idle, spec.Retries = first, idle, retries
	spec.Breaker = breaker.Config{Failures: 100}
	m, err := p.New(spec, model.Options{Transport: s, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// Ask makes a call of m.
func Ask(ctx context.Context, m *model.Model) (got Outcome) {
	req := &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}}
	start := time.Now()
	got.Err = m.Stream(ctx, req, func(c *chat.Chunk) error {
		for _, part := range c.Parts {
			got.Called = got.Called || part.Call != nil
			if part.Call == nil && !part.Thought {
				got.Text += part.Text
			}
		}
		if c.Usage != nil {
			got.Usage = *c.Usage
		}
		got.Finish = c.Finish
		return nil
	})
	got.Elapsed = time.Since(start)
	return got
}

// Verdicts that the breaker receives.
const (
	success = breaker.Success
	failure = breaker.Failure
	neither = breaker.Neutral
)

// row is the replies of a service and the outcome that they must have.
type row struct {
	name     string
	replies  []Reply
	text     string
	want     fault.Type      // empty: a good answer
	verdict  breaker.Verdict // of the call, whatever its attempts did
	called   bool            // its call may run
	requests int
	wait     time.Duration // RetryAfter; 0: not looked at
	elapsed  time.Duration // at least; with exact, no more either
	exact    bool
}

// Run runs the suite. Its rows are the table of all outcomes of a call, each with the verdict for
// the breaker.
func Run(t *testing.T, p Protocol) {
	for _, group := range [][]row{p.goodRows(), p.refusalRows(), p.waitRows(), p.kindRows(), p.streamRows(), p.silenceRows(), p.pingRows(), p.endingRows(), p.finishWordRows()} {
		for _, r := range group {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { p.checkRow(t, r) })
			})
		}
	}
	t.Run("failures of a turn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, p.failTurns)
	})
	t.Run("one key in one header", func(t *testing.T) { t.Parallel(); p.oneHeader(t) })
	t.Run("a client that leaves", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, p.leaveEarly)
	})
	t.Run("secrets of an error", func(t *testing.T) { t.Parallel(); p.checkSecrets(t) })
	t.Run("huge error body", func(t *testing.T) { t.Parallel(); p.hugeError(t) })
	if p.BadTool != "" {
		t.Run("refused tools", func(t *testing.T) { t.Parallel(); p.refusedTools(t) })
	}
	if p.Member != "" {
		t.Run("learned members", func(t *testing.T) { t.Parallel(); p.checkLearned(t) })
	}
}

// failTurns has the calls of each of two turns fail: the breaker counts the turns.
func (p Protocol) failTurns(t *testing.T) {
	m := p.openModel(t, &Service{Replies: []Reply{{Refused: ErrBroken}}})
	for i := range 2 {
		ctx := chat.WithTurn(t.Context(), chat.Turn{RequestID: "req_1", Began: time.Now()})
		for range 3 {
			_ = Ask(ctx, m)
		}
		if n := m.Breaker().Snapshot().FailureCount; int(n) != i+1 {
			t.Errorf("behind %d turns the breaker counts %d failures", i+1, n)
		}
	}
}

func (p Protocol) checkRow(t *testing.T, r row) {
	s := &Service{Replies: r.replies}
	m := p.openModel(t, s)
	var got Outcome
	verdict := breakertest.Verdict(t, m.Breaker(), func() { got = Ask(t.Context(), m) })
	if got.Text != r.text {
		t.Errorf("text %q, want %q", got.Text, r.text)
	}
	r.checkEnd(t, got)
	if n := len(s.Requests()); n != r.requests {
		t.Errorf("%d requests, want %d", n, r.requests)
	}
	if verdict != r.verdict {
		t.Errorf("the breaker gets %d, want %d", verdict, r.verdict)
	}
	if got.Err == nil && got.Called != r.called {
		t.Errorf("called: %v", got.Called)
	}
	if got.Elapsed < r.elapsed || r.exact && got.Elapsed != r.elapsed {
		t.Errorf("took %v, want %v", got.Elapsed, r.elapsed)
	}
	if n := s.Open(); n != 0 {
		t.Errorf("%d replies were not closed", n)
	}
}

// checkEnd checks what ended an answer: its finish, or the error of the row.
func (r row) checkEnd(t *testing.T, got Outcome) {
	e, isFault := errors.AsType[*fault.Error](got.Err)
	switch {
	case r.want == "":
		if got.Err != nil {
			t.Fatalf("error = %v", got.Err)
		}
		if got.Finish == chat.FinishNone {
			t.Error("the end was not told")
		}
	case !isFault || e.Type != r.want || e.Service != "model:fast":
		t.Fatalf("error = %v (%+v), want %s of model:fast", got.Err, e, r.want)
	case r.wait != 0 && e.RetryAfter != r.wait:
		t.Errorf("retry after %v, want %v", e.RetryAfter, r.wait)
	}
}

// goodReply is a good answer.
func (p Protocol) goodReply() Reply {
	return Reply{Pieces: []string{p.Open, p.Text("hello"), p.Finish}}
}

func (p Protocol) oneHeader(t *testing.T) {
	s := &Service{Replies: []Reply{p.goodReply()}}
	if got := Ask(chat.WithRequestID(t.Context(), "req_1"), p.openModel(t, s)); got.Err != nil {
		t.Fatal(got.Err)
	}
	r := s.Requests()[0]
	found := strings.Count(r.URL+r.Body, key)
	for _, values := range r.Header {
		found += strings.Count(strings.Join(values, " "), key)
	}
	if found != 1 || strings.Contains(r.URL+r.Body, key) {
		t.Errorf("the key was sent %d times: %s %v", found, r.URL, r.Header)
	}
	if id := r.Header.Get("X-Request-ID"); id != "req_1" {
		t.Errorf("request id %q", id)
	}
}

// leaveEarly has the client go after the first text: the reply is closed at once.
func (p Protocol) leaveEarly(t *testing.T) {
	s := &Service{Replies: []Reply{{Pieces: []string{p.Open, p.Text("hello")}, End: ErrHang}}}
	m := p.openModel(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(fault.ErrClientGone) })
	got := Ask(ctx, m)
	if !errors.Is(got.Err, fault.ErrClientGone) || got.Elapsed != time.Second || s.Open() != 0 {
		t.Errorf("error = %v after %v, %d replies open", got.Err, got.Elapsed, s.Open())
	}
	if n := m.Breaker().Snapshot().FailureCount; n != 0 {
		t.Errorf("%d failures", n)
	}
}

// checkSecrets has a service repeat the key.
func (p Protocol) checkSecrets(t *testing.T) {
	body := p.Error(model.KindRejected, "the key "+key+" is not known")
	got := Ask(t.Context(), p.openModel(t, &Service{Replies: []Reply{{Status: 400, Pieces: []string{body}}}}))
	if got.Err == nil || strings.Contains(got.Err.Error(), key) {
		t.Errorf("error = %v", got.Err)
	}
}

func (p Protocol) hugeError(t *testing.T) {
	s := &Service{Replies: []Reply{{Status: 400, Pieces: []string{strings.Repeat("x", 1<<20)}}}}
	if got := Ask(t.Context(), p.openModel(t, s)); got.Err == nil || s.Read() > 64<<10 {
		t.Errorf("error = %v after %d bytes", got.Err, s.Read())
	}
}

// checkLearned has the service refuse a member: it is left out, and stays so.
func (p Protocol) checkLearned(t *testing.T) {
	s := &Service{Replies: []Reply{{Status: 400, Pieces: []string{p.Unknown}}, p.goodReply()}}
	m := p.openModel(t, s)
	for range 2 {
		if got := Ask(t.Context(), m); got.Err != nil || got.Text != "hello" {
			t.Fatalf("told %+v", got)
		}
	}
	sent := s.Requests()
	if len(sent) != 3 || sent[0].Body == sent[1].Body || sent[1].Body != sent[2].Body {
		t.Errorf("%d requests: %+v", len(sent), sent)
	}
	if n := m.Breaker().Snapshot().FailureCount; n != 0 {
		t.Errorf("%d failures", n)
	}
	if !m.Learned().Omit().Has(p.Member) {
		t.Errorf("learned %v, want %s", m.Learned().Omit(), p.Member)
	}
	again := &Service{Replies: []Reply{{Status: http.StatusBadRequest, Pieces: []string{p.Unknown}}}}
	if got := Ask(t.Context(), p.openModel(t, again)); got.Err == nil || len(again.Requests()) != 2 {
		t.Errorf("refused for good: %v after %d requests", got.Err, len(again.Requests()))
	}
}

// refusedTools has the service refuse a tool of a server: it is left out, and stays so until its
// server changes it. A client's tool stays, because its client must learn of the fault.
func (p Protocol) refusedTools(t *testing.T) {
	set := func(server, description string) *tool.Set {
		s := &tool.Set{}
		for _, name := range []string{"one", "bad_tool", "three"} {
			s.Specs = append(s.Specs, tool.Spec{Name: name, Server: server, Description: description, InputSchema: []byte(`{"type":"object","properties":{"q":{}}}`)})
		}
		return s
	}
	var log bytes.Buffer
	ctx := zerolog.New(&log).WithContext(t.Context())
	ask := func(m *model.Model, tools *tool.Set) error {
		req := &chat.ModelRequest{Step: 1, Tools: tools, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}}
		return m.Stream(ctx, req, func(*chat.Chunk) error { return nil })
	}
	s := &Service{Replies: []Reply{{Status: 400, Pieces: []string{p.BadTool}}, p.goodReply()}}
	m := p.openModel(t, s)
	tools := set("files", "as it was")
	for _, tools := range []*tool.Set{tools, tools, set("files", "as it was"), set("files", "mended")} {
		if err := ask(m, tools); err != nil {
			t.Fatal(err)
		}
	}
	var got []bool
	for _, r := range s.Requests() {
		got = append(got, strings.Contains(r.Body, "bad_tool"))
		if !strings.Contains(r.Body, "one") || !strings.Contains(r.Body, "three") {
			t.Errorf("other tools are missing: %s", r.Body)
		}
	}
	if want := []bool{true, false, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("the tool was sent: %v, want %v", got, want)
	}
	if n := strings.Count(log.String(), "mcp_tool_dropped"); n != 1 || !strings.Contains(log.String(), `"key":"fast","server":"files","tool_name":"bad_tool"`) {
		t.Errorf("logged %s", log.String())
	}
	if n := m.Breaker().Snapshot().FailureCount; n != 0 {
		t.Errorf("%d failures", n)
	}
	client := &Service{Replies: []Reply{{Status: 400, Pieces: []string{p.BadTool}}}}
	if err := ask(p.openModel(t, client), set("", "a client's")); err == nil || len(client.Requests()) != 1 {
		t.Errorf("a client's tool: %v after %d requests", err, len(client.Requests()))
	}
}
