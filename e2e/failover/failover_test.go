package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/events"
	built "sluice/e2e/process"
	"sluice/e2e/scenario"
	"sluice/internal/base/config/configtest"
)

func TestMain(m *testing.M) {
	configtest.Parallel(8)
	os.Exit(built.Main(m))
}

func TestViewOfATurn(t *testing.T) {
	t.Parallel()
	event := func(turn string, n int, name, data string) events.Event {
		return events.Event{Turn: turn, N: n, Name: name, Data: []byte(data)}
	}
	const start, done = `{"task_id":"task_1"}`, `{"finish_reason":"stop"}`
	tests := []struct {
		name   string
		frames []events.Event
		dones  int
		stray  int
	}{
		{"whole", []events.Event{event("t", 1, "start", start), event("t", 2, "done", done)}, 1, 0},
		{"a gap", []events.Event{event("t", 1, "start", start), event("t", 3, "done", done)}, 1, 1},
		{"twice", []events.Event{event("t", 1, "start", start), event("t", 1, "start", start), event("t", 2, "done", done)}, 1, 1},
		{"behind done", []events.Event{event("t", 1, "done", done), event("t", 2, "done", done)}, 2, 1},
		{"another turn", []events.Event{event("t", 1, "start", start), event("u", 2, "done", done)}, 1, 1},
		{"no JSON", []events.Event{event("t", 1, "start", "{")}, 0, 1},
	}
	for _, tt := range tests {
		v := newView()
		for _, f := range tt.frames {
			v.accept(f)
		}
		if v.dones != tt.dones || v.stray != tt.stray {
			t.Errorf("%s: %d done, %d stray", tt.name, v.dones, v.stray)
		}
	}
}

// What is scenario.Reported of calls must agree with what the tool server has counted.
func TestCountsThatDoNotAgree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status string
		ran    int
		good   bool
	}{
		{"completed", 1, true}, {"completed", 0, false}, {"completed", 2, false}, {"unknown", 0, true}, {"unknown", 1, true},
		{"unknown", 2, false}, {"failed", 0, true}, {"failed", 1, false}, {"in_progress", 0, false}, {"", 0, true}, {"", 1, false},
	} {
		v := newView()
		if tt.status != "" {
			v.calls["c"] = tt.status
		}
		counted := &tools{calls: map[string]int{"x.1": tt.ran}}
		if wrong := miscounted(counted, order{id: "x", calls: 1}, v); (len(wrong) == 0) != tt.good {
			t.Errorf("%q, ran %d times: %q", tt.status, tt.ran, wrong)
		}
	}
}

func TestKillThatExplains(t *testing.T) {
	t.Parallel()
	came := time.Now()
	call := calling{came, came.Add(time.Second)}
	for after, want := range map[time.Duration]bool{-time.Millisecond: false, time.Millisecond: true, 1400 * time.Millisecond: true, 2 * time.Second: false} {
		d := deaths{list: []time.Time{came.Add(after)}}
		if got := d.canExplain(call); got != want {
			t.Errorf("a kill %v behind the call: %v", after, got)
		}
	}
}

func TestOrderOfAText(t *testing.T) {
	t.Parallel()
	r := &run{Run: scenario.Run{Ctx: t.Context()}}
	defer r.End()
	url := r.Serve(&model{})
	for _, tt := range []struct{ body, want string }{
		{order{id: "a1", calls: 1, words: 2}.String(), `"functionCall":{"name":"count","args":{"order":"a1.1"}}`},
		{order{id: "a1", calls: 1, words: 2}.String() + `"functionResponse"`, `"text":"word1 "`},
		{"something else", `"text":"end."`},
	} {
		resp, err := newClient().sendRequest(t.Context(), "POST", url, tt.body)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		_ = resp.Write(&b)
		_ = resp.Body.Close()
		if !strings.Contains(b.String(), tt.want) {
			t.Errorf("%s: %s", tt.body, b.String())
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := &run{Run: scenario.Run{Ctx: t.Context(), Row: scenario.Row{Name: "tea"}}}
	r.Try(func() {
		r.Exactly("spoons", 1, 2)
		r.checkEmpty("stains", nil)
		r.Report("guests", "%d", 3)
		r.checkTimes("cups", []time.Duration{time.Second, 2 * time.Second}, 0.5, 3*time.Second)
		r.Must(errors.New("no\nwater"))
		r.Exactly("never reached", 1, 1)
	})
	var out strings.Builder
	r.Row.Print(&out)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"tea spoons 1 2 BROKEN", "stains 0 0 ok", "guests 3", "cups p50 2s, p99 2s, most 2s p50 <= 3s ok", "the scenario no water runs to its end BROKEN"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-no", "sluice"}, {"sluice", "no such row"}} {
		var out, complaint strings.Builder
		if code := failover(t.Context(), args, &out, &complaint); code != 2 || out.Len() > 0 || !strings.Contains(complaint.String(), "usage") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &complaint)
		}
	}
}

// The rows in small, with programs of their own: what is killed here in a minute is killed
// by scripts/failover.sh for longer.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	built.Needed(t)
	for _, program := range []string{"redis-server", "haproxy"} {
		if _, err := findProgram(program); err != nil {
			t.Skipf("%s is not on this machine", program)
		}
	}
	binary := built.Program(t)
	for _, name := range []string{"killed in turns", "killed in runs", "shared key", "reconciled", "kills", "stops", "silent store", "deploy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, complaint strings.Builder
			args := []string{"-turns", "20", "-runs", "10", "-kills", "1", "-redis", "0", "-load", "200", "-clients", "8", "-lease", "5s", "-live", "8", "-calm", "6s", "-for", "20s", "-every", "7s", "-deployed", "60", "-long", "6s", "-silence", "1m",
				"-haproxy", "../../deploy/haproxy.cfg", "-refund", "../../examples/workflows/refund.yaml", binary, name}
			if code := failover(t.Context(), args, &out, &complaint); code != 0 {
				t.Errorf("exit code %d\n%s%s", code, &out, &complaint)
			}
		})
	}
}

// Each stream is in exactly one of the counts, and what was refused in none.
func TestTotals(t *testing.T) {
	t.Parallel()
	l := &loader{turns: []loadTurn{{view: &view{last: 9, dones: 1}}, {view: &view{last: 3}}, {view: &view{}}, {view: &view{last: 9, dones: 2}}}}
	if got, want := l.countStreams(), (scenario.Totals{Streams: 3, Done: 1, Lost: 2}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
