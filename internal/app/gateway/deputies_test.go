package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// namedWay is a way to ask for something of somebody, with a place for the name of a user.
type namedWay struct {
	method, path string
	query        bool   // the name stands in the query
	body         string // a JSON object in which NAME stands for the member; empty: none
	header       string
	// changes is true if the request alters what it finds, so that it is sent to the things of others alone.
	changes bool
	// unnamed is true if nothing is found on this way, whatever the request names.
	unnamed bool
}

// namedWays lists the ways on which a backend can name a user, to what somebody has.
func (b belongings) namedWays() []namedWay {
	event := "Last-Event-ID: " + b.event
	return []namedWay{
		{"GET", "/tasks/" + b.task, true, "", "", false, false},
		{"HEAD", "/tasks/" + b.task, true, "", "", false, false},
		{"GET", "/tasks/" + b.task + "/events", true, "", "", false, false},
		{"GET", "/tasks/" + b.task + "/events", true, "", event, false, false},
		{"GET", "/tasks/" + b.task + "/trace", true, "", "", false, false},
		{"GET", "/tasks/" + b.waits + "/checkpoints", true, "", "", false, false},
		{"GET", "/tasks/" + b.waits + "/checkpoints/0", true, "", "", false, false},
		{"POST", "/tasks/" + b.waits + "/cancel", true, "", "", true, false},
		{"POST", "/tasks/" + b.waits + "/decision", false, `{"action":"reject"NAME}`, "", true, false},
		{"POST", "/tasks/" + b.waits + "/decision", false, `{"action":"reject"NAME}`, event, false, false},
		{"GET", "/chat/stream?input=x", true, "", event, false, false},
		{"GET", "/chat/stream", true, "", event, false, false},
		{"POST", "/chat/stream", false, `{"input":"x"NAME}`, event, false, false},
		{"POST", "/chat/stream", false, `{"accumulated":false NAME}`, event, false, false}, // no request for a turn
		{"POST", "/agui", false, `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}],"forwardedProps":{"timezone":"UTC"NAME}}`, event, false, true},
		{"POST", "/agui/a", false, `{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"timezone":"UTC"NAME}}`, event, false, true},
		{"POST", "/api/chat", false, `{"id":"c","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]NAME}`, event, false, true},
		{"POST", "/chat/stream", false, `{"input":"more","task_id":"` + b.waits + `"NAME}`, "", true, false},
		{"POST", "/chat/stream", false, `{"approval":{"token":"` + b.token + `","action":"reject"}NAME}`, "", true, false},
		{"GET", "/v1/responses/" + b.response, true, "", "", false, false},
		{"POST", "/v1/responses/" + b.response + "/cancel", true, "", "", true, false},
		{"DELETE", "/v1/responses/" + b.response, true, "", "", true, false},
		{"POST", "/v1/responses", false, `{"model":"sluice","input":"more","previous_response_id":"` + b.response + `"USER}`, "", false, false},
		{"POST", "/chatkit", false, `{"type":"threads.get_by_id","params":{"thread_id":"` + b.thread + `"},"metadata":{"timezone":"UTC"NAME}}`, "", false, false},
		{"POST", "/chatkit", false, `{"type":"items.list","params":{"thread_id":"` + b.thread + `"},"metadata":{"timezone":"UTC"NAME}}`, "", false, false},
		{"POST", "/chatkit", false, `{"type":"threads.delete","params":{"thread_id":"` + b.thread + `"},"metadata":{"timezone":"UTC"NAME}}`, "", true, false},
	}
}

// as returns the way with the name of a user in it; an empty name is left out.
func (w namedWay) as(name string) namedWay {
	member, user := "", ""
	if name != "" {
		quoted, _ := json.Marshal(name)
		member, user = `,"user_id":`+string(quoted), `,"user":`+string(quoted)
		if w.query {
			w.path += map[bool]string{true: "&", false: "?"}[strings.Contains(w.path, "?")] + "user_id=" + name
		}
	}
	w.body = strings.NewReplacer("NAME", member, "USER", user).Replace(w.body)
	return w
}

var madeIDs = regexp.MustCompile(`(task|turn|resp|msg|conv|chatcmpl)[_-][0-9a-zA-Z-]{16,}|"(\w*ms|created_at|created|completed_at|t)":[\d.]+`)

