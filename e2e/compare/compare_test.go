package main

import (
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == upstreamFlag {
		serveUpstream(os.Args[2:])
		return
	}
	os.Exit(process.Main(m))
}

// These are the critical values of Wilcoxon's test, two-sided at 5 %, as books have them.
func TestRank(t *testing.T) {
	t.Parallel()
	got := map[int]int{}
	for _, n := range []int{6, 7, 8, 10, 12, 20} {
		got[n] = rankOutside(n)
	}
	if diff := cmp.Diff(map[int]int{6: 0, 7: 2, 8: 3, 10: 8, 12: 13, 20: 52}, got); diff != "" {
		t.Error(diff)
	}
}

// An interval has the ratio as often as it says, also where one slice in eight was disturbed, and
// says the same of the inverse.
func TestInterval(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const tries = 2000
	has, width := 0, 0.0
	for range tries {
		var costs, others []float64
		for range 12 {
			noise := func() float64 {
				if random.IntN(8) == 0 {
					return 1.5 + random.Float64()
				}
				return 1 + random.NormFloat64()/50
			}
			costs, others = append(costs, 1.2*noise()), append(others, noise())
		}
		found, inverse := ratioOf(costs, others), ratioOf(others, costs)
		if found.low <= 1.2 && 1.2 <= found.high {
			has++
		}
		width += (found.high - found.low) / tries
		if math.Abs(found.low*inverse.high-1) > 1e-9 || found.low > found.ratio || found.ratio > found.high {
			t.Fatalf("%v, and of the inverse %v", found, inverse)
		}
	}
	if share := float64(has) / tries; share < 0.94 || share > 0.98 {
		t.Errorf("an interval of 95 %% has the ratio in %.1f %%", 100*share)
	}
	if width > 0.5 {
		t.Errorf("an interval is %.2f wide", width)
	}
}

func TestWorse(t *testing.T) {
	t.Parallel()
	about := func(ratio float64) (costs []float64) {
		for i := range 12 {
			costs = append(costs, ratio*(1+float64(i%3-1)/100))
		}
		return costs
	}
	for _, tt := range []struct {
		name       string
		ours, base float64
		noise      float64
		want       bool
	}{
		{"the same", 1, 1, 1, false},
		{"a little more", 1.03, 1, 1, false},
		{"more", 1.08, 1, 1, true},
		{"less", 0.9, 1, 1, false},
		{"more, on a machine that is as noisy", 1.08, 1, 1.1, false},
	} {
		r := row{costs: map[string][]float64{nameNew: about(tt.ours), nameBase: about(tt.base), nameAgain: about(tt.noise)}}
		if got := r.isWorse(1.03); got != tt.want {
			t.Errorf("%s: worse is %t", tt.name, got)
		}
	}
}

