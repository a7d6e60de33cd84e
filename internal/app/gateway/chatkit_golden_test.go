package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sluice/internal/app/gateway/wholetest"
)

// What the golden transcripts report over /chat/stream, POST /chatkit reports as well: the same
// replies by status, the same text, the same verdict on a retry. The judge reads each frame.
func TestChatKitEncodesEveryTranscript(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var mu sync.Mutex // guards cases
	var cases []chatKitCase
	t.Run("play", func(t *testing.T) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(name, func(t *testing.T) {
				if name == "body_too_large" || name == "repeated_get" || name == "get_readonly" || strings.HasPrefix(name, "approval_") {
					return // what they are about is lost in translation
				}
				t.Parallel()
				tr := wholetest.ReadTranscript(t, file)
				if !translate(tr, t) {
					return
				}
				synctest.Test(t, func(t *testing.T) {
					got := playChatKit(tr, t, name)
					mu.Lock()
					defer mu.Unlock()
					cases = append(cases, got...)
				})
			})
		}
	})
	if len(cases) < 40 {
		t.Errorf("only %d streams", len(cases))
	}
	t.Run("judge", func(t *testing.T) { judgeChatKit(t, cases) })
}

// translate makes ChatKit's requests of the transcript's. It returns false if one of
// them is no request for a turn, or has fields that ChatKit's has not.
func translate(tr wholetest.Transcript, t *testing.T) bool {
	t.Helper()
	var all []string
	for _, req := range tr.Requests(t) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]any{}
		if req.Method == http.MethodGet {
			for name, values := range req.URL.Query() {
				asked[name] = values[0]
			}
		} else if json.Unmarshal(body, &asked) != nil || req.Header.Get("Content-Type") != "application/json" {
			return false
		}
		if _, ok := asked["input"].(string); !ok || req.URL.Path != "/chat/stream" {
			return false
		}
		if asked["agent"] != nil || asked["channel"] != nil || asked["history"] != nil && tr.Has("sluice.yaml") {
			return false // ChatKit has no word for it
		}
		head := "POST /chatkit\nContent-Type: application/json\n"
		for _, name := range []string{"Origin", "Sec-Fetch-Site", "Idempotency-Key", "Last-Event-ID"} {
			if v := req.Header.Get(name); v != "" {
				head += name + ": " + v + "\n"
			}
		}
		if v, ok := asked["idempotency_key"].(string); ok {
			head += "Idempotency-Key: " + v + "\n"
		}
		all = append(all, head+"\n"+chatKitBody(asked))
	}
	tr.Set("request", strings.Join(all, "\n---\n"))
	return true
}

// chatKitBody translates a chat request.
func chatKitBody(asked map[string]any) string {
	params := map[string]any{"input": map[string]any{
		"content":     []any{map[string]any{"type": "input_text", "text": asked["input"]}},
		"attachments": []any{}, "inference_options": map[string]any{},
	}}
	kind := "threads.create"
	if id := asked["conversation_id"]; id != nil {
		kind, params["thread_id"] = "threads.add_user_message", id
	}
	body, _ := json.Marshal(map[string]any{"type": kind, "params": params,
		"metadata": map[string]any{"user_id": asked["user_id"], "timezone": asked["timezone"]}})
	return string(body)
}

// playChatKit plays a translated transcript and returns its streams.
func playChatKit(tr wholetest.Transcript, t *testing.T, name string) (cases []chatKitCase) {
	t.Helper()
	sim := tr.Gemini(t)
	var log bytes.Buffer
	replies := tr.Play(t, sim, &log)
	tr.JudgeGemini(t, sim)
	last := replies[len(replies)-1]
	want := wantedChatKit(t, tr.Get("want.sse"))
	if last.Status != want.status {
		t.Fatalf("status %d, want %d: %s", last.Status, want.status, last.Body)
	}
	for i, r := range replies {
		if r.Status != http.StatusOK {
			continue
		}
		c := chatKitCase{Name: fmt.Sprintf("%s %d", name, i+1), Kind: "stream", Body: r.Body}
		if c.text = saidBy(t, r.Body); i == len(replies)-1 {
			if c.text != want.text || failedWith(r.Body) != want.failure {
				t.Errorf("the text is %q and the failure %q, want %q and %q:\n%s", c.text, failedWith(r.Body), want.text, want.failure, r.Body)
			}
		}
		cases = append(cases, c)
	}
	if beats, want := strings.Count(last.Body, `data: {"type":"stream_options"`)-1, strings.Count(tr.Get("want.sse"), "\n: ping\n"); last.Status == http.StatusOK && beats != want {
		t.Errorf("%d heartbeats, want %d", beats, want)
	}
	return cases
}

// wanted is what a transcript's last reply comes to in ChatKit.
type wanted struct {
	status  int
	text    string
	failure string // "retry" or "no retry"; empty: no fatal error
}

func wantedChatKit(t *testing.T, reply string) (w wanted) {
	t.Helper()
	if n, _ := fmt.Sscanf(reply, "HTTP/1.1 %d", &w.status); n == 1 {
		return w
	}
	w.status = http.StatusOK
	done := reply[strings.LastIndex(reply, "\ndata: ")+len("\ndata: "):]
	var data struct {
		FinalOutput string `json:"final_output"`
	}
	if err := json.Unmarshal([]byte(done), &data); err != nil {
		t.Fatal(err)
	}
	w.text = data.FinalOutput
	if m := fatalError.FindStringSubmatch(reply); m != nil {
		w.failure = map[string]string{"true": "retry", "false": "no retry"}[m[1]]
	}
	return w
}

var (
	fatalError = regexp.MustCompile(`"recoverable":(true|false),"fatal":true`)
	chatKitEnd = regexp.MustCompile(`"type":"error","code":"custom","message":".+","allow_retry":(true|false)}\n\n$`)
)

func failedWith(body string) string {
	m := chatKitEnd.FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return map[string]string{"true": "retry", "false": "no retry"}[m[1]]
}

// chatKitEvents reads the frames of a stream.
func chatKitEvents(t *testing.T, body string) (events []map[string]any) {
	t.Helper()
	for frame := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var ev map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &ev); err != nil {
			t.Fatalf("%v: %q", err, frame)
		}
		events = append(events, ev)
	}
	return events
}

// saidBy joins the deltas of a stream.
func saidBy(t *testing.T, body string) string {
	t.Helper()
	var b strings.Builder
	for _, ev := range chatKitEvents(t, body) {
		if update, ok := ev["update"].(map[string]any); ok {
			delta, _ := update["delta"].(string)
			b.WriteString(delta)
		}
	}
	return b.String()
}
