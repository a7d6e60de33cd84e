package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowIsBrokenIfAnyFigureIs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		figures []Verdict
		want    Verdict
	}{
		{"nothing measured", nil, Broke},
		{"all good", []Verdict{Fine, Fine}, Fine},
		{"one broken", []Verdict{Fine, Broke, Fine}, Broke},
		{"one skipped", []Verdict{Fine, Skipped}, Fine},
		{"all skipped", []Verdict{Skipped, Skipped}, Skipped},
		{"broken and told", []Verdict{Fine, Reported, Broke}, Broke},
		{"good and told", []Verdict{Reported, Fine}, Fine},
		{"told alone", []Verdict{Reported}, Broke},
		{"skipped and broken", []Verdict{Skipped, Broke}, Broke},
	}
	for _, tt := range tests {
		var r Row
		for _, v := range tt.figures {
			r.Figures = append(r.Figures, Figure{Verdict: v})
		}
		if got := r.Verdict(); got != tt.want {
			t.Errorf("%s: the row is %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTotalsAreAdded(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	rows := []Named[*Run]{{Name: "a"}, {Name: "b"}, {Name: "none"}}
	code := Table(t.Context(), &out, rows, func(_ context.Context, s Named[*Run]) Row {
		row := Row{Name: s.Name, Figures: []Figure{{Verdict: Fine}}}
		if s.Name != "none" {
			row.Totals = Totals{Streams: 10, Done: 7, ClientLeft: 2, Lost: 1}
		}
		return row
	})
	if code != 0 || !strings.HasSuffix(out.String(), "\ntotals: streams 20, done 14, left by client 4, lost 2\n") {
		t.Errorf("exit code %d\n%s", code, &out)
	}
	out.Reset()
	if Table(t.Context(), &out, rows[2:], func(context.Context, Named[*Run]) Row { return Row{} }); strings.Contains(out.String(), "totals") {
		t.Errorf("a row without streams has totals:\n%s", &out)
	}
}

// What a scenario has started is ended however it ends, and what it noted until then stays.
func TestPerform(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		do    func(r *Run)
		want  Verdict
		panic any
	}{
		{"runs to its end", func(*Run) {}, Fine, nil},
		{"fails", func(r *Run) { r.Must(errors.New("no")) }, Broke, nil},
		{"lacks something", func(r *Run) { r.Lack("a program") }, Fine, nil},
		{"has a bug", func(*Run) { panic("bug") }, "", "bug"},
	} {
		var ends []int
		var row Row
		caught := func() (p any) {
			defer func() { p = recover() }()
			r := &Run{Ctx: t.Context()}
			row = r.Perform(func() {
				r.AtEnd(func() { ends = append(ends, 1) })
				r.AtEnd(func() { ends = append(ends, 2) })
				r.Exactly("spoons", 1, 1)
				tt.do(r)
			})
			return nil
		}()
		if diff := cmp.Diff([]int{2, 1}, ends); caught != tt.panic || diff != "" {
			t.Errorf("%s: panic %v, ends (-want +got):\n%s", tt.name, caught, diff)
		}
		if tt.panic == nil && row.Verdict() != tt.want {
			t.Errorf("%s: %s", tt.name, row.Verdict())
		}
	}
}

func TestMisused(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if code := Misused(&out, "tea [flags] CUP", errors.New("which cup?")); code != 2 || out.String() != "tea: which cup?\nusage: tea [flags] CUP\n" {
		t.Errorf("%d, %q", code, &out)
	}
}
