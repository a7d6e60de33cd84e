package loadtest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A gateway misbehaves, and each time the report says how.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) http.HandlerFunc {
		if !strings.Contains(good(), old) {
			t.Fatalf("%q is not in a good stream", old)
		}
		return play(strings.Replace(good(), old, with, 1))
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	failure := func(members string) string { return event(2, "error", `"error_type":"model_unavailable",`+members) }
	sad := strings.NewReplacer("Hello, world\\n", "", "true", "false", "stop", "error").Replace(doneData)
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    outcome
	}{
		{"good", play(good()), outcome{class: done}},
		{"a turn that is kept", play(strings.Replace(strings.ReplaceAll(good(), "id: req_1:", "id: turn_1:"), startData, `"turn_id":"turn_1",`+startData, 1)), outcome{class: done}},
		{"ids of a turn that the start does not name", play(strings.ReplaceAll(good(), "id: req_1:", "id: turn_1:")), outcome{unreconciled, "id"}},
		{"ids of the request in a turn that is kept", replace(startData, `"turn_id":"turn_1",`+startData), outcome{unreconciled, "id"}},
		{"heartbeats", replace("id: req_1:3", ": ping\n\n:\n\n:ping\nid: req_1:3"), outcome{class: done}},
		{"spaces and other escapes", replace(`"delta":"Hello, "`, `"n": [1, {"a":"}"}] , "delta" : "\u0048ello, "`), outcome{class: done}},
		{"other type with a charset", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-ID", "req_1")
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = w.Write([]byte(good()))
		}, outcome{class: done}},

		{"failed", play(event(1, "start", startData) + failure(`"fatal":true`) + event(3, "done", sad)), outcome{failed, "model_unavailable"}},
		{"failed with an odd type", play(event(1, "start", startData) + strings.Replace(failure(`"fatal":true`), "model_", "A ", 1) + event(3, "done", sad)), outcome{failed, "other"}},
		{"cancelled", play(event(1, "start", startData) + event(2, "done", strings.Replace(sad, `"error"`, `"cancelled"`, 1))), outcome{failed, "cancelled"}},
		{"failed in silence", play(event(1, "start", startData) + event(2, "done", sad)), outcome{unreconciled, "no_fatal_error"}},
		{"non-fatal error only", play(event(1, "start", startData) + failure(`"fatal":false`) + event(3, "done", sad)), outcome{unreconciled, "no_fatal_error"}},
		{"text after a fatal error", play(event(1, "start", startData) + failure(`"fatal":true`) + event(3, "response_delta", `"delta":"a"`)), outcome{unreconciled, "after_fatal"}},

		{"overloaded", status(http.StatusServiceUnavailable), outcome{refused, "503"}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, outcome{refused, "302"}},
		{"no content", status(http.StatusNoContent), outcome{refused, "204"}},

		{"no done", play(strings.TrimSuffix(good(), event(5, "done", doneData))), outcome{broken, "no_done"}},
		{"nothing", play(""), outcome{broken, "no_done"}},
		{"ends in the middle of done", play(strings.TrimSuffix(good(), "\n")), outcome{broken, "cut"}},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			_, _ = w.Write([]byte(event(1, "start", startData)))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, outcome{broken, "cut"}},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcome{broken, "no_response"}},
		{"stalls", func(w http.ResponseWriter, r *http.Request) {
			begin(w)
			_, _ = w.Write([]byte(event(1, "start", startData)))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, outcome{broken, "timeout"}},
		{"says nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, outcome{broken, "timeout"}},

		{"two dones", play(good() + event(6, "done", doneData)), outcome{unreconciled, "second_done"}},
		{"event after done", play(good() + event(6, "thinking", `"content":"hm"`)), outcome{unreconciled, "after_done"}},
		{"loose bytes after done", play(good() + "id"), outcome{unreconciled, "after_done"}},
		{"does not end after done", func(w http.ResponseWriter, r *http.Request) {
			play(good())(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, outcome{unreconciled, "unclean_end"}},
		{"gap in ids", replace("req_1:3", "req_1:4"), outcome{unreconciled, "id"}},
		{"id of another", replace("id: req_1:3", "id: req_2:3"), outcome{unreconciled, "id"}},
		{"id with a zero in front", replace("req_1:3", "req_1:03"), outcome{unreconciled, "id"}},
		{"no start", play(event(1, "thinking", `"content":"hm"`)), outcome{unreconciled, "start"}},
		{"two starts", replace("event: thinking", "event: start"), outcome{unreconciled, "start"}},
		{"no retry", replace("retry: 86400000\n", ""), outcome{unreconciled, "retry"}},
		{"retry again", replace("id: req_1:2", "retry: 1\nid: req_1:2"), outcome{unreconciled, "retry"}},
		{"another model", replace("event: thinking", "event: model"), outcome{class: done}},
		{"an event of a team", replace("event: thinking", "event: route"), outcome{class: done}},
		{"unknown event", replace("event: thinking", "event: musing"), outcome{unreconciled, "event"}},
		{"broken JSON", replace(`"content":"hm"`, `"content":"hm`), outcome{unreconciled, "json"}},
		{"broken JSON in a delta", replace(`"delta":"Hello, "`, `"delta":"Hello, `), outcome{unreconciled, "json"}},
		{"request id of another", replace(`"req_1","content"`, `"req_2","content"`), outcome{unreconciled, "request_id"}},
		{"no request id", replace(`"request_id":"req_1","delta"`, `"delta"`), outcome{unreconciled, "request_id"}},
		{"empty delta", replace(`"delta":"Hello, "`, `"delta":""`), outcome{unreconciled, "delta"}},
		{"no delta", replace(`"delta":"Hello, "`, `"text":"Hello, "`), outcome{unreconciled, "delta"}},
		{"delta is not a string", replace(`"delta":"Hello, "`, `"delta":7`), outcome{unreconciled, "delta"}},
		{"split code point", replace("Hello, ", "\xc3"), outcome{unreconciled, "delta"}},
		{"accumulated without being asked for", replace(`"delta":"Hello, "`, `"delta":"Hello, ","accumulated":"Hello, "`), outcome{unreconciled, "accumulated"}},
		{"another final output", replace("Hello, world", "Hello  world"), outcome{unreconciled, "final_output"}},
		{"no final output", replace(`"final_output"`, `"output"`), outcome{unreconciled, "final_output"}},
		{"no success", replace(`"success"`, `"succeeded"`), outcome{unreconciled, "done"}},
		{"two data lines", replace("\ndata: ", "\ndata: {}\ndata: "), outcome{unreconciled, "framing"}},
		{"no id", replace("id: req_1:3\n", ""), outcome{unreconciled, "framing"}},
		{"event before id", replace("id: req_1:3\nevent: response_delta", "event: response_delta\nid: req_1:3"), outcome{unreconciled, "framing"}},
		{"plain text", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(good())) }, outcome{unreconciled, "content_type"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rep := inBubble(t, Config{Clients: 1, Turns: 2, Timeout: time.Minute}, tt.handler)
			wantOutcome(t, rep, tt.want, 2)
		})
	}
}

