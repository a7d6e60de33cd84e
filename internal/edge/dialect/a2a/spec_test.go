package a2a_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the specification of A2A 1.0 says about its bindings is checked here on the bytes,
// without types of a library: a2a-go's transports word much of it.

// object is a JSON object as it was sent.
type object = map[string]any

// has returns which of these members an object has.
func has(o object, names ...string) (found []string) {
	for _, name := range names {
		if _, ok := o[name]; ok {
			found = append(found, name)
		}
	}
	return found
}

var (
	camelCase = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	utcMillis = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
)

// wantConventions checks what 5.5 to 5.7 demand of all that is sent: names in camelCase, enums
// by their names, times in UTC; members that are required are there, and lists that
// are have an entry; null is nowhere.
func wantConventions(t *testing.T, where string, value any) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			wantConventions(t, where, one)
		}
	case object:
		for name, one := range v {
			if !camelCase.MatchString(name) && name != "@type" && !strings.Contains(where, "metadata") {
				t.Errorf("%s: the name %q", where, name)
			}
			wantConventions(t, where+"/"+name, one)
		}
		switch {
		case strings.HasSuffix(where, "/task"), strings.HasSuffix(where, "/tasks"):
			if len(has(v, "id", "contextId", "status")) != 3 {
				t.Errorf("%s: %v", where, v)
			}
		case strings.HasSuffix(where, "/artifact"), strings.HasSuffix(where, "/artifacts"):
			if parts, _ := v["parts"].([]any); v["artifactId"] == nil || len(parts) == 0 {
				t.Errorf("%s: %v", where, v)
			}
		case strings.HasSuffix(where, "/history"), strings.HasSuffix(where, "/message"):
			if parts, _ := v["parts"].([]any); v["messageId"] == nil || v["role"] == nil || len(parts) == 0 {
				t.Errorf("%s: %v", where, v)
			}
		}
	case nil:
		t.Errorf("%s is null", where)
	case string:
		switch {
		case strings.HasSuffix(where, "/timestamp") && !utcMillis.MatchString(v),
			strings.HasSuffix(where, "/state") && !strings.HasPrefix(v, "TASK_STATE_"),
			strings.HasSuffix(where, "/role") && !strings.HasPrefix(v, "ROLE_"):
			t.Errorf("%s is %q", where, v)
		}
	}
}

// jsonOf reads a reply, which must be JSON.
func jsonOf(t *testing.T, resp *http.Response) (o object) {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if kind := resp.Header.Get("Content-Type"); err != nil || kind != "application/json" || json.Unmarshal(text, &o) != nil {
		t.Errorf("%v, %q: %s", err, kind, text)
	}
	return o
}

// framesOf reads a stream: lines of data, an empty one behind each, and comments alone.
func framesOf(t *testing.T, resp *http.Response) (frames []object) {
	t.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("a stream begins with %d %v", resp.StatusCode, resp.Header)
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		line := lines.Text()
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			if line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "id: ") {
				t.Errorf("a line of a stream: %q", line)
			}
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(data), &o); err != nil {
			t.Errorf("%v: %s", err, data)
		}
		frames = append(frames, o)
	}
	return frames
}

// eventNames are the members of which an event of a stream has exactly one.
var eventNames = []string{"task", "message", "statusUpdate", "artifactUpdate"}

