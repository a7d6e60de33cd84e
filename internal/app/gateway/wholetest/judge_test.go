package wholetest_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// A judge that lets everything pass would be worth nothing: each of these streams
// has one fault, and the judge must see it.
func TestJudgeSeesFaults(t *testing.T) {
	t.Parallel()
	for _, m := range []struct{ transcript, what, old, new string }{
		{"plain_answer", "retry is missing", "retry: 86400000\n", ""},
		{"plain_answer", "another retry", "retry: 86400000", "retry: 3000"},
		{"plain_answer", "a gap in the ids", "id: req_golden:3", "id: req_golden:4"},
		{"plain_answer", "an id of another request", "id: req_golden:3", "id: req_other:3"},
		{"plain_answer", "a field out of order", "id: req_golden:2\nevent: response_delta\n", "event: response_delta\nid: req_golden:2\n"},
		{"plain_answer", "CR in the framing", "event: start\n", "event: start\r\n"},
		{"plain_answer", "two lines of data", `"delta":".",`, "\"delta\":\".\",\ndata: "},
		{"plain_answer", "a frame that is not closed", "}\n\nid: req_golden:3", "}\nid: req_golden:3"},
		{"plain_answer", "no start", "event: start", "event: thinking"},
		{"plain_answer", "an unknown event", "event: response_delta", "event: delta"},
		{"plain_answer", "another protocol", "sluice/1", "sluice/2"},
		{"plain_answer", "no request_id", `{"request_id":"req_golden","delta":"."`, `{"delta":"."`},
		{"plain_answer", "another request_id", `{"request_id":"req_golden","delta":"."`, `{"request_id":"req_1","delta":"."`},
		{"plain_answer", "an unknown member", `"delta":"."`, `"delta":".","more":1`},
		{"plain_answer", "a member twice", `"delta":"."`, `"delta":".","delta":"."`},
		{"plain_answer", "an empty delta", `"delta":"."`, `"delta":""`},
		{"plain_answer", "half a code point", `"delta":"."`, `"delta":"\ud83d"`},
		{"plain_answer", "a replaced code point", "Paris", "Par\uFFFDs"},
		{"plain_answer", "accumulated is wrong", `"accumulated":"The capital of France is Paris."`, `"accumulated":"Paris."`},
		{"plain_answer", "accumulated is missing once", `,"accumulated":"The capital of"`, ""},
		{"plain_answer", "final_output is wrong", `"final_output":"The capital`, `"final_output":"A capital`},
		{"plain_answer", "no success", `"success":true`, `"success":false`},
		{"plain_answer", "an unknown finish_reason", `"finish_reason":"stop"`, `"finish_reason":"STOP"`},
		{"plain_answer", "usage is missing", `"thinking_tokens":0`, `"thoughts":0`},
		{"plain_answer", "fractions of milliseconds", `"total_ms":200`, `"total_ms":200.5`},
		{"plain_answer", "too little time", `"total_ms":200`, `"total_ms":20`},
		{"plain_answer", "no first_delta_ms", `"first_delta_ms":0,`, ""},
		{"plain_answer", "the key", `Paris`, wholetest.Key},
		{"unknown_tool", "the call ends twice", `"status":"in_progress"`, `"status":"completed","duration_ms":0,"result":""`},
		{"unknown_tool", "a call without an end", `"call_id":"right001","tool_name":"list","server":"fake","arguments":{},"status":"completed"`, `"call_id":"right002","tool_name":"list","server":"fake","arguments":{},"status":"completed"`},
		{"unknown_tool", "an id twice", `right001`, `wrong001`},
		{"unknown_tool", "other arguments", `"arguments":{},"status":"completed"`, `"arguments":{"a":1},"status":"completed"`},
		{"unknown_tool", "arguments that are no object", `"arguments":{}`, `"arguments":[]`},
		{"unknown_tool", "an unknown status", `"status":"completed"`, `"status":"done"`},
		{"unknown_tool", "a result that is too long", `"result":"[]"`, `"result":"` + strings.Repeat("x", 2049) + `"`},
		{"unknown_tool", "tools_called is wrong", `"tools_called":["get_todos","list"]`, `"tools_called":["list","get_todos"]`},
		{"unknown_tool", "an unknown error_type", `tool_execution_failed`, `tool_error`},
		{"unknown_tool", "not recoverable", `"recoverable":true`, `"recoverable":false`},
		{"unknown_tool", "fatal", `"fatal":false`, `"fatal":true`},
		{"unknown_tool", "a message with a path", `"message":"The`, `"message":"/etc/passwd: The`},
		{"mcp_unavailable_once", "a server that is told to be unavailable twice", `"error_type":"timeout"`, `"error_type":"mcp_unavailable"`},
		{"unknown_tool", "a failed call that nothing explains", "event: error", ": event: thinking"},
		{"approval_pause", "something after a question", "id: req_golden:6\nevent: done", "id: req_golden:6\nevent: thinking"},
		{"approval_pause", "a question without a token", `"token":"slap1.token"`, `"token":""`},
		{"approval_pause", "a question about nothing", `"reason":"destructive"`, `"reason":""`},
		{"approval_pause", "another end", `"finish_reason":"approval_required"`, `"finish_reason":"stop"`},
		{"progress", "progress that goes back", `"progress":7.5`, `"progress":2.5`},
		{"progress", "progress of no call", `"call_id":"index001","tool_name":"index","server":"fake","arguments":{},"status":"progress","progress":7.5`, `"call_id":"index002","tool_name":"index","server":"fake","arguments":{},"status":"progress","progress":7.5`},
		{"progress", "progress without a number", `"progress":7.5,`, ""},
		{"progress", "a total that is none", `"progress":7.5,"total":10`, `"progress":7.5,"total":0`},
		{"progress", "a message that is too long", `"message":"x`, `"message":"xx`},
		{"progress", "a message of two lines", `"message":"Reading `, `"message":"Reading\n`},
		{"fallback", "a fallback that is not named", `"tools_called":["search","search","lookup"]`, `"tools_called":["search","search"]`},
		{"unavailable", "no retry_after_ms", `"retry_after_ms":5000,`, ""},
		{"unavailable", "another finish_reason", `"finish_reason":"error"`, `"finish_reason":"timeout"`},
		{"unavailable", "success", `"success":false`, `"success":true`},
		{"unavailable", "the upstream's words", "AI service", "UPSTREAM"},
		{"unavailable", "no done", "event: done", "event: start"},
		{"heartbeats", "a heartbeat of another form", ": ping", ":heartbeat"},
		{"heartbeats", "an event after done", "\"write_blocked_ms\":0}}\n\n", "\"write_blocked_ms\":0}}\n\n: ping\n\n"},
	} {
		r := goldenStream(t, m.transcript)
		if faults := wholetest.Judge(r); faults != nil {
			t.Fatalf("%s is in order: %q", m.transcript, faults)
		}
		if !strings.Contains(r.Body, m.old) {
			t.Errorf("%s: there is no %q", m.transcript, m.old)
		}
		r.Body = strings.ReplaceAll(r.Body, m.old, m.new)
		if wholetest.Judge(r) == nil {
			t.Errorf("%s: the judge does not see: %s", m.transcript, m.what)
		}
	}
}

