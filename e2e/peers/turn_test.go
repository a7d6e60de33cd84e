package peers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	gosse "github.com/tmaxmax/go-sse"
)

// event is one event of a turn, with the members of all types of events.
type event struct {
	kind string
	raw  string // its data

	RequestID    string `json:"request_id"`
	TurnID       string `json:"turn_id"` // of start, with a store
	Model        string
	CallID       string `json:"call_id"`
	ToolName     string `json:"tool_name"`
	Server       string
	Arguments    json.RawMessage
	Status       string
	Result       string
	Truncated    bool
	Error        string
	DurationMS   int64 `json:"duration_ms"`
	Delta        string
	ErrorType    string `json:"error_type"`
	Message      string
	Recoverable  bool
	Fatal        bool
	RetryAfterMS int64 `json:"retry_after_ms"`
	Service      string
	FinalOutput  string   `json:"final_output"`
	ToolsCalled  []string `json:"tools_called"`
	Success      bool
	FinishReason string `json:"finish_reason"`
}

// turn is all events of one stream: start first, exactly one done last.
type turn []event

// done returns the last event.
func (tu turn) done() event { return tu[len(tu)-1] }

// of returns the events of a kind.
func (tu turn) of(kind string) []event {
	return slices.DeleteFunc(slices.Clone(tu), func(e event) bool { return e.kind != kind })
}

// calls returns the tool_call events with a status.
func (tu turn) calls(status string) []event {
	return slices.DeleteFunc(tu.of("tool_call"), func(e event) bool { return e.Status != status })
}

func (tu turn) String() string {
	var b strings.Builder
	for _, e := range tu {
		fmt.Fprintf(&b, "%s %s\n", e.kind, e.raw)
	}
	return b.String()
}

// ask runs a whole turn.
func (g *gateway) ask(t testing.TB, text string) turn {
	t.Helper()
	tu, err := g.tryAsk(t.Context(), text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return tu
}

// tryAsk is ask for goroutines of a test, which must not end it.
func (g *gateway) tryAsk(ctx context.Context, text string) (turn, error) {
	s, err := g.open(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.rest()
}

// stream is a turn under way.
type stream struct {
	body io.Closer
	next func() (e gosse.Event, err error, ok bool)
	stop func()
	seen turn
}

// begin begins a turn. It ends with ctx, with leave, or by itself.
func (g *gateway) begin(t testing.TB, ctx context.Context, text string) *stream {
	t.Helper()
	s, err := g.open(ctx, text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	t.Cleanup(s.leave)
	return s
}

func (g *gateway) open(ctx context.Context, text string) (*stream, error) {
	body, err := json.Marshal(map[string]any{"input": text, "accumulated": false})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/chat/stream", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return g.openWith(req)
}

func (g *gateway) openWith(req *http.Request) (*stream, error) {
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		reply, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, reply)
	}
	return newStream(resp.Body), nil
}

// until reads up to the first event that fits.
func (s *stream) until(t testing.TB, what string, fits func(event) bool) event {
	t.Helper()
	for {
		e, err := s.read()
		if err != nil {
			t.Fatalf("waiting for %s: %v after\n%v", what, err, s.seen)
		}
		if fits(e) {
			return e
		}
	}
}

// inProgress is for until: a tool call has begun.
func inProgress(e event) bool { return e.kind == "tool_call" && e.Status == "in_progress" }

// leave closes the connection, as a client does that has lost interest.
func (s *stream) leave() {
	s.stop()
	_ = s.body.Close()
}

// rest reads to the end and returns the whole turn.
func (s *stream) rest() (turn, error) {
	defer s.leave()
	for {
		_, err := s.read()
		if err == io.EOF {
			return s.seen, s.seen.check()
		}
		if err != nil {
			return s.seen, fmt.Errorf("after %d events: %w\n%v", len(s.seen), err, s.seen)
		}
	}
}

func (s *stream) read() (event, error) {
	next, err, ok := s.next()
	if !ok {
		return event{}, io.EOF
	}
	if err != nil {
		return event{}, err
	}
	e := event{kind: next.Type, raw: next.Data}
	if err := json.Unmarshal([]byte(next.Data), &e); err != nil {
		return e, err
	}
	s.seen = append(s.seen, e)
	if want := fmt.Sprintf("%s:%d", cmp.Or(s.seen[0].TurnID, e.RequestID), len(s.seen)); next.LastEventID != want {
		return e, fmt.Errorf("the id is %q, want %q", next.LastEventID, want)
	}
	return e, nil
}

// check looks at what every turn has in common: start, then done at the very end,
// and each call opened and closed once, with its progress between the two.
func (tu turn) check() error {
	if len(tu) < 2 || tu[0].kind != "start" || tu.done().kind != "done" || len(tu.of("done")) != 1 {
		return fmt.Errorf("not a whole turn:\n%v", tu)
	}
	open := map[string]bool{}
	for _, e := range tu.of("tool_call") {
		if inProgress(e) == open[e.CallID] {
			return fmt.Errorf("call %s is opened or closed twice:\n%v", e.CallID, tu)
		}
		open[e.CallID] = inProgress(e) || e.Status == "progress"
	}
	for id, isOpen := range open {
		if isOpen {
			return fmt.Errorf("call %s is left open:\n%v", id, tu)
		}
	}
	return nil
}

func newStream(body io.ReadCloser) *stream {
	next, stop := iter.Pull2(gosse.Read(body, &gosse.ReadConfig{MaxEventSize: 1 << 20}))
	return &stream{body: body, next: next, stop: stop}
}