// JSON-RPC (9.1, 9.3 to 9.5): each method by its name, one object in and one out, with the id
// of the request, whatever its type; a stream of such objects. Members that are not known are
// ignored. An error is a number, a text, and details.
func TestA2AMethodsOfJSONRPC(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		var id any
		ask := func(method, params string) *http.Response {
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s,"later":1}`, map[bool]string{true: `"x-1"`, false: "17"}[method == "GetTask"], method, params)
			id = map[bool]any{true: "x-1", false: 17.0}[method == "GetTask"]
			return a.send(t, t.Context(), http.MethodPost, "/a2a", request, "A2A-Version", "1.0")
		}
		result := func(method, params string) any {
			resp := ask(method, params)
			o := jsonOf(t, resp)
			if resp.StatusCode != http.StatusOK || o["jsonrpc"] != "2.0" || o["id"] != id || len(has(o, "result", "error")) != 1 || o["result"] == nil || len(o) != 3 {
				t.Errorf("%s: %d %v", method, resp.StatusCode, o)
			}
			wantConventions(t, "/"+method, o["result"])
			return o["result"]
		}
		sent, _ := result("SendMessage", a2aSaid("m1", "hello", `,"later":{}`)).(object)
		if names := has(sent, "task", "message"); !slices.Equal(names, []string{"task"}) || len(sent) != 1 {
			t.Fatalf("SendMessage: %v", sent)
		}
		task := sent["task"].(object)
		if got, _ := result("GetTask", fmt.Sprintf(`{"id":%q}`, task["id"])).(object); got["id"] != task["id"] || got["status"] == nil {
			t.Errorf("GetTask: %v", got)
		}
		if list, _ := result("ListTasks", fmt.Sprintf(`{"contextId":%q,"status":"TASK_STATE_COMPLETED"}`, task["contextId"])).(object); len(has(list, "tasks", "nextPageToken", "pageSize", "totalSize")) != 4 || list["nextPageToken"] != "" {
			t.Errorf("ListTasks: %v", list)
		}
		begun, _ := result("SendMessage", strings.TrimSuffix(a2aSaid("m2", "slow"), "}")+`,"configuration":{"returnImmediately":true}}`).(object)
		name := fmt.Sprintf(`{"id":%q}`, begun["task"].(object)["id"])
		streams := map[string][]object{"SubscribeToTask": nil}
		subscribed := ask("SubscribeToTask", name)
		if got, _ := result("CancelTask", name).(object); got["id"] != begun["task"].(object)["id"] || got["status"].(object)["state"] != "TASK_STATE_CANCELED" {
			t.Errorf("CancelTask: %v", got)
		}
		streams["SubscribeToTask"] = framesOf(t, subscribed)
		streams["SendStreamingMessage"] = framesOf(t, ask("SendStreamingMessage", a2aSaid("m3", "hello")))
		for method, frames := range streams {
			for i, o := range frames {
				ev, _ := o["result"].(object)
				if names := has(ev, eventNames...); o["jsonrpc"] != "2.0" || o["id"] != 17.0 || len(o) != 3 || len(names) != 1 || (i == 0) != (names[0] == "task") {
					t.Errorf("%s, frame %d: %v", method, i, o)
				}
				wantConventions(t, "/"+method, o["result"])
			}
			if len(frames) < 2 {
				t.Errorf("%s: %v", method, frames)
			}
		}
		for method, want := range map[string]float64{
			"SetTaskPushNotificationConfig": -32601, "CreateTaskPushNotificationConfig": -32003, "GetExtendedAgentCard": -32004, "GetTask": -32001, "CancelTask": -32001, "SubscribeToTask": -32001, "None": -32601,
		} {
			o := jsonOf(t, ask(method, `{"id":"x","taskId":"x","url":"http://127.0.0.1/"}`))
			e, _ := o["error"].(object)
			if o["jsonrpc"] != "2.0" || o["id"] != id || len(o) != 3 || e["code"] != want || e["message"] == "" || len(has(e, "code", "message", "data")) != len(e) {
				t.Errorf("%s: %v", method, o)
			}
		}
	})
}

// HTTP+JSON (11.1, 11.3 to 11.7): each operation by its method and path, parameters in the query
// by names in camelCase; the object itself in and out; a stream of events alone.
func TestA2APathsOfHTTP(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		ask := func(method, path, body string) *http.Response {
			return a.send(t, t.Context(), method, "/a2a/rest"+path, body, "A2A-Version", "1.0")
		}
		reply := func(method, path, body string) object {
			resp := ask(method, path, body)
			o := jsonOf(t, resp)
			if resp.StatusCode != http.StatusOK || o["jsonrpc"] != nil || o["error"] != nil {
				t.Errorf("%s %s: %d %v", method, path, resp.StatusCode, o)
			}
			wantConventions(t, path, o)
			return o
		}
		var ids []string
		for i := range 3 {
			sent := reply("POST", "/message:send", a2aSaid(fmt.Sprint("m", i), "hello", `,"contextId":"conv_a"`))
			ids = append([]string{sent["task"].(object)["id"].(string)}, ids...)
			time.Sleep(time.Second)
		}
		for query, want := range map[string]int{"": 2, "?historyLength=1": 1, "?historyLength=0": 0} {
			got := reply("GET", "/tasks/"+ids[0]+query, "")
			if history, _ := got["history"].([]any); got["id"] != ids[0] || len(history) != want {
				t.Errorf("a task%s: %v", query, got)
			}
		}
		page := reply("GET", "/tasks?contextId=conv_a&pageSize=2&includeArtifacts=true&status=TASK_STATE_COMPLETED&historyLength=0", "")
		tasks, _ := page["tasks"].([]any)
		token, _ := page["nextPageToken"].(string)
		if len(tasks) != 2 || token == "" || len(has(tasks[0].(object), "artifacts", "history")) != 1 {
			t.Fatalf("a page: %v", page)
		}
		rest := reply("GET", "/tasks?contextId=conv_a&pageToken="+token, "")
		if tasks, _ := rest["tasks"].([]any); len(tasks) != 1 || tasks[0].(object)["id"] != ids[2] || rest["nextPageToken"] != "" || tasks[0].(object)["artifacts"] != nil {
			t.Errorf("the next page: %v", rest)
		}
		begun := reply("POST", "/message:send", strings.TrimSuffix(a2aSaid("m8", "slow"), "}")+`,"configuration":{"returnImmediately":true}}`)["task"].(object)["id"].(string)
		subscribed := ask("POST", "/tasks/"+begun+":subscribe", "")
		if got := reply("POST", "/tasks/"+begun+":cancel", "{}"); got["id"] != begun || got["status"].(object)["state"] != "TASK_STATE_CANCELED" {
			t.Errorf("cancelled: %v", got)
		}
		for name, frames := range map[string][]object{"subscribe": framesOf(t, subscribed), "stream": framesOf(t, ask("POST", "/message:stream", a2aSaid("m9", "hello")))} {
			for i, o := range frames {
				if names := has(o, eventNames...); len(names) != 1 || len(o) != 1 || (i == 0) != (names[0] == "task") {
					t.Errorf("%s, frame %d: %v", name, i, o)
				}
				wantConventions(t, name, o)
			}
			if len(frames) < 2 {
				t.Errorf("%s: %v", name, frames)
			}
		}
	})
}

// An error over HTTP+JSON (5.4, 11.6) has its status, a code, a text for people, and the kind
// as a google.rpc.ErrorInfo; that of JSON-RPC (5.4, 9.5) has the same kind.
func TestA2AErrorsInBothBindings(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		ended := a.task(t, "SendMessage", a2aSaid("m1", "hello")).ID
		file := strings.Replace(a2aSaid("m2", "x"), `{"text":"x"}`, `{"url":"http://127.0.0.1/"}`, 1)
		for _, tt := range []struct {
			reason               string
			rpc                  int
			rpcMethod, params    string
			status               int
			restMethod, restPath string
			body, version        string
		}{
			{"TASK_NOT_FOUND", -32001, "GetTask", `{"id":"task_00000000000000000000000000"}`, 404, "GET", "/tasks/task_00000000000000000000000000", "", "1.0"},
			{"TASK_NOT_CANCELABLE", -32002, "CancelTask", `{"id":"` + ended + `"}`, 400, "POST", "/tasks/" + ended + ":cancel", "{}", "1.0"},
			{"PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, "ListTaskPushNotificationConfigs", `{"taskId":"x"}`, 400, "GET", "/tasks/x/pushNotificationConfigs", "", "1.0"},
			{"UNSUPPORTED_OPERATION", -32004, "SubscribeToTask", `{"id":"` + ended + `"}`, 400, "POST", "/tasks/" + ended + ":subscribe", "", "1.0"},
			{"CONTENT_TYPE_NOT_SUPPORTED", -32005, "SendMessage", file, 400, "POST", "/message:send", file, "1.0"},
			{"VERSION_NOT_SUPPORTED", -32009, "GetTask", `{"id":"x"}`, 400, "GET", "/tasks/x", "", "7.1"},
			{"INVALID_PARAMS", -32602, "SendMessage", `{}`, 400, "POST", "/message:send", `{}`, "1.0"},
		} {
			reply := a.call(t, tt.rpcMethod, tt.params, "A2A-Version", tt.version)
			if e := reply.Error; e == nil || e.Code != tt.rpc || len(e.Data) != 1 || e.Data[0]["reason"] != tt.reason || e.Data[0]["domain"] != "a2a-protocol.org" ||
				e.Data[0]["@type"] != "type.googleapis.com/google.rpc.ErrorInfo" {
				t.Errorf("%s: %+v", tt.rpcMethod, e)
			}
			resp := a.send(t, t.Context(), tt.restMethod, "/a2a/rest"+tt.restPath, tt.body, "A2A-Version", tt.version)
			o := jsonOf(t, resp)
			e, _ := o["error"].(object)
			details, _ := e["details"].([]any)
			if resp.StatusCode != tt.status || e["code"] != float64(tt.status) || e["message"] == "" || e["status"] == "" || len(details) != 1 {
				t.Errorf("%s %s: %d %v", tt.restMethod, tt.restPath, resp.StatusCode, o)
				continue
			}
			if d := details[0].(object); d["reason"] != tt.reason || d["domain"] != "a2a-protocol.org" || d["@type"] != "type.googleapis.com/google.rpc.ErrorInfo" {
				t.Errorf("%s %s: %v", tt.restMethod, tt.restPath, d)
			}
		}
	})
}

// Another version of an extension is another extension (4.6.3): it is not taken for ours, and no
// earlier one is used in its place.
func TestA2AOtherVersionOfTheExtension(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		resp := a.send(t, t.Context(), http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+a2aSaid("m1", "hello")+`}`, "A2A-Extensions", "urn:sluice:events:v2")
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.Header.Get("A2A-Extensions") != "" || strings.Contains(string(text), "urn:sluice") || !strings.Contains(string(text), "TASK_STATE_COMPLETED") {
			t.Errorf("%v, %q: %s", err, resp.Header.Get("A2A-Extensions"), text)
		}
	})
}
