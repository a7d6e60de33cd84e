package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// What judges POST /chatkit, over the types of ChatKit's Python package.
const (
	chatKitPython = ".venv/chatkit/bin/python"
	chatKitJudge  = "e2e/peers/testdata/chatkit_judge.py"
)

// runChatKitJudge runs the judge with lines of JSON as its input, and decodes its
// lines.
func runChatKitJudge[In, Out any](t *testing.T, in []In, args ...string) (out []Out) {
	t.Helper()
	var stdin, stderr bytes.Buffer
	enc := json.NewEncoder(&stdin)
	for _, line := range in {
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), installed(t, chatKitPython), append([]string{installed(t, chatKitJudge)}, args...)...)
	cmd.Stdin, cmd.Stderr = &stdin, &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("the judge: %v\n%s", err, &stderr)
	}
	for dec := json.NewDecoder(bytes.NewReader(stdout)); dec.More(); {
		var line Out
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// chatKitRequest is a request as the Python package writes it.
type chatKitRequest struct {
	Type      string
	Supported bool
	Body      string
}

type chatKitReply struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Body  string `json:"body"`
	Retry bool   `json:"retry"`
}

type chatKitVerdict struct {
	Name   string
	Faults []string
	Items  []string
	Text   string // of the messages, in order
	Seen   []string
}

func (g *gateway) chatKit(t *testing.T, body string) (status int, reply string) {
	t.Helper()
	resp, err := g.client.Post(g.base+"/chatkit", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var chatKitMessage = regexp.MustCompile(`"item":\{"id":"(msg_\w+)","thread_id":"(conv_\w+)"`)

// Every request that the package's models write is answered with what its models read,
// or refused with the field that is not supported.
func TestChatKit(t *testing.T) {
	t.Parallel()
	for _, history := range []string{"none", "memory", "store"} {
		t.Run("history "+history, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, with(offline(t).env(), "SLUICE_CHATKIT_HISTORY", history, "SLUICE_STORE", map[string]string{"store": "memory"}[history]))
			_, first := g.chatKit(t, `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"Remind me to buy eggs tomorrow at 3pm"}]}},"metadata":{"user_id":"ann"}}`)
			ids := chatKitMessage.FindStringSubmatch(first)
			if ids == nil {
				t.Fatalf("the first turn is\n%s", first)
			}
			replies := []chatKitReply{{Name: "first", Kind: "stream", Body: first}}
			for i, req := range runChatKitJudge[string, chatKitRequest](t, nil, "requests", ids[2], ids[1]) {
				status, body := g.chatKit(t, req.Body)
				if want := wantedStatus(req, history); status != want {
					t.Errorf("%s: status %d, want %d: %s", req.Body, status, want, body)
				}
				if status == http.StatusOK {
					replies = append(replies, newChatKitReply(i, req, body))
				}
			}
			checkChatKit(t, replies)
		})
	}
}

func wantedStatus(req chatKitRequest, history string) int {
	switch {
	case !req.Supported:
		return http.StatusUnprocessableEntity
	case req.Type == "threads.update" && history == "none":
		return http.StatusNotFound
	}
	return http.StatusOK
}

func newChatKitReply(i int, req chatKitRequest, body string) chatKitReply {
	r := chatKitReply{Name: fmt.Sprint(i, " ", req.Type), Kind: req.Type, Body: body}
	if strings.HasPrefix(body, "data: ") {
		r.Kind, r.Retry = "stream", req.Type == "threads.retry_after_item"
	}
	return r
}

func checkChatKit(t *testing.T, replies []chatKitReply) {
	t.Helper()
	verdicts := runChatKitJudge[chatKitReply, chatKitVerdict](t, replies)
	if len(verdicts) != len(replies) || len(replies) < 10 {
		t.Fatalf("%d verdicts on %d replies", len(verdicts), len(replies))
	}
	for _, v := range verdicts {
		for _, fault := range v.Faults {
			t.Errorf("%s: %s", v.Name, fault)
		}
	}
	if got := strings.Join(verdicts[0].Items, " "); got != "user_message workflow assistant_message" {
		t.Errorf("the items of the first turn are %s", got)
	}
}

