package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/events"
	"sluice/e2e/process"
	"sluice/e2e/scenario"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// A short soak, so that the program works whenever it is needed. Its bounds hold on a machine
// that does much else: what is counted is exact, and nothing is judged by time.
func TestShortSoak(t *testing.T) {
	t.Parallel()
	binary := process.Program(t)
	for _, args := range [][]string{
		{"-length=15s", "-every=5s", "-users=20", "-rate=20"},
		{"-length=2s", "-users=10", "-plain"},
	} {
		var out, progress strings.Builder
		code := soak(t.Context(), append(args, binary), &out, &progress)
		if code != 0 {
			t.Errorf("%q: exit code %d\n%s%s", args, code, &out, &progress)
		}
		var n int
		at := strings.Index(out.String(), "totals: ")
		if _, err := fmt.Sscanf(out.String()[max(0, at):], "totals: streams %d,", &n); err != nil || n == 0 {
			t.Errorf("%q: no totals: %v\n%s", args, err, &out)
		}
	}
}

// A program that is not a gateway must not pass for one that holds.
func TestWithoutAGateway(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Skip("there is no program true")
	}
	var out, progress strings.Builder
	if code := soak(t.Context(), []string{"-length=1s", path}, &out, &progress); code != 1 || !strings.Contains(out.String(), "BROKEN") {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"a", "b"}, {"-users=0", "a"}, {"-rate=-1", "a"}, {"-leave=101", "a"}, {"-store=file", "a"}, {"-store=none", "a"}, {"-every=0s", "a"}, {"-no"}} {
		var out, complaint strings.Builder
		if code := soak(t.Context(), args, &out, &complaint); code != 2 || out.Len() > 0 || !strings.Contains(complaint.String(), "usage") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &complaint)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	f := readFigures(`# HELP sluice_tool_calls_total Calls.
sluice_tool_calls_total{outcome="completed",server="books"} 3
sluice_tool_calls_total{outcome="failed",server="facts"} 1
sluice_tool_calls_total{outcome="completed",server="other"} 9
sluice_streams_total{finish_reason="stop"} 1.2e+06
go_goroutines 17
sluice_streams_total_of_another{finish_reason="stop"} 5
`)
	if diff := cmp.Diff(map[string]int{"stop": 1_200_000}, f.sumByLabel("sluice_streams_total", "finish_reason")); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"completed": 12, "failed": 1}, f.sumByLabel("sluice_tool_calls_total", "outcome")); diff != "" {
		t.Errorf("a sum over servers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"books completed": 3, "facts failed": 1, "other completed": 9}, f.toolCalls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if f["go_goroutines"] != 17 {
		t.Errorf("goroutines: %v", f["go_goroutines"])
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ours, theirs map[string]int
		want         string
	}{
		{nil, nil, ""},
		{map[string]int{"stop": 3}, map[string]int{"stop": 3, "error": 0}, ""},
		{map[string]int{"stop": 3}, map[string]int{"stop": 4}, "stop: 3, gateway 4"},
		{map[string]int{"stop": 3}, nil, "stop: 3, gateway 0"},
		{nil, map[string]int{"error": 1}, "error: 0, gateway 1"},
	}
	for _, tt := range tests {
		if got := differences(tt.ours, tt.theirs); got != tt.want {
			t.Errorf("%v and %v: %q, want %q", tt.ours, tt.theirs, got, tt.want)
		}
	}
}

// What does not agree is found, and counted as what it is.
func TestLedger(t *testing.T) {
	t.Parallel()
	p := &place{model: newModel(0), books: &tools{tool: "count", ran: map[string]int{"a.1": 2, "b.1": 1, "c.1": 0}}, facts: &tools{ran: map[string]int{"d.1": 3}}}
	p.model.addGiven("a", 7, 0)
	p.model.addGiven("b", 7, 50)
	u := &user{place: p, name: "u0", tenant: "t0"}
	turn := func(calls string, dones, stray int, used int) *view {
		v := &view{turn: "t", dones: dones, stray: stray, reason: "stop", usage: usage{Input: used}, calls: map[string]call{}}
		if server, rest, ok := strings.Cut(calls, " "); ok {
			status, order, _ := strings.Cut(rest, " ")
			v.calls["c1"] = call{map[string]string{"books": "count", "facts": "look"}[server], server, status, order}
		}
		return v
	}
	l := newLedger()
	l.countTurn(u, order{id: "a"}, turn("books completed a.1", 1, 0, 7), false, false, nil) // ran twice
	l.countTurn(u, order{id: "b"}, turn("books completed b.1", 1, 0, 7), false, true, nil)  // fine, with a call that broke off
	l.countTurn(u, order{id: "c"}, turn("books completed c.1", 0, 1, 0), false, false, nil) // did not run, has no end
	l.countTurn(u, order{id: "d"}, turn("facts unknown d.1", 0, 0, 2), true, false, nil)    // left, no end, of tokens that nobody gave
	l.countTurn(u, order{id: "e"}, turn("", 2, 0, 0), false, false, nil)                    // two ends
	got := map[string]int{}
	for about, list := range l.faults {
		got[about] = len(list)
	}
	if diff := cmp.Diff(map[string]int{lostStreams: 2, lostEnds: 1, strayEvents: 1, wrongTokens: 1, wrongCalls: 2}, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s\n%v", diff, l.faults)
	}
	if want := (scenario.Totals{Streams: 5, Done: 2, ClientLeft: 1, Lost: 2}); l.totals != want {
		t.Errorf("%s, want %s", l.totals, want)
	}
	if l.tokens["t0"] != 64 || l.reported["t0"] != 16 || l.guesses != 50 || l.countDiffering() != 1 || l.cuts != 1 {
		t.Errorf("tokens %v, said %v, guesses %d, %d differ", l.tokens, l.reported, l.guesses, l.countDiffering())
	}
	want := map[string][]string{"facts unknown": {"call c1 of turn t, order d, which ended as stop"}}
	if diff := cmp.Diff(want, l.differingCalls(map[string]int{"books completed": 3})); diff != "" {
		t.Errorf("calls of a difference (-want +got):\n%s", diff)
	}
	if got := l.differingCalls(map[string]int{"facts unknown": 1}); len(got) > 0 {
		t.Errorf("without a difference: %v", got)
	}
	l.countRefusal(&refusal{Status: 429, Type: "rate_limited", Policies: []string{"user-requests"}})
	l.countRefusal(&refusal{Status: 401, Type: "unauthorized"})
	if sumCounts(l.refusals) != 2 || l.limits["user-requests"] != 1 || len(l.faults["refusals but for limits and overload"]) != 1 {
		t.Errorf("refusals %v, %v, %v", l.refusals, l.limits, l.faults)
	}
}