// wantOutcome fails unless all of n streams ended in one way.
func wantOutcome(t *testing.T, rep Report, want outcome, n int64) {
	t.Helper()
	s := rep.Streams
	got := map[class]int64{done: s.Done, failed: s.Failed, refused: s.Refused, broken: s.Broken, unreconciled: s.Unreconciled, leftEarly: s.LeftEarly, interrupted: s.Interrupted}
	causes := map[class]map[string]int64{failed: s.FailedBy, refused: s.RefusedBy, broken: s.BrokenBy, unreconciled: s.UnreconciledBy}
	if got[want.class] != n || want.cause != "" && causes[want.class][want.cause] != n {
		t.Errorf("want %d streams %v %q, got %+v", n, want.class, want.cause, s)
	}
	if ok := want.class == done || want.class == leftEarly; rep.OK != ok {
		t.Errorf("OK is %t", rep.OK)
	}
}

// With accumulated on, each delta repeats the text so far, however it is escaped.
func TestAccumulated(t *testing.T) {
	t.Parallel()
	stream := func(first, second string) http.HandlerFunc {
		return play(event(1, "start", startData) +
			event(2, "response_delta", `"delta":"Hello, "`+first) +
			event(3, "response_delta", `"delta":"world\n"`+second) + event(4, "done", doneData))
	}
	for _, tt := range []struct {
		name          string
		first, second string
		want          outcome
	}{
		{"good", `,"accumulated":"Hello, "`, `,"accumulated":"Hello, world\n"`, outcome{class: done}},
		{"other escapes", `,"accumulated":"Hello, "`, `,"accumulated":"Hell\u006f, world\u000a"`, outcome{class: done}},
		{"missing", `,"accumulated":"Hello, "`, ``, outcome{unreconciled, "accumulated"}},
		{"wrong", `,"accumulated":"Hello, "`, `,"accumulated":"hello, world\n"`, outcome{unreconciled, "accumulated"}},
		{"no text", `,"accumulated":7`, ``, outcome{unreconciled, "accumulated"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rep := inBubble(t, Config{Clients: 1, Turns: 1, Accumulated: true}, stream(tt.first, tt.second))
			wantOutcome(t, rep, tt.want, 1)
		})
	}
}

// An event that is longer than any buffer so far, split over many reads.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 1<<16)
	stream := event(1, "start", startData) + event(2, "response_delta", `"delta":"`+long+`"`) +
		event(3, "done", strings.Replace(doneData, `Hello, world\n`, long, 1))
	rep := inBubble(t, Config{Clients: 1, Turns: 2}, play(stream))
	wantOutcome(t, rep, outcome{class: done}, 2)
	if want := int64(2 * len(stream)); rep.Streams.Bytes != want || rep.Streams.Events != 6 {
		t.Errorf("%d events of %d bytes, want 6 of %d", rep.Streams.Events, rep.Streams.Bytes, want)
	}

	huge := strings.Repeat("0", maxFrame)
	rep = inBubble(t, Config{Clients: 1, Turns: 1}, play(event(1, "start", `"model":"`+huge+`"`)))
	wantOutcome(t, rep, outcome{unreconciled, "framing"}, 1)
}

// A stream that went wrong is reported with what finds it in the gateway's log.
func TestExamples(t *testing.T) {
	t.Parallel()
	rep := inBubble(t, Config{Clients: 1, Turns: 7}, play(event(1, "start", startData)))
	if want := "turn 1, req_1: broken: no_done"; len(rep.Examples) != maxExamples || rep.Examples[0] != want {
		t.Errorf("%q, want %d that begin with %q", rep.Examples, maxExamples, want)
	}
	rep = inBubble(t, Config{Clients: 1, Turns: 1}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-ID", "req 1\t<b>") // not fit to be repeated
		w.Header().Set("Content-Type", "text/event-stream")
	})
	if want := "turn 1: broken: no_done"; rep.Examples[0] != want {
		t.Errorf("%q, want %q", rep.Examples, want)
	}
}
