package sluice_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const taskID = "task_0123456789abcdefghijklmnop"

// routeOf returns the route of a method and a path.
func routeOf(t *testing.T, d sluice.Dialect, method, path string) dialect.Route {
	t.Helper()
	routes := d.Routes()
	i := slices.IndexFunc(routes, func(r dialect.Route) bool { return r.Path == path && slices.Contains(r.Methods, method) })
	if i < 0 {
		t.Fatalf("there is no %s %s", method, path)
	}
	return routes[i]
}

// opened has a dialect read a request. The path is that of its route, and the rest of target its query.
func opened(t *testing.T, d sluice.Dialect, method, target, body string, header http.Header) (*dialect.Exchange, error) {
	t.Helper()
	path, _, _ := strings.Cut(target, "?")
	r := httptest.NewRequestWithContext(chat.WithRequestID(t.Context(), "req_1"), method, strings.ReplaceAll(target, "{id}", taskID), nil)
	r.SetPathValue("id", taskID)
	for name, values := range header {
		r.Header[name] = values
	}
	return routeOf(t, d, method, path).Open(r, []byte(body))
}

// refusals returns the places of the fields that an error refuses, or its type.
func refusals(err error) string {
	var places []string
	if invalid, ok := errors.AsType[*chat.ValidationError](err); ok {
		for _, f := range invalid.Fields {
			places = append(places, f.Field+" "+string(f.Code))
		}
		return strings.Join(places, ", ")
	}
	if err == nil {
		return ""
	}
	return string(fault.From(err).Type)
}

// What a request says of its turn reaches the exchange, by POST and by GET; what only a kept turn can do
// is refused where none is kept.
func TestRequestsBecomeExchanges(t *testing.T) {
	t.Parallel()
	kept, cancels := sluice.Dialect{Stored: true}, sluice.Dialect{Stored: true, OnDisconnect: chat.OnDisconnectCancel}
	for _, tt := range []struct {
		name         string
		in           sluice.Dialect
		method, at   string // empty: POST, and where turns are asked for
		body         string
		header       http.Header
		mode         dialect.Mode
		key, refused string
		short        bool // without the text so far in each delta
	}{
		{name: "a turn", body: `{"input":"hi"}`, mode: dialect.Detached},
		{name: "a key", body: `{"input":"hi"}`, header: http.Header{"Idempotency-Key": {"12345678"}}, key: "12345678", mode: dialect.Detached},
		{name: "a key that is none", body: `{"input":"hi"}`, header: http.Header{"Idempotency-Key": {"1"}}, refused: "/idempotency_key invalid_format"},
		{name: "deltas alone", body: `{"input":"hi","accumulated":false}`, short: true, mode: dialect.Detached},
		{name: "a turn that ends with its client", body: `{"input":"hi","on_disconnect":"cancel"}`, mode: dialect.Attached},
		{name: "the same by configuration", in: cancels, body: `{"input":"hi"}`, mode: dialect.Attached},
		{name: "and not by the request", in: cancels, body: `{"input":"hi","on_disconnect":"continue"}`, mode: dialect.Detached},
		{name: "without a store", body: `{"input":"hi","on_disconnect":"continue","task_id":"` + taskID + `"}`, refused: "/task_id not_configured, /on_disconnect not_configured"},
		{name: "with a store", in: kept, body: `{"input":"hi","on_disconnect":"continue","task_id":"` + taskID + `"}`, mode: dialect.Detached},
		{name: "too long a body without a history", body: `{"input":"hi"}` + strings.Repeat(" ", dialect.MaxBody), refused: "payload_too_large"},
		{name: "as long with one", body: `{"input":"hi","history":[]}` + strings.Repeat(" ", dialect.MaxBody), mode: dialect.Detached},
		{name: "an EventSource", method: http.MethodGet, at: sluice.Path + "?input=hi&idempotency_key=12345678", key: "12345678", mode: dialect.Detached},
		{name: "an EventSource with two keys", method: http.MethodGet, at: sluice.Path + "?input=hi&idempotency_key=12345678&idempotency_key=87654321", refused: "/idempotency_key invalid_format"},
		{name: "an EventSource without an input", method: http.MethodGet, at: sluice.Path, refused: "/input required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method, at := http.MethodPost, sluice.Path
			if tt.method != "" {
				method, at = tt.method, tt.at
			}
			ex, err := opened(t, tt.in, method, at, tt.body, tt.header)
			if got := refusals(err); got != tt.refused {
				t.Fatalf("refused is %q, want %q", got, tt.refused)
			}
			if err != nil {
				return
			}
			if ex.Request.Input != "hi" || ex.Mode != tt.mode || ex.Repetition.Key != tt.key || ex.Accumulated == tt.short {
				t.Errorf("%+v", ex)
			}
			if frame := string(ex.Encoder.Encode(nil, stream.Stamp{N: 1}, &stream.Start{})); !strings.HasPrefix(frame, "retry: 86400000\nid: req_1:1\nevent: start\n") {
				t.Errorf("the first frame is %q", frame)
			}
		})
	}
}

