package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store/memory"
)

// keepsAll is a gateway that keeps all there is to keep, and asks who sends a request.
func keepsAll(t *testing.T) *gateway.Gateway {
	t.Helper()
	file := wholetest.Configured
	cfg, read := file(t, `
agents: {a: {description: answers}}
a2a: {enabled: true}
memory: {enabled: true}
workflows: {flow: {nodes: {ask: {type: human, prompt: Go on?}, last: {type: agent, agent: a}}, edges: [{from: ask, to: last}]}}
`, map[string]string{"SLUICE_CONFIRM": "writes"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard),
		gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// belongings are what one user has at a gateway, by the ways to name them.
type belongings struct {
	task, turn, waits, waitsTurn, token, response, thread, chat, event string
}

// member returns a member of a text of JSON objects, the first one of that name.
func member(text, name string) string {
	m := regexp.MustCompile(`"` + name + `":"((?:[^"\\]|\\.)*)"`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	var value string
	_ = json.Unmarshal([]byte(`"`+m[1]+`"`), &value)
	return value
}

// settle has a user do all that leaves something behind.
func settle(t *testing.T, g http.Handler, who string) (b belongings) {
	t.Helper()
	turn := askWith(g, "POST", "/chat/stream", who, `{"input":"hello","conversation_id":"conv_shared","accumulated":false}`, "Idempotency-Key: shared-key").body
	b.task, b.turn = member(turn, "task_id"), member(turn, "turn_id")
	b.event = regexp.MustCompile(`(?m)^id: (\S+)$`).FindAllStringSubmatch(turn, -1)[1][1]
	run := askWith(g, "POST", "/chat/stream", who, `{"input":"go","workflow":"flow","conversation_id":"conv_run"}`).body
	b.waits, b.waitsTurn, b.token = member(run, "task_id"), member(run, "turn_id"), member(run, "token")
	b.response = member(askWith(g, "POST", "/v1/responses", who, `{"model":"sluice","input":"hello"}`).body, "id")
	b.thread = member(askWith(g, "POST", "/chatkit", who, `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"hi"}],"attachments":[],"inference_options":{}}}}`).body, "id")
	b.chat = "chat_of_all"
	_ = askWith(g, "POST", "/api/chat", who, `{"id":"chat_of_all","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`)
	for name, id := range map[string]string{"task": b.task, "turn": b.turn, "run": b.waits, "token": b.token, "response": b.response, "thread": b.thread} {
		if id == "" {
			t.Fatalf("%s has no %s: %s\n%s", who, name, turn, run)
		}
	}
	return b
}

// way is one way to ask for something by its name.
type way struct{ method, path, body, header string }

// ways lists how what belongs to somebody could be asked for by others.
func (b belongings) ways() []way {
	all := []way{
		{"GET", "/tasks/" + b.task, "", ""}, {"GET", "/tasks/" + b.task + "/trace", "", ""}, {"GET", "/tasks/" + b.task + "/events", "", ""},
		{"GET", "/tasks/" + b.task + "/events", "", "Last-Event-ID: " + b.event}, {"GET", "/tasks/" + b.waits + "/checkpoints", "", ""},
		{"GET", "/tasks/" + b.waits + "/checkpoints/0", "", ""}, {"GET", "/tasks/" + b.waits + "/sessions/x", "", ""},
		{"POST", "/tasks/" + b.task + "/cancel", "", ""}, {"POST", "/tasks/" + b.waits + "/cancel", "", ""},
		{"POST", "/tasks/" + b.waits + "/decision", `{"action":"approve"}`, ""},
		{"GET", "/v1/responses/" + b.response, "", ""}, {"DELETE", "/v1/responses/" + b.response, "", ""}, {"POST", "/v1/responses/" + b.response + "/cancel", "", ""},
		{"POST", "/v1/responses", `{"model":"sluice","input":"more","previous_response_id":"` + b.response + `"}`, ""},
		{"POST", "/chat/stream", `{"input":"more","task_id":"` + b.task + `"}`, ""},
		{"POST", "/chatkit", `{"type":"threads.get_by_id","params":{"thread_id":"` + b.thread + `"}}`, ""},
		{"POST", "/chatkit", `{"type":"threads.delete","params":{"thread_id":"` + b.thread + `"}}`, ""},
		{"POST", "/chatkit", `{"type":"items.list","params":{"thread_id":"` + b.thread + `"}}`, ""},
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + b.task + `"}}`, "A2A-Version: 1.0"},
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"` + b.waits + `"}}`, "A2A-Version: 1.0"},
		{"GET", "/a2a/rest/v1/tasks/" + b.task, "", ""},
	}
	return all
}

// unlike is what differs between two replies to the same question.
var unlike = regexp.MustCompile(`req_[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z`)

// plain returns a reply without its request's id and the name that was asked for.
func plain(got asked, names ...string) string {
	text := got.body
	for _, name := range names {
		text = strings.ReplaceAll(text, name, "X")
	}
	return fmt.Sprint(got.code, unlike.ReplaceAllString(text, "R"))
}

// Of what belongs to somebody nobody else learns anything, by whichever name they ask for it: the reply
// is the one for what does not exist. Users may be called what they like.
func TestNothingCrosses(t *testing.T) {
	t.Parallel()
	g := keepsAll(t)
	people := []string{"t/ann", "t/bob", "u/ann", "u/a:b", "t/" + strings.Repeat("🙂", 256), "u/../t", "/ann"}
	has := map[string]belongings{}
	for _, who := range people {
		has[who] = settle(t, g, who)
	}
	const none = "00000000000000000000000000"
	nobody := belongings{task: "task_" + none, turn: "turn_" + none, waits: "task_" + none, response: "resp_" + none, thread: "conv_none", event: "turn_" + none + ":1"}
	for _, owner := range people {
		for _, who := range people {
			if who == owner {
				continue
			}
			mine, ghost := has[owner].ways(), nobody.ways()
			for i, w := range mine {
				got := askWith(g, w.method, w.path, who, w.body, headers(w.header)...)
				want := askWith(g, w.method, ghost[i].path, who, ghost[i].body, headers(ghost[i].header)...)
				if a, b := plain(got, has[owner].names()...), plain(want, nobody.names()...); a != b {
					t.Errorf("%.20s asks %s %s of %.20s:\n%s\nand of what does not exist\n%s", who, w.method, w.path, owner, a, b)
				}
			}
			if got := askWith(g, "POST", "/chat/stream", who, `{"approval":{"token":"`+has[owner].token+`","action":"approve"}}`); got.code != http.StatusForbidden {
				t.Errorf("%.20s uses the token of %.20s: %d %s", who, owner, got.code, got.body)
			}
		}
	}
	for _, who := range people {
		ownsAll(t, g, who, has)
	}
}

func headers(h string) []string {
	if h == "" {
		return nil
	}
	return []string{h}
}

// names are the ids of what somebody has.
func (b belongings) names() []string {
	return slices.DeleteFunc([]string{b.task, b.waits, b.response, b.thread, b.turn}, func(s string) bool { return s == "" })
}

// ownsAll says that a user still finds all that is theirs, and in lists nothing else.
func ownsAll(t *testing.T, g http.Handler, who string, has map[string]belongings) {
	t.Helper()
	for _, w := range []way{{"GET", "/tasks/" + has[who].task, "", ""}, {"GET", "/tasks/" + has[who].waits + "/checkpoints", "", ""}, {"GET", "/v1/responses/" + has[who].response, "", ""}} {
		if got := askWith(g, w.method, w.path, who, w.body); got.code != http.StatusOK {
			t.Errorf("%.20s does not find %s: %d %s", who, w.path, got.code, got.body)
		}
	}
	lists := ask(g, "GET", "/tasks", who).body + ask(g, "GET", "/tasks?conversation_id=conv_shared", who).body + ask(g, "GET", "/approvals", who).body +
		askWith(g, "POST", "/chatkit", who, `{"type":"threads.list","params":{}}`).body +
		askWith(g, "POST", "/a2a", who, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version: 1.0").body
	for other, b := range has {
		for _, name := range []string{b.task, b.waits, b.thread} {
			if found := strings.Contains(lists, name); found != (other == who) {
				t.Errorf("lists of %.20s have %s of %.20s: %v", who, name, other, found)
			}
		}
	}
	// The key that all used is each one's own.
	if got := askWith(g, "POST", "/chat/stream", who, `{"input":"hello","conversation_id":"conv_shared","accumulated":false}`, "Idempotency-Key: shared-key"); member(got.body, "turn_id") != has[who].turn {
		t.Errorf("%.20s gets another turn for their key: %s", who, got.body)
	}
	// So is the conversation: to forget it forgets nobody else's.
	if got := ask(g, "DELETE", "/conversations/conv_run", who); got.code != http.StatusNoContent {
		t.Errorf("%.20s forgets a conversation: %d %s", who, got.code, got.body)
	}
}