// The same for what stands around a stream, and for replies of other kinds.
func TestJudgeSeesFaultyReplies(t *testing.T) {
	t.Parallel()
	problem := `{"type":"about:blank","title":"Not Found","status":404,"error_type":"not_found","detail":"Nothing","request_id":"req_golden"}`
	good := func() wholetest.WireReply {
		return wholetest.WireReply{Status: 404, Body: problem, Header: http.Header{
			"Content-Type": {"application/problem+json"}, "X-Request-Id": {wholetest.RequestID},
		}}
	}
	if faults := wholetest.Judge(good()); faults != nil {
		t.Fatalf("it is in order: %q", faults)
	}
	for what, spoil := range map[string]func(*wholetest.WireReply){
		"no request id":         func(r *wholetest.WireReply) { r.Header.Del("X-Request-ID") },
		"another Content-Type":  func(r *wholetest.WireReply) { r.Header.Set("Content-Type", "application/json") },
		"another status":        func(r *wholetest.WireReply) { r.Status = 400 },
		"another error_type":    func(r *wholetest.WireReply) { r.Body = strings.Replace(problem, "not_found", "missing", 1) },
		"no detail":             func(r *wholetest.WireReply) { r.Body = strings.Replace(problem, `"Nothing"`, `""`, 1) },
		"no request_id":         func(r *wholetest.WireReply) { r.Body = strings.Replace(problem, wholetest.RequestID, "", 1) },
		"faulty fields":         func(r *wholetest.WireReply) { r.Body = strings.Replace(problem, "}", `,"errors":[{}]}`, 1) },
		"no JSON":               func(r *wholetest.WireReply) { r.Body = "not found" },
		"an echo":               func(r *wholetest.WireReply) { r.Body = strings.Replace(problem, "Nothing", "SECRET", 1) },
		"Allow":                 func(r *wholetest.WireReply) { r.Header.Set("Allow", "GET") },
		"a call of Gemini":      func(r *wholetest.WireReply) { r.Calls = 1 },
		"a 204 with a body":     func(r *wholetest.WireReply) { r.Status = 204; r.Header.Del("Content-Type") },
		"a stream that is none": func(r *wholetest.WireReply) { r.Header.Set("Content-Type", "text/event-stream") },
	} {
		r := good()
		spoil(&r)
		if wholetest.Judge(r) == nil {
			t.Errorf("the judge does not see: %s", what)
		}
	}
	r := goldenStream(t, "plain_answer")
	for name := range wholetest.StreamHeaders {
		bad := r
		bad.Header = r.Header.Clone()
		bad.Header.Set(name, "other")
		if wholetest.Judge(bad) == nil {
			t.Errorf("the judge does not see another %s", name)
		}
	}
}

