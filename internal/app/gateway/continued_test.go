package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// brokenStory is an answer whose first half a model says before it breaks off.
const brokenStory = "The museum opens at nine in the morning, and it closes at five in the afternoon. The garden “Nord” is open all day – 24 h."

// breaking says the first part of the story in Chat Completions, and breaks off.
func breaking(cut *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		chunk, _ := json.Marshal(brokenStory[:cut.Load()])
		_, _ = io.WriteString(w, data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, chunk)))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// follower continues the story: it follows the note, or knows better.
func follower(obeys *atomic.Bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		n := len(body.Messages)
		said, note := body.Messages[n-2].Content, body.Messages[n-1].Content
		text := "I have no idea what you mean by that, so let me tell you another story: once upon a time there was a king."
		if obeys.Load() {
			anchor := note[strings.Index(note, "«")+len("«") : strings.LastIndex(note, "»")]
			text = anchor + strings.TrimPrefix(brokenStory, strings.TrimRight(said, " "))
			if len(anchor) > 20 { // a shorter one must begin the answer
				text = "Sure: " + text
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		thought := `{"choices":[{"index":0,"delta":{"reasoning_content":"Where was I?"}}]}`
		_, _ = io.WriteString(w, data(thought))
		for _, piece := range strings.SplitAfter(text, " ") {
			chunk, _ := json.Marshal(piece)
			_, _ = io.WriteString(w, data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, chunk)))
		}
		_, _ = io.WriteString(w, data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)+data("[DONE]"))
	}
}

// frontEnds are requests of the protocols, with the frames that bring text.
var frontEnds = []struct {
	name, path, body string
	delta            func(map[string]any) any
	begin            string // of a text part; it comes once
}{
	{"native", "/chat/stream", `{"input":"Tell"}`, func(m map[string]any) any { return m["delta"] }, ""},
	{"chat", "/v1/chat/completions", `{"model":"sluice","stream":true,"messages":[{"role":"user","content":"Tell"}]}`, func(m map[string]any) any {
		choices, _ := m["choices"].([]any)
		if len(choices) == 0 {
			return nil
		}
		delta, _ := choices[0].(map[string]any)["delta"].(map[string]any)
		return delta["content"]
	}, ""},
	{"responses", "/v1/responses", `{"model":"sluice","stream":true,"input":"Tell"}`, func(m map[string]any) any {
		if m["type"] == "response.output_text.delta" {
			return m["delta"]
		}
		return nil
	}, `"type":"response.content_part.added"`},
	{"aisdk", "/api/chat", `{"id":"c1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Tell"}]}],"trigger":"submit-message"}`, func(m map[string]any) any {
		if m["type"] == "text-delta" {
			return m["delta"]
		}
		return nil
	}, `"type":"text-start"`},
	{"agui", "/agui", `{"threadId":"t1","runId":"RUN","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[{"id":"m1","role":"user","content":"Tell"}]}`, func(m map[string]any) any {
		if m["type"] == "TEXT_MESSAGE_CONTENT" {
			return m["delta"]
		}
		return nil
	}, `"type":"TEXT_MESSAGE_START"`},
}

// textOf joins the text of a stream.
func textOf(body string, delta func(map[string]any) any) (text string) {
	for line := range strings.Lines(body) {
		payload, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		var m map[string]any
		if !ok || json.Unmarshal([]byte(payload), &m) != nil {
			continue
		}
		piece, _ := delta(m).(string)
		text += piece
	}
	return text
}

// A model dies in the middle of its answer: for each front end the next one goes on, in the same
// text part. If it does not continue the text, nothing of it is emitted, and the error is that of
// before.
func TestFrontEndsContinue(t *testing.T) {
	t.Parallel()
	var cut atomic.Int64
	var obeys atomic.Bool
	file := "models:\n" +
		wholetest.Protocols()[1].Spec("default", gatewaytest.ServeHandler(t, breaking(&cut)), `retries: 0, breaker: "1000,1s,3", fallback: [spare], fallback_after_text: continue`) +
		wholetest.Protocols()[1].Spec("spare", gatewaytest.ServeHandler(t, follower(&obeys)), "")
	g := wholetest.StartFlows(t, file, map[string]string{"TEST_KEY": "k"})
	for _, f := range frontEnds {
		for at := 1; at < len(brokenStory); at += 9 {
			for brokenStory[at]&0xC0 == 0x80 {
				at++
			}
			cut.Store(int64(at))
			for _, follows := range []bool{true, false} {
				obeys.Store(follows)
				run := fmt.Sprintf("r%d%t", at, follows) // AG-UI repeats a turn for an equal body
				body := g.Serve(f.path, strings.Replace(f.body, "RUN", run, 1), io.Discard)
				want := brokenStory
				if !follows {
					want = brokenStory[:at]
				}
				if got := textOf(body, f.delta); got != want {
					t.Fatalf("%s, cut at %d, follows %t: the text is %q\n%s", f.name, at, follows, got, body)
				}
				if strings.Contains(body, "no idea") || f.begin != "" && strings.Count(body, f.begin) != 1 {
					t.Errorf("%s, cut at %d: two text parts, or a text of another story:\n%s", f.name, at, body)
				}
				if f.name == "native" && follows && !strings.Contains(body, fmt.Sprintf(`"seams":[{"at":%d,"key":"spare","reason":"unavailable"}]`, len([]rune(brokenStory[:at])))) {
					t.Errorf("cut at %d: done has no seam:\n%s", at, body)
				}
			}
		}
	}
}