// The judge itself sees what a client could not follow.
func TestChatKitJudge(t *testing.T) {
	t.Parallel()
	const (
		user    = `{"type":"thread.item.done","item":{"id":"m1","thread_id":"t","created_at":"2026-01-01T00:00:00Z","type":"user_message","content":[],"attachments":[],"inference_options":{}}}`
		options = `{"type":"stream_options","stream_options":{"allow_cancel":true}}`
		added   = `{"type":"thread.item.added","item":{"id":"m2","thread_id":"t","created_at":"2026-01-01T00:00:00Z","type":"assistant_message","content":[]}}`
		part    = `{"type":"thread.item.updated","item_id":"m2","update":{"type":"assistant_message.content_part.added","content_index":0,"content":{"annotations":[],"text":"","type":"output_text"}}}`
		delta   = `{"type":"thread.item.updated","item_id":"m2","update":{"type":"assistant_message.content_part.text_delta","content_index":0,"delta":"a"}}`
		closed  = `{"type":"thread.item.updated","item_id":"m2","update":{"type":"assistant_message.content_part.done","content_index":0,"content":{"annotations":[],"text":"a","type":"output_text"}}}`
		done    = `{"type":"thread.item.done","item":{"id":"m2","thread_id":"t","created_at":"2026-01-01T00:00:00Z","type":"assistant_message","content":[{"annotations":[],"text":"a","type":"output_text"}]}}`
		removed = `{"type":"thread.item.removed","item_id":"m2"}`
		failure = `{"type":"error","code":"custom","message":"m","allow_retry":false}`
	)
	stream := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	whole := []string{user, options, added, part, delta, closed, done}
	tests := []struct{ name, body, fault string }{
		{"whole", stream(whole...), ""},
		{"comment", ": ping\n\n" + stream(whole...), "no frame"},
		{"cut frame", strings.TrimSuffix(stream(whole...), "\n"), "not complete"},
		{"unknown field", stream(user, strings.Replace(options, `true`, `true,"x":1`, 1)), "/stream_options/x is not known"},
		{"unknown event", stream(user, `{"type":"thread.item.new"}`), "not of its type"},
		{"no options", stream(user, added), "before stream_options"},
		{"left open", stream(whole[:5]...), "left open"},
		{"part not done", stream(user, options, added, part, delta, done), "not done"},
		{"delta after the part", stream(user, options, added, part, delta, closed, delta), "after its end"},
		{"another text at the end", stream(user, options, added, part, delta, closed, strings.Replace(done, `"a"`, `"b"`, 1)), "is another"},
		{"removed", stream(append(whole[:5:5], removed)...), ""},
		{"removed when done", stream(append(whole, removed)...), ""},
		{"removed twice", stream(append(whole, removed, removed)...), "removed, but not there"},
		{"touched after it was removed", stream(append(whole[:5:5], removed, delta)...), "not open"},
		{"the user's message removed", stream(append(whole, strings.Replace(removed, "m2", "m1", 1))...), "removed, but not there"},
		{"touched after its end", stream(append(whole, delta)...), "not open"},
		{"same id again", stream(append(whole, added)...), "used twice"},
		{"error while an item is open", stream(user, options, added, failure), "an item is open"},
		{"event after the error", stream(user, options, failure, options), "after the error"},
	}
	var replies []chatKitReply
	for _, tt := range tests {
		replies = append(replies, chatKitReply{Name: tt.name, Kind: "stream", Body: tt.body})
	}
	for i, v := range runChatKitJudge[chatKitReply, chatKitVerdict](t, replies) {
		if got := strings.Join(v.Faults, "; "); !strings.Contains(got, tests[i].fault) || (tests[i].fault == "") != (got == "") {
			t.Errorf("%s: the verdict is %q, want %q", tests[i].name, got, tests[i].fault)
		}
	}
}

// The example's own script, with a stand-in for the component, which comes from OpenAI
// only.
func TestChatKitPage(t *testing.T) {
	t.Parallel()
	g := startGateway(t, map[string]string{"SLUICE_CHATKIT_HISTORY": "memory"})
	out, err := exec.CommandContext(t.Context(), node(t), installed(t, "e2e/peers/testdata/chatkit_page.mjs"), g.base).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var seen struct {
		Options struct {
			API     struct{ URL, DomainKey string }
			History struct{ Enabled bool }
		}
		Turn, Stopped string
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if o := seen.Options; o.API.URL != g.base+"/chatkit" || o.API.DomainKey == "" || !o.History.Enabled || seen.Stopped != "AbortError" {
		t.Errorf("the page says %+v, and a turn was stopped by %s", o, seen.Stopped)
	}
	if v := runChatKitJudge[chatKitReply, chatKitVerdict](t, []chatKitReply{{Kind: "stream", Body: seen.Turn}}); len(v[0].Faults) > 0 || len(v[0].Items) != 3 {
		t.Errorf("the turn is faulty: %+v\n%s", v[0], seen.Turn)
	}
	// The page sends a user of its own and the browser's time zone; the id is in the log.
	g.awaitLog(t, "request_completed", "finish_reason", "cancelled")
	if log := g.out.String(); !strings.Contains(log, `"user_id":"web-`) {
		t.Errorf("no user_id in the log:\n%s", log)
	}
}
