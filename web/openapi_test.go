package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
	"sluice/web"
)

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(web.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func openAPI(t *testing.T) map[string]any {
	t.Helper()
	root, err := parseYAML(file(t, "openapi.yaml"))
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return root.(map[string]any)
}

// at follows keys into a document; nil means that there is nothing.
func at(node any, keys ...string) any {
	for _, k := range keys {
		m, _ := node.(map[string]any)
		node = m[k]
	}
	return node
}

func sortedKeys(node any) []string {
	m, _ := node.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

func TestOpenAPINamesAllOfTheContract(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	tests := []struct {
		what      string
		got, want []string
	}{
		{"paths", sortedKeys(at(doc, "paths")),
			[]string{"/", "/.well-known/agent-card.json", "/a2a", "/agents", "/agents/{id}", "/agui", "/agui/{agent}", "/api/chat", "/api/chat/{id}/stream", "/approvals", "/channels", "/channels/{channel}/format", "/chat/stream", "/chat/tickets", "/chatkit", "/conversations", "/conversations/{id}", "/diag/sse", "/healthz", "/me", "/metrics", "/openapi.yaml", "/readyz", "/tasks", "/tasks/{id}", "/tasks/{id}/cancel", "/tasks/{id}/checkpoints", "/tasks/{id}/checkpoints/{sequence}", "/tasks/{id}/decision", "/tasks/{id}/events", "/tasks/{id}/sessions/{session}", "/tasks/{id}/trace", "/tools", "/v1/chat/completions", "/v1/models", "/v1/models/{id}", "/v1/responses", "/v1/responses/{id}", "/v1/responses/{id}/cancel", "/workflows"}},
		{"methods of the stream", sortedKeys(at(doc, "paths", "/chat/stream")), []string{"get", "post"}},
		{"methods of the ticks", sortedKeys(at(doc, "paths", "/diag/sse")), []string{"get"}},
		{"methods of an agent, two of them for operators", sortedKeys(at(doc, "paths", "/agents/{id}")), []string{"delete", "get", "head", "parameters", "put"}},
		{"methods of the page", sortedKeys(at(doc, "paths", "/")), []string{"get", "head"}},
		{"methods of this document", sortedKeys(at(doc, "paths", "/openapi.yaml")), []string{"get", "head"}},
		{"methods of the tools", sortedKeys(at(doc, "paths", "/tools")), []string{"get", "head"}},
		{"methods of liveness", sortedKeys(at(doc, "paths", "/healthz")), []string{"get", "head"}},
		{"methods of readiness", sortedKeys(at(doc, "paths", "/readyz")), []string{"get", "head"}},
		{"methods of the metrics", sortedKeys(at(doc, "paths", "/metrics")), []string{"get", "head"}},
		{"replies to POST", sortedKeys(at(doc, "paths", "/chat/stream", "post", "responses")),
			[]string{"200", "204", "403", "405", "408", "409", "413", "415", "422", "503", "default"}},
		{"events of the ticks", sortedKeys(at(doc, "paths", "/diag/sse", "get", "responses", "200", "content", "text/event-stream", "x-events")),
			[]string{"done", "tick"}},
		{"fields of a request", sortedKeys(at(doc, "components", "schemas", "ChatRequest", "properties")),
			slices.Sorted(slices.Values(chat.FieldNames(false)))},
		{"events", sortedKeys(at(doc, "components", "responses", "Stream", "content", "text/event-stream", "x-events")),
			[]string{"agent", "approval", "channel_message", "done", "error", "heartbeat", "inner_delta", "model", "node", "quality", "response_delta", "response_reset", "route", "start", "thinking", "tool_call"}},
		{"error types of the stream", enum(doc, "StreamErrorType"), types(
			fault.ToolFailed, fault.MCPUnavailable, fault.ModelUnavailable, fault.ModelRateLimited, fault.ModelBlocked,
			fault.ModelError, fault.Timeout, fault.ShuttingDown, fault.Overloaded, fault.Internal,
			fault.AgentFailed, fault.AgentUnavailable, fault.RoutingFailed,
			fault.Cancelled, fault.TurnLost, fault.StoreUnavailable,
			fault.QualityFailed, fault.QualityUnavailable, fault.ContentTruncated, fault.DeliveryFailed,
			fault.WorkflowLimit, fault.WorkflowExpression, fault.WorkflowNoBranch, fault.WorkflowNodeFailed, fault.WorkflowRecovery, fault.ApprovalRejected)},
		{"error types of problems", enum(doc, "ProblemErrorType"), types(
			fault.Validation, fault.PayloadTooLarge, fault.UnsupportedMediaType, fault.MethodNotAllowed, fault.NotFound,
			fault.OriginRefused, fault.DuplicateRequest, fault.RequestTimeout, fault.Overloaded, fault.ShuttingDown, fault.Internal,
			fault.KeyReused, fault.TaskNotCancelable, fault.ApprovalInvalid, fault.ApprovalExpired, fault.ApprovalUsed, fault.ApprovalConflict, fault.StoreUnavailable,
			fault.Unauthorized, fault.Forbidden, fault.RateLimited, fault.AuthUnavailable)},
		{"scopes", enum(doc, "Scope"), sorted(chat.ScopeNames()...)},
		{"codes of a faulty field", enum(doc, "FieldError", "properties", "code"), sorted(
			chat.CodeRequired, chat.CodeWrongType, chat.CodeBlank, chat.CodeTooLong, chat.CodeInvalidFormat,
			chat.CodeDuplicateKey, chat.CodeInvalidUTF8, chat.CodeInvalidJSON, chat.CodeTrailingData, chat.CodeUnsupported,
			chat.CodeUnknownValue, chat.CodeNotConfigured, chat.CodeNotAllowed, chat.CodeNameTaken)},
		{"finish reasons", enum(doc, "DoneEvent", "properties", "finish_reason"), sorted(
			stream.Stop, stream.MaxTokens, stream.MaxSteps, stream.InputRequired, stream.ApprovalRequired, stream.ClientTools, stream.Failed, stream.TimedOut, stream.Cancelled, stream.Shutdown)},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
}

func enum(doc any, schema ...string) []string {
	list, _ := at(doc, append(append([]string{"components", "schemas"}, schema...), "enum")...).([]any)
	var names []string
	for _, v := range list {
		names = append(names, fmt.Sprint(v))
	}
	slices.Sort(names)
	return names
}

func types(list ...fault.Type) []string { return sorted(list...) }

func sorted[T ~string](list ...T) []string {
	var names []string
	for _, v := range list {
		names = append(names, string(v))
	}
	slices.Sort(names)
	return names
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	used := map[string]bool{}
	walk(doc, func(m map[string]any) {
		for _, need := range list(m["security"]) {
			for name := range need.(map[string]any) {
				used["securitySchemes "+name] = true
			}
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return
		}
		keys := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		if at(doc, keys...) == nil {
			t.Errorf("%s leads nowhere", ref)
		}
		used[strings.Join(keys[1:], " ")] = true
	})
	for _, kind := range sortedKeys(doc["components"]) {
		for _, name := range sortedKeys(at(doc, "components", kind)) {
			if !used[kind+" "+name] {
				t.Errorf("components/%s/%s is used nowhere", kind, name)
			}
		}
	}
}

// list returns a list of the document, which may be none.
func list(node any) []any {
	items, _ := node.([]any)
	return items
}

func walk(node any, visit func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(node)
		for _, v := range node {
			walk(v, visit)
		}
	case []any:
		for _, v := range node {
			walk(v, visit)
		}
	}
}

// strict returns the schemas by name, with the fields of every object closed, so
// that an event with a field that is not described fails.
func strict(t *testing.T) func(name string) *jsonschema.Schema {
	t.Helper()
	doc := openAPI(t)
	walk(at(doc, "components", "schemas"), func(m map[string]any) {
		if m["type"] == "object" && m["properties"] != nil {
			m["additionalProperties"] = false
		}
	})
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(name string) *jsonschema.Schema {
		s, err := c.Compile("openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	schema := strict(t)
	for _, name := range sortedKeys(at(openAPI(t), "components", "schemas")) {
		schema(name)
	}
}

// What the encoder sends is what openapi.yaml describes.
func TestEventsMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	call := stream.Call{ID: "c1", Tool: "create_todo", Server: "todo", Arguments: []byte(`{"title":"eggs"}`)}
	events := []stream.Event{
		&stream.Start{Model: "offline-demo"},
		&stream.Start{Model: "m", ConversationID: "conv_1", UserID: "u"},
		&stream.Thinking{Content: "hm"},
		&stream.ToolStarted{Call: call},
		&stream.ToolCompleted{Call: call, Duration: time.Millisecond, Result: "ok"},
		&stream.ToolCompleted{Call: call, Result: strings.Repeat("x", 4096)},
		&stream.ToolFailed{Call: call, Message: "no"}, &stream.ToolFailed{Call: call, Message: "no", ErrorType: fault.ApprovalRejected},
		&stream.ToolUnknown{Call: stream.Call{ID: "c2", Tool: "x"}, Message: "lost"},
		&stream.Delta{Text: "Hello"},
		&stream.Error{Type: fault.MCPUnavailable, Message: "m", Recoverable: true},
		&stream.Error{Type: fault.ModelUnavailable, Message: "m", Fatal: true, RetryAfter: time.Second, Service: "gemini"},
		&stream.Quality{Phase: stream.Planning, Attempt: 1, Plan: []byte(`{"steps":[]}`)},
		&stream.Quality{Phase: stream.Composing, Attempt: 1, Chars: 12},
		&stream.Quality{Phase: stream.Validating, Attempt: 2, Passed: []string{}, Failed: []string{"complete"}},
		&stream.InnerDelta{Delta: "Hello", Attempt: 1},
		&stream.InnerDelta{Attribution: stream.Attribution{AgentID: "a", NodeID: "n"}, Delta: "Hello"},
		&stream.ChannelMessage{Channel: "sms", Sequence: 1, Total: 2, Content: "(1/2) Hello", ContentType: "text/plain", Indicator: "(1/2)", Encoding: "GSM-7", Segments: 1, Units: 11},
		&stream.ChannelMessage{Channel: "teams", Sequence: 1, Total: 1, Content: "Hello", ContentType: "application/vnd.microsoft.card.adaptive", Card: []byte(`{"type":"AdaptiveCard"}`), Bytes: 1},
		&stream.ChannelMessage{Channel: "email", Sequence: 1, Total: 1, Content: "Hello", ContentType: "multipart/alternative", Subject: "s", Text: "t", HTML: "<p>"},
		&stream.Done{Reason: stream.Stop},
		&stream.Done{
			Reason: stream.Stop,
			Quality: &stream.Receipt{Outcome: stream.Unjudged, Refined: true, ScorecardID: "sc_1", StyleVersion: "1", Criteria: []stream.CriterionCheck{
				{ID: "a", By: "code", Must: true, Passed: new(bool), FailedFirst: true}, {ID: "b", By: "judge", Planned: true, NotApplicable: true},
			}},
			Channel: &stream.Formatted{Channel: "sms", Parts: 1, Metadata: []byte(`{}`), Delivery: &stream.Delivery{Status: "failed", Attempts: 1, ID: "msg_1"}},
		},
		&stream.Done{Reason: stream.Failed, Usage: chat.Usage{InputTokens: 1}, Model: []time.Duration{time.Second}, Tools: []stream.ToolTiming{{Tool: "x", Duration: time.Second}}},
	}
	names := at(openAPI(t), "components", "responses", "Stream", "content", "text/event-stream", "x-events")
	schema := strict(t)
	for _, accumulated := range []bool{true, false} {
		for _, ev := range events {
			name, data := encode(t, ev, accumulated)
			ref, _ := at(names, name, "$ref").(string)
			if err := schema(ref[strings.LastIndex(ref, "/")+1:]).Validate(data); err != nil {
				t.Errorf("%T: %v", ev, err)
			}
		}
	}
}

// encode returns the name and the data of the frame of ev.
func encode(t *testing.T, ev stream.Event, accumulated bool) (name string, data any) {
	t.Helper()
	return parseFrame(t, sluice.NewEncoder("req_0123456789ab", accumulated, 0).Encode(nil, stream.Stamp{N: 1}, ev))
}

func parseFrame(t *testing.T, frame []byte) (name string, data any) {
	t.Helper()
	for line := range bytes.Lines(frame) {
		if v, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = string(bytes.TrimSpace(v))
		}
		if v, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if err := json.Unmarshal(v, &data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return name, data
}

// The ticks are as openapi.yaml describes them, with and without padding.
func TestTicksMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	schema := strict(t)
	s := handlers.NewServer(handlers.Config{})
	for _, query := range []string{"?ticks=1", "?ticks=1&padding=1"} {
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, httptest.NewRequest("GET", "/diag/sse"+query, nil))
		var kinds []string
		for frame := range strings.SplitSeq(strings.TrimSpace(rec.Body.String()), "\n\n") {
			name, data := parseFrame(t, []byte(frame))
			kinds = append(kinds, name)
			if err := schema(map[string]string{"tick": "TickEvent", "done": "LastTickEvent"}[name]).Validate(data); err != nil {
				t.Errorf("%s: %v", frame, err)
			}
		}
		if diff := cmp.Diff([]string{"tick", "done"}, kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// A heartbeat that is an event is as openapi.yaml describes it.
func TestHeartbeatMatchesItsSchema(t *testing.T) {
	t.Parallel()
	schema := strict(t)("HeartbeatEvent")
	synctest.Test(t, func(t *testing.T) {
		rec := httptest.NewRecorder()
		w := sse.NewWriter(rec, sse.Config{Encoder: sluice.NewEncoder("r", false, 0), Heartbeat: time.Second, BeatEvents: true})
		time.Sleep(time.Second + time.Millisecond)
		_ = w.Close()
		event, data, _ := strings.Cut(strings.TrimSuffix(rec.Body.String(), "\n\n"), "\n")
		var v any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &v); err != nil || event != "event: heartbeat" {
			t.Fatalf("%q: %v", rec.Body, err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(err)
		}
	})
}

// A request that the schema takes, the decoder takes, and the other way round.
func TestRequestsMatchTheirSchema(t *testing.T) {
	t.Parallel()
	schema := strict(t)("ChatRequest")
	for _, body := range []string{
		`{"input":"x"}`, `{"input":"x","conversation_id":"conv_a","user_id":"u","timezone":"Europe/Berlin","accumulated":false}`,
		`{"input":"x","conversation_id":"01234567-89ab-cdef-0123-456789ABCDEF","user_id":null,"timezone":null,"accumulated":null}`,
		`{}`, `{"input":""}`, `{"input":null}`, `{"input":1}`, `{"input":"x","conversation_id":"conv_"}`, `{"input":"x","conversation_id":null}`,
		`{"input":"x","user_id":1}`, `{"input":"x","accumulated":"true"}`, `[]`, `{"input":"x","heartbeat":"event"}`, `{"input":"x","heartbeat":null}`, `{"input":"x","heartbeat":"maybe"}`, `{"input":"x","heartbeat":true}`,
		`{"input":"` + strings.Repeat("é", 5000) + `"}`, `{"input":"` + strings.Repeat("é", 5001) + `"}`,
		`{"input":"x","user_id":"` + strings.Repeat("é", 256) + `"}`, `{"input":"x","user_id":"` + strings.Repeat("é", 257) + `"}`,
		`{"input":"x","history":null}`, `{"input":"x","history":[]}`, `{"input":"x","history":{}}`, `{"input":"x","history":[null]}`,
		`{"input":"x","history":[{"role":"user","content":""},{"role":"assistant","content":"y"}]}`, `{"input":"x","history":[{"role":"user"}]}`,
		`{"input":"x","history":[{"role":"system","content":"y"}]}`, `{"input":"x","history":[{"role":"user","content":1}]}`,
		`{"input":"x","history":[` + strings.Repeat(`{"role":"user","content":"y"},`, 999) + `{"role":"user","content":"y"}]}`,
		`{"input":"x","history":[` + strings.Repeat(`{"role":"user","content":"y"},`, 1000) + `{"role":"user","content":"y"}]}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		_, decodeErr := chat.DecodeRequest([]byte(body))
		schemaErr := schema.Validate(v)
		if (decodeErr == nil) != (schemaErr == nil) {
			t.Errorf("%.60s: decoder says %v, schema says %v", body, decodeErr, schemaErr)
		}
	}
}
