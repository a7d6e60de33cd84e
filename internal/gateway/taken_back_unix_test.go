//go:build unix

package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"sluice/fault"
	"sluice/internal/gateway"
	"sluice/internal/gateway/wholetest"
	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/stream"
	"sluice/task"
)

// halting is a model that says half of its first answer of two nodes, and no more.
type halting struct {
	mu    sync.Mutex
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
	switch n {
	case 1:
		say("It was found.", `,"finishReason":"STOP"`)
	case 2:
		say("It was lo", "")
		<-r.Context().Done()
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
	in, model := memory.New(memory.Config{}), new(halting)
	begin := func() *wholetest.Flow {
		cfg, read := wholetest.Configured(t, twoSpeak, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
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
	const want = "It was found. It was sold."
	text, resets := logged(t, in, last.Turn)
	if text != want && text != strings.Replace(want, ". ", ".\n\n", 1) || resets != 1 || last.State != task.Completed || bytes.Contains(last.Doc, []byte("It was lo")) {
		t.Errorf("the log has %q after %d resets; the task is %s", text, resets, last.Doc)
	}
}

// logged returns the text of a log, and how often some was taken back.
func logged(t *testing.T, in store.Store, turn string) (text string, resets int) {
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
					resets++
					if r.Reason != stream.ResetTakenOver || r.NodeID != "last" {
						t.Errorf("%+v", r)
					}
				}
			})
		}
	}
	return fold.Text(), resets
}
