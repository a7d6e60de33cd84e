package recording

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// replied is the recording of a reply.
func replied(body string, more ...Entry) *Recording {
	data := Text(body)
	return &Recording{Entries: append([]Entry{{Kind: kindOut, Data: &data}}, more...)}
}

// What no two turns have in common makes no difference; all else does.
func TestChancesOfATurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, one, other string
		differ           bool
	}{
		{"a duration", `{"total_ms":12}`, `{"total_ms":7.5}`, false},
		{"durations in a list", `{"model_ms":[1,2]}`, `{"model_ms":[3]}`, false},
		{"durations by name", `{"phases_ms":{"a":1}}`, `{"phases_ms":{"b":2}}`, false},
		{"a duration of A2A", `{"durationMs":1}`, `{"durationMs":2}`, false},
		{"a duration that is a text", `{"total_ms":"12"}`, `{"total_ms":"13"}`, true},
		{"another number", `{"attempt":1}`, `{"attempt":2}`, true},
		{"a time with a zone", `{"at":"2026-01-02T03:04:05.123Z"}`, `{"at":"2027-11-12T13:14:15+01:00"}`, false},
		{"a day", `{"at":"2026-01-02"}`, `{"at":"2026-01-03"}`, true},
		{"seconds", `{"created_at":1767322000}`, `{"created_at":1767322999.5}`, false},
		{"a small number of that name", `{"created":5}`, `{"created":6}`, true},
		{"a token", `{"token":"slap1.abc_DEF-1"}`, `{"token":"slap1.xyz"}`, false},
		{"a token of another kind", `{"token":"slap2.abc"}`, `{"token":"slap2.xyz"}`, true},
		{"a retry", "retry: 1000\ndata: {}", "retry: 2000\ndata: {}", false},
		{"a retry in a text", `data: "retry: 1000"`, `data: "retry: 2000"`, true},
		{"an id", `{"id":"msg_aaaaaaaaaaaa"}`, `{"id":"msg_bbbbbbbbbbbb"}`, false},
		{"a short id", `{"id":"msg_aaaaaaaaaaa"}`, `{"id":"msg_bbbbbbbbbbb"}`, true},
		{"an id of another kind", `{"id":"bill_aaaaaaaaaaaa"}`, `{"id":"bill_bbbbbbbbbbbb"}`, true},
		{"a UUID", `{"id":"6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1"}`, `{"id":"00000000-7b1e-4c1f-9b53-0d4bd9a6b8a1"}`, false},
		{"ids that are the same once", `{"a":"run_aaaaaaaaaaaa","b":"run_aaaaaaaaaaaa"}`, `{"a":"run_aaaaaaaaaaaa","b":"run_bbbbbbbbbbbb"}`, true},
		{"ids by their order", `{"a":"run_aaaaaaaaaaaa","b":"run_bbbbbbbbbbbb"}`, `{"a":"run_bbbbbbbbbbbb","b":"run_aaaaaaaaaaaa"}`, false},
		{"a heartbeat more", "data: 1\n\n: ping\n\ndata: 2", "data: 1\n\ndata: 2", false},
		{"a frame that says that time goes by", "data: 1\n\ndata: {\"phase\":\"composing\"}\n\ndata: 2", "data: 1\n\ndata: 2", false},
		{"a frame of another phase", "data: 1\n\ndata: {\"phase\":\"planning\"}\n\ndata: 2", "data: 1\n\ndata: 2", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]string{{tt.one, tt.other}, {tt.other, tt.one}} {
				if d, reordered := replied(pair[0]).Compare([]byte(pair[1])); (d != nil) != tt.differ || reordered {
					t.Errorf("%q and %q: %v, reordered %t", pair[0], pair[1], d, reordered)
				}
			}
		})
	}
}

// Of a reply that was cut off what its client got whole counts, and no more.
func TestCompareWithAReplyThatWasCutOff(t *testing.T) {
	t.Parallel()
	cut := replied("data: 1\n\ndata: 2\n\ndata: hal", Entry{Kind: kindAbort})
	for body, want := range map[string]int{
		"data: 1\n\ndata: 2\n\ndata: half\n\ndata: 3\n\n": 0, "data: 1\n\ndata: 2": 0, "data: 1\n\ndata: other\n\n": 2, "data: 1\n\n": 2, "": 1,
	} {
		d, reordered := cut.Compare([]byte(body))
		if reordered || d == nil && want > 0 || d != nil && d.Event != want {
			t.Errorf("%q: %v, reordered %t, want event %d", body, d, reordered, want)
		}
	}
	if n := cut.Events(); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
}

// A difference is shown with both sides, one of which may be nothing.
func TestDifferenceIsShown(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Difference{
		"event 2 differs\n- id: 1\n  data: a\n+ data: b": {Event: 2, Recorded: "id: 1\ndata: a\n", Rerun: "data: b"},
		"event 1 differs\n- (nothing)\n+ data: b":        {Event: 1, Rerun: "data: b"},
		"event 9 differs\n- data: a\n+ (nothing)":        {Event: 9, Recorded: "data: a"},
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Play writes what the client got and nothing else, and ends with its context or its reader.
func TestPlayWritesWhatTheClientGot(t *testing.T) {
	t.Parallel()
	late := Text("late")
	r := replied("now ", Entry{Kind: kindAsk, Data: &late}, Entry{Kind: kindOut}, Entry{Kind: kindOut, At: 3_600_000_000, Data: &late})
	var out bytes.Buffer
	if err := r.Play(t.Context(), &out, 0); err != nil || out.String() != "now late" {
		t.Errorf("at once: %q, %v", out.String(), err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	out.Reset()
	if err := r.Play(ctx, &out, 1); !errors.Is(err, gone) || strings.Contains(out.String(), "late") {
		t.Errorf("at its pace, of a context that ended: %q, %v", out.String(), err)
	}
	if err := r.Play(t.Context(), full{gone}, 0); !errors.Is(err, gone) {
		t.Errorf("to a reader that is gone: %v", err)
	}
}

// full takes nothing.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// The request of a recording is the one that came, with the id that its reply had.
func TestRequestOfARecording(t *testing.T) {
	t.Parallel()
	for method, body := range map[string]string{http.MethodPost: `{"input":"hi"}`, http.MethodGet: ""} {
		r := &Recording{Head: Head{Request: Request{Method: method, Target: "/chat/stream?input=a%20b", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"input":"hi"}`)}}}
		r.Entries = []Entry{{Kind: kindAnswer, Header: http.Header{"X-Request-Id": {"of a model"}}}, {Kind: kindReply, Header: http.Header{"X-Request-Id": {"req_1"}}}}
		req, err := r.HTTP(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		_, _ = got.ReadFrom(req.Body)
		if got.String() != body || req.ContentLength != int64(len(body)) || req.Method != method || req.URL.Query().Get("input") != "a b" ||
			req.RequestURI != r.Request.Target || req.Header.Get("X-Request-Id") != "req_1" || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %+v with %q", method, req, got.String())
		}
	}
	if _, err := (&Recording{Head: Head{Request: Request{Method: "a b"}}}).HTTP(t.Context()); err == nil {
		t.Error("a method that is none was accepted")
	}
}
