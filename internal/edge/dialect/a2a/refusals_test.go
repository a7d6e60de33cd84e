package a2a_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store/memory"
)

// What is not a request of JSON-RPC, or asks for what cannot be, gets the code that the
// specifications have for that, with a reason that programs can read. Nothing is run. namesGo
// matches words of Go's libraries, which give a client nothing that it could change.
var namesGo = regexp.MustCompile(`unmarshal|Go struct|Go value|of type |strconv|json: |protobuf|syntax error`)

func TestA2ARefusals(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		send := func(params string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + params + `}`
		}
		message := func(members string) string { return send(`{"message":{` + members + `}}`) }
		get := func(params string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":` + params + `}`
		}
		list := func(params string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":` + params + `}`
		}
		for _, tt := range []struct {
			name, body string
			code       int
			reason     string
			id         any
		}{
			{"nothing", "", -32700, "PARSE_ERROR", nil},
			{"no JSON", "{", -32700, "PARSE_ERROR", nil},
			{"no UTF-8", "{\"jsonrpc\":\"2.0\xff\"}", -32700, "PARSE_ERROR", nil},
			{"data behind it", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}} x`, -32700, "PARSE_ERROR", nil},
			{"a key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask","params":{}}`, -32700, "PARSE_ERROR", nil},
			{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}]`, -32600, "INVALID_REQUEST", nil},
			{"a string", `"GetTask"`, -32600, "INVALID_REQUEST", nil},
			{"no id", `{"jsonrpc":"2.0","method":"GetTask","params":{}}`, -32600, "INVALID_REQUEST", nil},
			{"an id of another kind", `{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{}}`, -32600, "INVALID_REQUEST", nil},
			{"an id beyond all numbers", `{"jsonrpc":"2.0","id":1e400,"method":"GetTask","params":{"id":"x"}}`, -32600, "INVALID_REQUEST", nil},
			{"another version", `{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{}}`, -32600, "INVALID_REQUEST", 1.0},
			{"no version", `{"id":1,"method":"GetTask","params":{}}`, -32600, "INVALID_REQUEST", 1.0},
			{"no method", `{"jsonrpc":"2.0","id":1,"params":{}}`, -32600, "INVALID_REQUEST", 1.0},
			{"a method of another kind", `{"jsonrpc":"2.0","id":1,"method":7,"params":{}}`, -32600, "INVALID_REQUEST", 1.0},
			{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"SendFax","params":{}}`, -32601, "METHOD_NOT_FOUND", 1.0},
			{"no params", `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`, -32602, "INVALID_PARAMS", 1.0},
			{"params of another kind", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}`, -32602, "INVALID_PARAMS", 1.0},
			{"no message", send(`{}`), -32602, "INVALID_PARAMS", 1.0},
			{"a message of another kind", send(`{"message":7}`), -32602, "INVALID_PARAMS", 1.0},
			{"no id of the message", message(`"role":"ROLE_USER","parts":[{"text":"x"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"a long id of the message", message(`"messageId":"` + strings.Repeat("x", 257) + `","role":"ROLE_USER","parts":[{"text":"x"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"no role", message(`"messageId":"m","parts":[{"text":"x"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"the agent's role", message(`"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"no parts", message(`"messageId":"m","role":"ROLE_USER"`), -32602, "INVALID_PARAMS", 1.0},
			{"empty parts", message(`"messageId":"m","role":"ROLE_USER","parts":[]`), -32602, "INVALID_PARAMS", 1.0},
			{"a part that is null", message(`"messageId":"m","role":"ROLE_USER","parts":[null]`), -32602, "INVALID_PARAMS", 1.0},
			{"blank text", message(`"messageId":"m","role":"ROLE_USER","parts":[{"text":" \n"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"long text", message(`"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 5001) + `"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"a file by URL", message(`"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"url":"http://127.0.0.1/"}]`), -32005, "CONTENT_TYPE_NOT_SUPPORTED", 1.0},
			{"a file", message(`"messageId":"m","role":"ROLE_USER","parts":[{"raw":"AAAA"}]`), -32005, "CONTENT_TYPE_NOT_SUPPORTED", 1.0},
			{"data", message(`"messageId":"m","role":"ROLE_USER","parts":[{"data":{"a":1}}]`), -32005, "CONTENT_TYPE_NOT_SUPPORTED", 1.0},
			{"a context of another form", message(`"messageId":"m","contextId":"../x","role":"ROLE_USER","parts":[{"text":"x"}]`), -32602, "INVALID_PARAMS", 1.0},
			{"a negative length of history", send(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"historyLength":-1}}`), -32602, "INVALID_PARAMS", 1.0},
			{"an unknown task", get(`{"id":"task_00000000000000000000000000"}`), -32001, "TASK_NOT_FOUND", 1.0},
			{"no id of a task", get(`{}`), -32001, "TASK_NOT_FOUND", 1.0},
			{"garbage for a task", get(`{"id":"../../etc\u0000"}`), -32001, "TASK_NOT_FOUND", 1.0},
			{"a huge id of a task", get(`{"id":"` + strings.Repeat("task_", 10_000) + `"}`), -32001, "TASK_NOT_FOUND", 1.0},
			{"an id of another kind for a task", get(`{"id":7}`), -32602, "INVALID_PARAMS", 1.0},
			{"a negative length of a task's history", get(`{"id":"x","historyLength":-1}`), -32602, "INVALID_PARAMS", 1.0},
			{"a list of all contexts", list(`{}`), -32602, "INVALID_PARAMS", 1.0},
			{"a list of no context", list(`{"contextId":"x"}`), -32602, "INVALID_PARAMS", 1.0},
			{"a long page", list(`{"contextId":"conv_a","pageSize":101}`), -32602, "INVALID_PARAMS", 1.0},
			{"a negative page", list(`{"contextId":"conv_a","pageSize":-1.0}`), -32602, "INVALID_PARAMS", 1.0},
			{"no token of a page", list(`{"contextId":"conv_a","pageToken":"garbage"}`), -32602, "INVALID_PARAMS", 1.0},
			{"no state", list(`{"contextId":"conv_a","status":"bogus"}`), -32602, "INVALID_PARAMS", 1.0},
			{"a subscription to nothing", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"x"}}`, -32001, "TASK_NOT_FOUND", 1.0},
			{"a stream of nothing", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}`, -32602, "INVALID_PARAMS", 1.0},
		} {
			resp := a.send(t, t.Context(), http.MethodPost, "/a2a", tt.body, "Content-Type", "application/json")
			var reply rpcReply
			if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v, %d %v", tt.name, err, resp.StatusCode, resp.Header)
				continue
			}
			if e := reply.Error; e == nil || e.Code != tt.code || e.Message == "" || len(e.Data) != 1 || e.Data[0]["reason"] != tt.reason || reply.ID != tt.id || reply.Result != nil {
				t.Errorf("%s: %v %+v, want %d %s", tt.name, reply.ID, reply.Error, tt.code, tt.reason)
			} else if namesGo.MatchString(e.Message) {
				t.Errorf("%s: the reply says %q", tt.name, e.Message)
			}
		}
		if len(a.inputs) > 0 {
			t.Errorf("it was run for %q", a.inputs)
		}
	})
}