// A turn that lacks something is an error, and never a cheap turn.
func TestTurnIsCounted(t *testing.T) {
	t.Parallel()
	const tool, one, two, done = "event: tool_result\ndata: {\"output\":\"~\"}\n\n", "event: response_delta\ndata: {\"text\":\"~a\"}\n\n",
		"event: response_delta\ndata: {\"text\":\"~a~b\"}\n\n", "event: done\ndata: {\"content\":\"~a~b~c\"}\n\n"
	for _, tt := range []struct{ name, body, want string }{
		{"whole", tool + one + two + done, ""},
		{"a call that has its result", strings.Replace(tool, "result", "call", 1) + two + one + done, ""},
		{"long lines", tool + one + strings.Replace(two, "~a", "~"+strings.Repeat("a", 10_000), 1) + done, ""},
		{"a chunk less", tool + two + done, "2 chunks of 3"},
		{"a chunk twice", tool + two + two + done, "4 chunks of 3"},
		{"no tool", one + two + done, "tool: false"},
		{"cut", tool + one + two, "done: false"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) }))
		d := &side{url: s.URL, http: s.Client()}
		first, err := d.runTurn(t.Context(), 3)
		s.Close()
		if tt.want == "" && (err != nil || first <= 0) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v after %v, want %q", tt.name, err, first, tt.want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	chosen, err := chooseScenarios("S4 S1")
	if err != nil || len(chosen) != 2 || chosen[0].name != "S4" {
		t.Errorf("%v, %v", chosen, err)
	}
	for _, list := range []string{"", "S1 S9"} {
		if _, err := chooseScenarios(list); err == nil || !strings.Contains(err.Error(), "S5t") {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, args := range [][]string{{}, {"-base", "x", "-rounds", "5"}, {"-base", "x", "-scenarios", "S9"}, {"-base", "x", "y"}} {
		var said strings.Builder
		if code := compare(t.Context(), args, io.Discard, &said); code != 2 || said.Len() == 0 {
			t.Errorf("%v: %d, %s", args, code, said.String())
		}
	}
}

// Each kind of scenario has its rows, of real gateways with real processes behind them.
func TestScenarios(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("CPU times of processes are those of Linux")
	}
	binary := process.Program(t)
	programs := []program{{name: nameNew, path: binary}, {name: nameBase, path: binary}, {name: nameAgain, path: binary}}
	events := countableEvents(t.Context(), []string{"task-clock"})
	for _, tt := range []struct {
		s    scenario
		rows []string
	}{
		{scenario{name: "turns", chunks: 3, clients: 2, turns: 2, events: events}, append([]string{"CPU a turn"}, rowsOf(events)...)},
		{scenario{name: "chunks", chunks: 30, clients: 2, turns: 2, kind: perChunk, store: "memory"}, []string{"CPU a chunk"}},
		{scenario{name: "text", chunks: 2, pause: time.Millisecond, clients: 2, turns: 2, kind: firstText, encrypted: true}, []string{"added to the first text, p50", "the same, p99", "CPU a turn"}},
		{scenario{name: "burst", chunks: 2, pause: 20 * time.Millisecond, clients: 200, turns: 1, kind: burst}, []string{"memory a stream", "CPU a turn", "added to the first text, p50"}},
	} {
		t.Run(tt.s.name, func(t *testing.T) {
			t.Parallel()
			rows, err := tt.s.measureRows(t.Context(), t.TempDir(), programs, fewestRounds)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rows {
				parts := strings.Split(r.name, ": ")
				got = append(got, parts[len(parts)-1])
				if found, ok := r.ratioBetween(nameNew, nameBase); !ok || len(r.costs[nameNew]) != fewestRounds || found.low <= 0 || found.high < found.low {
					t.Errorf("%s: %+v, %v", r.name, r.costs, found)
				}
				if _, ok := r.ratioBetween(nameNew, nameNew+withoutStore); ok != (tt.s.store != "") {
					t.Errorf("%s is compared with what keeps nothing: %t", r.name, ok)
				}
			}
			if diff := cmp.Diff(tt.rows, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func rowsOf(events []string) (names []string) {
	for _, e := range events {
		names = append(names, e+" a turn")
	}
	return names
}

func TestCounts(t *testing.T) {
	t.Parallel()
	const out = "1234567,,instructions:u,999,100.00,,\n<not supported>,,cycles,0,100.00,,\n12.50,msec,task-clock,12500000,100.00,0.9,CPUs utilized\n\nperf said something\n"
	if diff := cmp.Diff(map[string]float64{"instructions": 1234567, "task-clock": 12.5}, parseCounts([]byte(out))); diff != "" {
		t.Error(diff)
	}
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("there is no perf")
	}
	if got := countableEvents(t.Context(), []string{"no-such-event"}); got != nil {
		t.Errorf("%v can be counted", got)
	}
	if _, err := startCounting(t.Context(), 1<<22, []string{"task-clock"}); err == nil { // above the highest id that there is
		t.Error("a process that is not there is counted")
	}
}
