//go:build unix

package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/stream"
)

// storyteller says the first half of the story, and no more. Asked again it continues, or not.
func storyteller(asked *atomic.Int64, half int, follows bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Contents []struct{ Parts []struct{ Text string } }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text, end string) {
			quoted, _ := json.Marshal(text)
			fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":%s}]}%s,"index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", quoted, end)
			_ = http.NewResponseController(w).Flush()
		}
		if asked.Add(1) == 1 {
			say(brokenStory[:half], "")
			<-r.Context().Done()
			return
		}
		note := body.Contents[len(body.Contents)-1].Parts[0].Text
		begin, end := strings.Index(note, "«"), strings.LastIndex(note, "»")
		if !follows || begin < 0 {
			say("Once upon a time there was a king who did not know what to say, and so he said this.", `,"finishReason":"STOP"`)
			return
		}
		say(note[begin+len("«"):end]+strings.TrimPrefix(brokenStory, strings.TrimRight(brokenStory[:half], " ")), `,"finishReason":"STOP"`)
	}
}

// A gateway dies in the middle of an answer of a front end that cannot take text back. The next one
// continues the text. Without a seam the turn is lost, and nothing of the other answer is emitted.
func TestTakeoverContinuesText(t *testing.T) {
	t.Parallel()
	for _, follows := range []bool{true, false} {
		for _, half := range []int{60, 61, 90} {
			asked, where := new(atomic.Int64), "sqlite:"+filepath.Join(t.TempDir(), "store.db")
			model := storyteller(asked, half, follows)
			begin := func() *wholetest.Flow {
				cfg, read := wholetest.Configured(t, "tasks: {lease: 3s}\n", map[string]string{"SLUICE_STORE": where, "GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
				g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Gemini: testnet.Serve(t, model)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				return &wholetest.Flow{T: t, Gateway: g}
			}
			f := frontEnds[len(frontEnds)-1] // AG-UI attaches by the same body
			f.body = strings.Replace(f.body, `"forwardedProps":{}`, `"forwardedProps":{"on_disconnect":"continue"}`, 1)
			one := begin()
			ended := make(chan struct{})
			cut := &until{text: "in the", f: func() {
				go func() {
					defer close(ended)
					one.HTTP().Drain()
					one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
				}()
			}}
			got := one.Serve(f.path, f.body, cut)
			<-ended
			one.Close()
			if strings.Contains(got, "RUN_FINISHED") || textOf(got, f.delta) != brokenStory[:half] {
				t.Fatalf("the first stream is\n%s", got)
			}
			two := begin()
			got = two.Serve(f.path, f.body, io.Discard)
			text, end := brokenStory, `"seams":[{"at":`+fmt.Sprint(len([]rune(brokenStory[:half])))+`,"key":"default","reason":"taken_over"}]`
			if !follows {
				text, end = brokenStory[:half], `"turn_lost"`
			}
			if textOf(got, f.delta) != text || !strings.Contains(got, end) || strings.Count(got, f.begin) != 1 || asked.Load() != 2 {
				t.Errorf("cut at %d, follows %t: the model was asked %d times, and the stream is\n%s", half, follows, asked.Load(), got)
			}
			two.Close()
		}
	}
}

// With fallback_after_text: continue the text also continues where it could be taken back, and in a
// team where one agent speaks. Seams of the process before count, and stand in done.
func TestTakeoverContinuesAsConfigured(t *testing.T) {
	t.Parallel()
	const half = 61
	const team = "router: off\nagents: {a: {description: tells}}\n"
	for name, tt := range map[string]struct{ path, body, more, word string }{
		"native":            {"/chat/stream", `{"input":"Tell"}`, "", "continue"},
		"native, restarted": {"/chat/stream", `{"input":"Tell"}`, "", "true"},
		"one of a team":     {"/chat/stream", `{"input":"Tell"}`, team, "continue"},
		"a team, restarted": {"/chat/stream", `{"input":"Tell"}`, team, "true"},
		"a2a": {"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Tell"}]}}}`,
			"a2a: {enabled: true}\n", "continue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, where := new(atomic.Int64), "sqlite:"+filepath.Join(t.TempDir(), "store.db")
			model := httptest.NewServer(storyteller(asked, half, true))
			t.Cleanup(model.Close)
			begin := func() *wholetest.Flow {
				content := fmt.Sprintf("tasks: {lease: 3s}\nmodels: {default: {provider: gemini, endpoint: %q, model: m, retries: 0, fallback_after_text: %s}}\n%s", model.URL, tt.word, tt.more)
				cfg, read := wholetest.Configured(t, content, map[string]string{"SLUICE_STORE": where, "SLUICE_HEARTBEAT": "0"})
				g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				return &wholetest.Flow{T: t, Gateway: g}
			}
			one := begin()
			ended := make(chan struct{})
			got := one.Serve(tt.path, tt.body, &until{text: "in the", f: func() {
				go func() {
					defer close(ended)
					one.HTTP().Drain()
					one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
				}()
			}})
			<-ended
			one.Close()
			if !strings.Contains(got, brokenStory[half-6:half]) {
				t.Fatalf("the first stream is\n%s", got)
			}
			two := begin()
			defer two.Close()
			in := two.Store()
			id := wholetest.Only(t, in)
			testnet.Eventually(t, "the turn is over", func() bool { return wholetest.StateOf(t, in, id) != task.Working })
			last, err := in.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			text, resets, seams := takeoverLog(t, in, last.Turn)
			want := []stream.Seam{{At: len([]rune(brokenStory[:half])), Key: "default", Reason: "taken_over"}}
			if tt.word == "true" {
				if text == brokenStory || len(resets) != 1 || len(seams) > 0 {
					t.Errorf("%q after %q, with seams %v", text, resets, seams)
				}
				return
			}
			if text != brokenStory || len(resets) > 0 || !slices.Equal(seams, want) || last.State != task.Completed {
				t.Errorf("%q after %q, with seams %v; the task is %s", text, resets, seams, last.Doc)
			}
		})
	}
}

// takeoverLog returns the text of a log, why some was taken back, and the seams of its done.
func takeoverLog(t *testing.T, in store.Store, turn string) (text string, resets []stream.ResetReason, seams []stream.Seam) {
	t.Helper()
	entries, err := in.ReadLog(t.Context(), turn, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var fold stream.Fold
	for _, e := range entries {
		for line := range bytes.Lines(e.Data) {
			_ = stream.ReadStoredLine(line, func(_ stream.Stamp, ev stream.Event) {
				fold.Add(ev)
				switch ev := ev.(type) {
				case *stream.Reset:
					resets = append(resets, ev.Reason)
				case *stream.Done:
					seams = ev.Seams
				}
			})
		}
	}
	return fold.Text(), resets, seams
}
