//go:build unix

package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
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
