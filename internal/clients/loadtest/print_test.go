package loadtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() Report {
	return Report{
		URL: "http://127.0.0.1:8080", Method: "POST", Loop: "closed", Clients: 64, Seconds: 12.04, Measured: 10,
		Measures: Measures{
			Streams: Streams{
				Started: 1210, Done: 1204, Failed: 3, Refused: 2, Broken: 1, Dropped: 7,
				FailedBy: map[string]int64{"timeout": 1, "model_error": 2}, RefusedBy: map[string]int64{"503": 2}, BrokenBy: map[string]int64{"cut": 1},
			},
			FirstEvent:   Quantiles{1204, 0.812, 1.25, 14.04, 250.4},
			FirstText:    Quantiles{1204, 381, 390.6, 402, 1403},
			Turn:         Quantiles{1204, 451, 462, 1475, 12000},
			TurnsPerSec:  120.4,
			DonePerSec:   119.8,
			EventsPerSec: 15352,
			BytesPerSec:  1_524_000,
		},
		Server:       Server{PID: 77, Name: "sluice", Cores: 0.5, CPUPerTurn: 4.125, CPUPerEvent: 32.5, RSSStart: 24 << 20, RSSPeak: 61 << 20, RSSEnd: 58 << 20},
		GeneratorCPU: 0.31, Cores: 2, Warnings: []string{"a warning"}, Examples: []string{"turn 3, req_1: broken: cut"},
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	const want = `
POST http://127.0.0.1:8080, accumulated false
closed loop, 64 clients; 12.0 s, of which 10.0 s measured

  started        1210
  done           1204
  failed            3  model_error ×2, timeout ×1
  refused           2  503 ×2
  broken            1  cut ×1
  unreconciled      0
  dropped           7

  ms              p50   p90   p99    max
  first event    0.81  1.25  14.0    250
  first text      381   391   402   1403
  turn            451   462  1475  12000
  gap               -     -     -      -

  throughput     120 turns/s, 15352 events/s, 1.52 MB/s
  goodput        120 turns/s ended with success
  server         sluice, pid 77: 4.12 ms of CPU a turn, 32.5 µs an event; 0.50 of 2 cores
  memory         24.0 MiB at first, 61.0 at most, 58.0 at the end
  generator      0.31 of 2 cores
  warning        a warning

NOT OK: 13 of 1217 turns did not end well.
  turn 3, req_1: broken: cut

totals: streams 1208, done 1207, left by client 0, lost 1
`
	var b strings.Builder
	rep := sampleReport()
	if err := rep.Print(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		generator float64
		server    float64
		turns     int64
		want      string
	}{
		{"fine", 0.5, 0.5, 1, ""},
		{"the generator is the limit", 1.7, 0.1, 1, "the generator kept"},
		{"the machine is the limit", 0.9, 1.0, 1, "server and generator together"},
		{"nothing measured", 0.1, 0.1, 0, "no turn was measured"},
	} {
		rep := Report{GeneratorCPU: tt.generator, Server: Server{Cores: tt.server}, Cores: 2, Measured: 1, Measures: Measures{Turn: Quantiles{Count: tt.turns}}}
		got := strings.Join(rep.findWarnings(), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What has not begun is no stream, and each that has is in one of the counts.
func TestTotals(t *testing.T) {
	t.Parallel()
	r := Report{Measures: Measures{Streams: Streams{
		Started: 100, Done: 40, Failed: 20, Refused: 10, Broken: 12, Unreconciled: 5, LeftEarly: 8, Interrupted: 5, Dropped: 30,
		BrokenBy: map[string]int64{noConnection: 3, noResponse: 4, cutOff: 2, endedEarly: 2, timedOut: 1},
	}}}
	var b strings.Builder
	r.printTotals(&b)
	if got, want := b.String(), "\ntotals: streams 83, done 60, left by client 13, lost 10\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