// What is decided by the head of a request, or by the length of its body, has a status of
// HTTP.
func TestA2ARefusalsOfHTTP(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		for _, tt := range []struct {
			name, method, path, kind, body string
			status                         int
			want                           string
		}{
			{"another type", "POST", "/a2a", "text/plain", `{}`, 415, "-32005"},
			{"another type, REST", "POST", "/a2a/rest/message:send", "text/plain", `{}`, 415, "CONTENT_TYPE_NOT_SUPPORTED"},
			{"a huge body", "POST", "/a2a", "application/json", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "-32600"},
			{"a huge body, REST", "POST", "/a2a/rest/message:send", "application/json", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, `"code":413`},
			{"another method", "GET", "/a2a", "", "", 405, "-32600"},
			{"another method, REST", "PUT", "/a2a/rest/message:send", "", "", 405, `"code":405`},
			{"another path", "GET", "/a2a/rest/nothing", "", "", 404, `"code":404`},
			{"a path that is not clean", "GET", "/a2a/rest//tasks/../x", "", "", 404, `"code":404`},
			{"no JSON", "POST", "/a2a/rest/message:send", "application/json", `{`, 400, "PARSE_ERROR"},
			{"a list", "POST", "/a2a/rest/message:send", "application/json", `[]`, 400, "INVALID_REQUEST"},
			{"nothing", "POST", "/a2a/rest/message:send", "application/json", `{}`, 400, "INVALID_PARAMS"},
			{"a stream of nothing", "POST", "/a2a/rest/message:stream", "application/json", `{}`, 400, "INVALID_PARAMS"},
			{"no task", "GET", "/a2a/rest/tasks/task_00000000000000000000000000", "", "", 404, "TASK_NOT_FOUND"},
			{"no task to cancel", "POST", "/a2a/rest/tasks/x:cancel", "", "", 404, "TASK_NOT_FOUND"},
			{"no task to subscribe to", "GET", "/a2a/rest/tasks/x:subscribe", "", "", 404, "TASK_NOT_FOUND"},
			{"an unknown action", "POST", "/a2a/rest/tasks/x:explode", "", "", 400, "INVALID_REQUEST"},
			{"a page that is no number", "GET", "/a2a/rest/tasks?contextId=conv_a&pageSize=x", "", "", 400, "INVALID_REQUEST"},
			{"a list of all", "GET", "/a2a/rest/tasks", "", "", 400, "INVALID_PARAMS"},
			{"push", "GET", "/a2a/rest/tasks/x/pushNotificationConfigs", "", "", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
			{"push, deleted", "DELETE", "/a2a/rest/tasks/x/pushNotificationConfigs/y", "", "", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
			{"the extended card", "GET", "/a2a/rest/extendedAgentCard", "", "", 400, "UNSUPPORTED_OPERATION"},
			{"the extended card of 0.3", "GET", "/a2a/rest/v1/card", "", "", 400, `"type":"UnsupportedOperationError"`},
			{"no task, 0.3", "GET", "/a2a/rest/v1/tasks/x", "", "", 404, `"type":"TaskNotFoundError"`},
			{"garbage, 0.3", "POST", "/a2a/rest/v1/message:send", "application/json", `{"message":[{"content":7}],"configuration":3}`, 400, `"type":"JSONParseError"`},
		} {
			resp := a.send(t, t.Context(), tt.method, tt.path, tt.body, "Content-Type", tt.kind)
			var text json.RawMessage
			if err := json.NewDecoder(resp.Body).Decode(&text); err != nil || resp.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
				t.Errorf("%s: %v, %d %s, want %d with %s", tt.name, err, resp.StatusCode, text, tt.status, tt.want)
			}
			if namesGo.Match(text) {
				t.Errorf("%s: the reply says %s", tt.name, text)
			}
		}
		if len(a.inputs) > 0 {
			t.Errorf("it was run for %q", a.inputs)
		}
	})
}

