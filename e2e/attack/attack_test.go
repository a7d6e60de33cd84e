package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
	"sluice/e2e/scenario"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

func TestTable(t *testing.T) {
	t.Parallel()
	r := &run{Run: scenario.Run{Ctx: t.Context(), Row: scenario.Row{Name: "tea"}}, slow: 1}
	r.Try(func() {
		r.atMost("cups", 3, 4)
		r.Exactly("spoons", 1, 2)
		r.Skip("milk", "none here")
		r.Must(errors.New("no\nwater"))
		r.Exactly("never reached", 1, 1)
	})
	var out strings.Builder
	r.Row.Print(&out)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"tea cups 3 <= 4 ok", "spoons 1 2 BROKEN", "milk none here skipped", "the scenario no water runs to its end BROKEN"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEndOfATurn(t *testing.T) {
	t.Parallel()
	const start = "id: r:1\nevent: start\ndata: {}\n\n"
	tests := []struct {
		got  reply
		want string
	}{
		{reply{status: 200, body: start + "event: done\ndata: {\"finish_reason\":\"stop\"}\n\n"}, "stop"},
		{reply{status: 200, body: start + "event: error\ndata: {\"error_type\":\"overloaded\"}\n\nevent: done\ndata: {\"finish_reason\":\"error\"}\n\n"}, "overloaded"},
		{reply{status: 200, body: start + "event: done\ndata: {\"finish_reason\":\"stop\"}\n"}, "no done"},
		{reply{status: 200, body: start, err: errors.New("cut")}, "cut"},
		{reply{status: 503, body: `{"error_type":"shutting_down"}`}, "shutting_down"},
		{reply{status: 502, body: "<html>"}, "status 502"},
		{reply{err: errors.New("no answer in time")}, "no answer in time"},
	}
	for _, tt := range tests {
		if got := newTurn(tt.got).endReason(); got != tt.want {
			t.Errorf("%+v ends as %q, want %q", tt.got, got, tt.want)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"sluice", "head", "no such row"}} {
		var out, complaint strings.Builder
		if code := attack(t.Context(), args, &out, &complaint); code != 2 || out.Len() > 0 || !strings.Contains(complaint.String(), "usage") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &complaint)
		}
	}
}

// A program that is not a gateway must not pass for one that holds.
func TestEveryRowIsBrokenWithoutAGateway(t *testing.T) {
	t.Parallel()
	binaries := []string{filepath.Join(t.TempDir(), "missing")}
	if path, err := exec.LookPath("true"); err == nil {
		binaries = append(binaries, path)
	}
	for _, binary := range binaries {
		for _, s := range scenarios() {
			// With few descriptors a row is scenario.Skipped before it starts anything.
			if r := performRow(t.Context(), binary, s); r.Verdict() == scenario.Fine {
				t.Errorf("%s with %s: %+v", s.Name, binary, r)
			}
		}
	}
}

// What is quick and measures no load is a test as well.
func TestGatewayHolds(t *testing.T) {
	t.Parallel()
	binary := process.Program(t)
	for _, name := range []string{"head", "foreign page", "odd usage", "bidi", "short key", "no home"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, complaint strings.Builder
			if code := attack(t.Context(), []string{binary, name}, &out, &complaint); code != 0 {
				t.Errorf("exit code %d\n%s%s", code, &out, &complaint)
			}
		})
	}
}

func TestQuartiles(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"1.00 (1.00 to 1.00)": {1},
		"2.50 (1.50 to 3.50)": {4, 1, 3, 2},
		"3.00 (2.00 to 4.00)": {5, 4, 1, 3, 2},
		"3.50 (2.50 to 4.50)": {6, 5, 4, 1, 3, 2},
	} {
		if got := formatQuartiles(values); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}