// The tools of a GET are those of the configuration, those of a POST are all.
func TestRulesOfMethods(t *testing.T) {
	t.Parallel()
	d := sluice.Dialect{GetTools: chat.ToolsReadOnly}
	for method, want := range map[string]chat.ToolAccess{http.MethodGet: chat.ToolsReadOnly, http.MethodPost: chat.ToolsAll} {
		ex, err := opened(t, d, method, sluice.Path+map[string]string{http.MethodGet: "?input=hi"}[method], `{"input":"hi"}`, nil)
		if err != nil || ex.Request.Tools != want {
			t.Errorf("%s: %v, tools %v", method, err, ex.Request.Tools)
		}
	}
}

// An answer to the question of a task is read where tasks are kept. Who asks for JSON gets no stream.
func TestDecisions(t *testing.T) {
	t.Parallel()
	const path = "/tasks/{id}/decision"
	if n := len(sluice.Dialect{}.Routes()); n != 2 {
		t.Errorf("without a store there are %d routes", n)
	}
	d := sluice.Dialect{Stored: true}
	for accept, want := range map[string]dialect.Mode{
		"": dialect.Detached, "text/event-stream": dialect.Detached, "*/*": dialect.Detached,
		"application/json": dialect.Unattended, "application/json, text/event-stream": dialect.Detached,
	} {
		header := http.Header{}
		if accept != "" {
			header.Set("Accept", accept)
		}
		ex, err := opened(t, d, http.MethodPost, path, `{"action":"approve","user_id":"kim"}`, header)
		if err != nil {
			t.Fatal(err)
		}
		if ex.Mode != want || ex.Answering.Decides != taskID || ex.Answering.Approval == nil || ex.Request.UserID != "kim" || !ex.Accumulated {
			t.Errorf("%q: %+v", accept, ex)
		}
	}
	if _, err := opened(t, d, http.MethodPost, path, `[]`, nil); refusals(err) != " wrong_type" {
		t.Errorf("a list: %v", err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tasks/x/decision", nil)
	r.SetPathValue("id", "x")
	if _, err := routeOf(t, d, http.MethodPost, path).Open(r, []byte(`{"action":"approve"}`)); refusals(err) != "not_found" {
		t.Errorf("the id of no task: %v", err)
	}
}

// A turn that is kept has ids of its own, and its client comes back after a second.
func TestStoredTurnsAreResumed(t *testing.T) {
	t.Parallel()
	encoder := routeOf(t, sluice.Dialect{}, http.MethodPost, sluice.Path).Resume(dialect.StoredTurn{TurnID: "turn_1", RequestID: "req_1", Accumulated: true})
	var got []byte
	got = encoder.Encode(got, stream.Stamp{N: 1}, &stream.Delta{Text: "a"})
	got = encoder.Encode(got, stream.Stamp{N: 2}, &stream.Delta{Text: "b"})
	const want = "retry: 1000\nid: turn_1:1\nevent: response_delta\ndata: {\"request_id\":\"req_1\",\"delta\":\"a\",\"accumulated\":\"a\"}\n\n" +
		"id: turn_1:2\nevent: response_delta\ndata: {\"request_id\":\"req_1\",\"delta\":\"b\",\"accumulated\":\"ab\"}\n\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if beat := string(encoder.(interface{ Heartbeat() []byte }).Heartbeat()); beat != ": ping\n\n" {
		t.Errorf("the heartbeat is %q", beat)
	}
}
