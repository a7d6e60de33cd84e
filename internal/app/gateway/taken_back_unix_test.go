//go:build unix

package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/stream"
)

// halting is a model that says half of its second answer, and no more. One that breaks says half of
// its third, too, and then breaks off.
type halting struct {
	breaks bool

	mu    sync.Mutex // guards the field below
	asked int
}

// ServeHTTP implements http.Handler.
func (h *halting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	h.asked++
	n := h.asked
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(text, end string) {
		fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":%q}]}%s,"index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", text, end)
		_ = http.NewResponseController(w).Flush()
	}
	switch {
	case n == 1:
		say("It was found.", `,"finishReason":"STOP"`)
	case n == 2:
		say("It was lo", "")
		<-r.Context().Done()
	case n == 3 && h.breaks:
		say("It was so", "")
		panic(http.ErrAbortHandler)
	default:
		say("It was sold.", `,"finishReason":"STOP"`)
	}
}

// twoSpeak is a workflow whose two nodes both speak.
const twoSpeak = `
agents:
  writer: {description: Writes, role: Writer}
workflows:
  flow:
    nodes:
      first: {type: agent, agent: writer, speak: true}
      last: {type: agent, agent: writer}
    edges: [{from: first, to: last}]
`

// until calls f once when a text has come.
type until struct {
	text string
	f    func()
	seen bytes.Buffer
}

// Write implements io.Writer.
func (u *until) Write(p []byte) (int, error) {
	u.seen.Write(p)
	if u.f != nil && bytes.Contains(u.seen.Bytes(), []byte(u.text)) {
		u.f()
		u.f = nil
	}
	return len(p), nil
}

// The text of a node that is cut by the end of its gateway is taken back by the next one, and that
// of the node in front of it stays; in the log, and in the task.
func TestCutTextOfARunIsTakenBack(t *testing.T) {
	t.Parallel()
	takenBack(t, new(halting), "", stream.ResetTakenOver)
}

// The model of a run that goes on may break off too: the next one of its list begins the answer
// again, as it would have without the takeover.
func TestRunThatGoesOnFallsBackAfterText(t *testing.T) {
	t.Parallel()
	model := &halting{breaks: true}
	s := httptest.NewServer(model)
	t.Cleanup(s.Close)
	const of = "{provider: gemini, endpoint: %q, model: m, retries: 0%s}\n"
	models := "models:\n  default: " + fmt.Sprintf(of, s.URL, ", fallback: [spare], fallback_after_text: true") + "  spare: " + fmt.Sprintf(of, s.URL, "")
	takenBack(t, model, models, stream.ResetTakenOver, stream.ResetFallback)
}

// takenBack has a run cut in the middle of its second text, and compares why text was taken back
// until it ended.
func takenBack(t *testing.T, model *halting, more string, want ...stream.ResetReason) {
	t.Helper()
	in := memory.New(memory.Config{})
	begin := func() *wholetest.Flow {
		cfg, read := wholetest.Configured(t, twoSpeak+more, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
		g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in, Gemini: testnet.Serve(t, model)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		return &wholetest.Flow{T: t, Gateway: g}
	}
	one := begin()
	ended := make(chan struct{})
	cut := &until{text: "It was lo", f: func() {
		go func() {
			defer close(ended)
			one.HTTP().Drain()
			one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
		}()
	}}
	got := one.Serve("/chat/stream", `{"input":"Say it","workflow":"flow"}`, cut)
	<-ended
	one.Close()
	if strings.Contains(got, "event: done") || !strings.Contains(got, "It was lo") {
		t.Fatalf("the first stream is\n%s", got)
	}
	two := begin()
	defer two.Close()
	id := wholetest.Only(t, in)
	testnet.Eventually(t, "the run is over", func() bool { return wholetest.StateOf(t, in, id) != task.Working })
	last, err := in.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	const whole = "It was found. It was sold."
	text, resets := logged(t, in, last.Turn)
	if text != whole && text != strings.Replace(whole, ". ", ".\n\n", 1) || !slices.Equal(resets, want) || last.State != task.Completed || bytes.Contains(last.Doc, []byte("It was lo")) {
		t.Errorf("the log has %q after %q; the task is %s", text, resets, last.Doc)
	}
}

// logged returns the text of a log, and why some was taken back, each time.
func logged(t *testing.T, in store.Store, turn string) (text string, resets []stream.ResetReason) {
	t.Helper()
	var fold stream.Fold
	entries, err := in.ReadLog(t.Context(), turn, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for line := range bytes.Lines(e.Data) {
			_ = stream.ReadStoredLine(line, func(_ stream.Stamp, ev stream.Event) {
				fold.Add(ev)
				if r, ok := ev.(*stream.Reset); ok {
					resets = append(resets, r.Reason)
					if r.NodeID != "last" {
						t.Errorf("%+v", r)
					}
				}
			})
		}
	}
	return fold.Text(), resets
}