// A backend that may act for others finds what belongs to the user whom its request names, and to no
// other one; without a name its own. No way to what has an id differs in that from GET /tasks/{id}:
// anything else is as if it did not exist.
func TestDeputiesFindWhatTheyName(t *testing.T) {
	t.Parallel()
	g := keepsAll(t)
	const none = "00000000000000000000000000"
	ghost := belongings{task: "task_" + none, turn: "turn_" + none, waits: "task_" + none, response: "resp_" + none, thread: "conv_none", event: "turn_" + none + ":1", token: "slap1." + strings.Repeat("A", 43)}
	owners := []string{"ann", "bob", "svc"}
	has := map[string]belongings{}
	for _, who := range owners {
		has[who] = settle(t, g, "t/"+who)
	}
	send := func(w namedWay) asked {
		return askWith(g, w.method, w.path, "t/svc", w.body, append(headers(w.header), "X-Scopes: chat act_as")...)
	}
	read := func(got asked, b belongings) string {
		return madeIDs.ReplaceAllString(plain(got, append(b.names(), b.event, b.token)...), "M")
	}
	for _, named := range []string{"", "svc", "ann", "bob"} {
		for _, owner := range owners {
			theirs := owner == named || owner == "svc" && named == ""
			for i, w := range has[owner].namedWays() {
				if theirs && w.changes {
					continue
				}
				mine := theirs && !w.unnamed
				w, missing := w.as(named), ghost.namedWays()[i].as(named)
				got, want := send(w), send(missing)
				if found := read(got, has[owner]) != read(want, ghost); found != mine {
					t.Errorf("named %q, of %s: %s %s %s %s\nfound: %v, as GET /tasks/{id} would: %v\n%d %.200s\nwhat does not exist: %d %.200s",
						named, owner, w.method, w.path, w.body, w.header, found, mine, got.code, got.body, want.code, want.body)
				}
			}
		}
	}
	for _, who := range owners {
		has["t/"+who] = has[who]
		delete(has, who)
	}
	for who := range has {
		ownsAll(t, g, who, has)
	}
}

// A credential that acts for nobody else may repeat its own name wherever a name can stand. Another
// one is refused everywhere, also where the request resumes a turn and runs nothing.
func TestNamesOfOthersAreRefusedOnEveryWay(t *testing.T) {
	t.Parallel()
	g := keepsAll(t)
	b := settle(t, g, "t/ann")
	for _, w := range b.namedWays() {
		if w.unnamed || strings.Contains(w.path, "/v1/") { // a name is a label of the client's
			continue
		}
		w := w.as("bob")
		if got := askWith(g, w.method, w.path, "t/ann", w.body, headers(w.header)...); got.code != http.StatusForbidden {
			t.Errorf("%s %s %s %s: %d %.200s", w.method, w.path, w.body, w.header, got.code, got.body)
		}
	}
	for _, w := range b.namedWays() {
		if w.changes || w.unnamed || strings.Contains(w.path, "checkpoints") || w.header != "" && strings.Contains(w.path, "/decision") {
			continue
		}
		w := w.as("ann")
		if got := askWith(g, w.method, w.path, "t/ann", w.body, headers(w.header)...); got.code != http.StatusOK {
			t.Errorf("%s %s %s %s: %d %.200s", w.method, w.path, w.body, w.header, got.code, got.body)
		}
	}
}

// A ticket is its turn's: who has it, and which user its request named, decides what it resumes.
func TestTicketsResumeForTheUserTheyName(t *testing.T) {
	t.Parallel()
	g := keepsAll(t)
	b := settle(t, g, "t/ann")
	for _, named := range []string{"", "svc", "bob"} {
		body := `{"input":"hi"}`
		if named != "" {
			body = fmt.Sprintf(`{"input":"hi","user_id":%q}`, named)
		}
		issued := askWith(g, "POST", "/chat/tickets", "t/svc", body, "X-Scopes: chat act_as")
		url := member(issued.body, "url")
		if got := askWith(g, "GET", url, "", "", "Last-Event-ID: "+b.event); got.code != http.StatusUnauthorized {
			t.Errorf("named %q: %d %.200s", named, got.code, got.body)
		}
		first := askWith(g, "GET", url, "", "")
		event := regexp.MustCompile(`(?m)^id: (\S+)$`).FindStringSubmatch(first.body)
		if event == nil {
			t.Fatalf("named %q: %d %s", named, first.code, first.body)
		}
		if got := askWith(g, "GET", url, "", "", "Last-Event-ID: "+event[1]); got.code != http.StatusOK {
			t.Errorf("named %q, its own turn: %d %.200s", named, got.code, got.body)
		}
	}
}