func TestJudgeSeesFaultyLogs(t *testing.T) {
	t.Parallel()
	good := `{"timestamp":"2026-11-22T15:00:00.000Z","level":"INFO","request_id":"req_golden","event":"x","details":{}}` + "\n"
	if faults := wholetest.JudgeLog([]byte(good), []string{"hello"}); faults != nil {
		t.Fatalf("it is in order: %q", faults)
	}
	for _, m := range []struct{ old, new string }{
		{"}\n", "\n"}, {".000Z", "Z"}, {"Z\"", "+00:00\""}, {"INFO", "info"}, {`"request_id":"req_golden",`, ""}, {"req_golden", "req_1"},
		{`"event":"x",`, ""}, {`"event":"x"`, `"event":"hello"`}, {`"event":"x"`, `"event":"request_received"`},
	} {
		if wholetest.JudgeLog([]byte(strings.Replace(good, m.old, m.new, 1)), []string{"hello"}) == nil {
			t.Errorf("the judge does not see %q in place of %q", m.new, m.old)
		}
	}
}

// goldenStream returns the stream of a transcript, with times where they are
// left out.
func goldenStream(t *testing.T, name string) wholetest.WireReply {
	t.Helper()
	tr := wholetest.ReadTranscript(t, filepath.Join(wholetest.Root(), "testdata", "transcripts", name+".txtar"))
	body := strings.NewReplacer(`"model_ms":"random"`, `"model_ms":[0]`, `"random"`, "0").Replace(tr.Get("want.sse"))
	header := http.Header{"X-Request-Id": {wholetest.RequestID}}
	for name, value := range wholetest.StreamHeaders {
		header.Set(name, value)
	}
	return wholetest.WireReply{Status: http.StatusOK, Header: header, Body: body, Calls: 1}
}