func TestViewOfATurn(t *testing.T) {
	t.Parallel()
	event := func(n int, name, data string) events.Event {
		return events.Event{Turn: "t", N: n, Name: name, Data: []byte(data)}
	}
	v := &view{}
	for _, e := range []events.Event{
		event(1, "start", `{"task_id":"task_1"}`),
		event(2, "tool_call", `{"call_id":"c","tool_name":"count","server":"books","status":"in_progress","arguments":{"order":"a.1"}}`),
		event(3, "tool_call", `{"call_id":"c","tool_name":"count","server":"books","status":"completed"}`),
		event(5, "response_delta", `{`), // its text is not read, and one event is missing
		event(6, "done", `{"finish_reason":"stop","usage":{"input_tokens":1,"output_tokens":2,"thinking_tokens":4}}`),
		event(7, "done", `{`),
	} {
		v.accept(e)
	}
	if v.task != "task_1" || v.calls["c"] != (call{"count", "books", "completed", "a.1"}) || v.dones != 2 || v.stray != 3 {
		t.Errorf("%+v", v)
	}
}

// What was replaced twice while a request was on its way may be refused, and the request is sent
// again with what is new; what was replaced once must count.
func TestReplacedOnTheWay(t *testing.T) {
	t.Parallel()
	for replaced, want := range map[int64]string{0: "401 unauthorized", 1: "401 unauthorized", 2: "<nil>", 3: "<nil>"} {
		p := &place{}
		l := newLedger()
		u := newUser(p, &plan{}, l, 0)
		u.credentials.Store(&credentials{"old", 1})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer old" {
				p.season.Store(1 + replaced)
				u.credentials.Store(&credentials{"new", 1 + replaced})
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error_type":"unauthorized"}`)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: t:1\nevent: done\ndata: {\"finish_reason\":\"stop\"}\n\n")
		}))
		p.url = srv.URL
		v := &view{}
		err := u.readStream(t.Context(), http.MethodPost, "/chat/stream", nil, "", v, func(e events.Event) bool { v.accept(e); return true })
		srv.Close()
		u.http.Load().CloseIdleConnections()
		belated := 0
		if replaced >= 2 {
			belated = 1
		}
		if fmt.Sprint(err) != want || v.dones != belated || l.belated != belated || l.refusals["unauthorized"] != belated {
			t.Errorf("replaced %d times: %v, %d done, %d belated, refusals %v", replaced, err, v.dones, l.belated, l.refusals)
		}
	}
}

// A request without an answer is no stream. It is sent again if it may have been too slow.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	u, l := &user{name: "u0"}, newLedger()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx   context.Context
		after time.Duration
		again bool
	}{{t.Context(), leastHead - 1, false}, {t.Context(), leastHead, true}, {over, leastHead, false}} {
		if again := l.mayResend(tt.ctx, u, io.EOF, tt.after); again != tt.again {
			t.Errorf("after %v, %v: %t", tt.after, tt.ctx.Err(), again)
		}
	}
	if l.resent != 1 || len(l.faults[noAnswer]) != 2 {
		t.Errorf("%d were sent again, faults %v", l.resent, l.faults)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer srv.Close()
	u = newUser(&place{url: srv.URL, model: newModel(0)}, &plan{}, l, 0)
	if u.runTurn(t.Context()); l.totals.Streams != 0 || len(l.faults[noAnswer]) != 3 || len(l.faults) != 1 {
		t.Errorf("%s, faults %v", l.totals, l.faults)
	}
}