// HTTP+JSON has the same operations: a stream whose frames are the events alone, tasks with
// paths of their own.
func TestA2AREST(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		resp := a.send(t, t.Context(), http.MethodPost, "/a2a/rest/message:stream", a2aSaid("message-1", "hello"), "Content-Type", "application/a2a+json")
		var reply []string
		var id string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				ev := new(a2aEvent)
				if err := json.Unmarshal([]byte(data), ev); err != nil {
					t.Errorf("%v: %s", err, data)
				}
				if ev.Task != nil {
					id = ev.Task.ID
				}
				reply = append(reply, ev.String())
			}
		}
		if len(reply) != 6 || reply[0] != "task TASK_STATE_SUBMITTED " || reply[5] != "status TASK_STATE_COMPLETED" {
			t.Errorf("the stream is %q", reply)
		}
		for _, tt := range []struct{ method, path, body, want string }{
			{"GET", "/a2a/rest/tasks/" + id, "", `"id":"` + id + `"`},
			{"GET", "/a2a/rest/v1/tasks/" + id, "", `"id":"` + id + `"`},
			{"POST", "/a2a/rest/message:send", a2aSaid("message-2", "hello"), `{"task":{"id":"task_`},
			{"POST", "/a2a/rest/v1/message:send", `{"message":{"messageId":"message-3","role":"ROLE_USER","content":[{"text":"hello"}]}}`, `{"task":{"id":"task_`},
			{"POST", "/a2a/rest/v1/message:send", `{"request":{"message_id":"message-4","role":"ROLE_USER","content":[{"text":"hello"}]},"configuration":{"blocking":true,"history_length":1}}`, `{"task":{"id":"task_`},
			{"POST", "/a2a/rest/tasks/" + id + ":cancel", "", `TASK_NOT_CANCELABLE`},
			{"POST", "/a2a/rest/tasks/" + id + ":subscribe", "", `UNSUPPORTED_OPERATION`},
		} {
			if _, body := a.ask(t, tt.method, tt.path, tt.body); !strings.Contains(body, tt.want) {
				t.Errorf("%s %s: %s, want %s", tt.method, tt.path, body, tt.want)
			}
		}
	})
}

// Below the path of an agent, that agent answers; and a slash at the end is the same.
func TestA2AAgentsHaveEndpoints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startA2A(t, memory.New(memory.Config{}), a2aTeam)
		body := `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + a2aSaid("message-1", "hello") + `}`
		for i, path := range []string{"/a2a/agents/lamp", "/a2a/agents/lamp/", "/a2a/agents/lamp/rest/message:stream"} {
			text := strings.ReplaceAll(body, "message-1", "message-"+string(rune('a'+i)))
			if strings.Contains(path, "rest") {
				text = a2aSaid("message-z", "hello")
			}
			// Its model is not there: what counts is who was asked.
			if status, reply := a.ask(t, http.MethodPost, path, text, "A2A-Extensions", "urn:sluice:events:v1"); status != http.StatusOK || !strings.Contains(reply, `"agent_id":"lamp"`) || !strings.Contains(reply, `"method":"requested"`) {
				t.Errorf("%s: %d %s", path, status, reply)
			}
		}
		time.Sleep(time.Minute)
	})
}
