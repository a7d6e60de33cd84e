package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// of returns points at sizes whose cost is that of a function.
func of(cost func(n float64) float64, sizes ...int) (points []point) {
	for _, n := range sizes {
		points = append(points, point{n, []float64{cost(float64(n))}})
	}
	return points
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{7}, 0.5, 7}, {[]float64{3, 1}, 0.5, 2}, {[]float64{3, 1, 2}, 0.5, 2}, {[]float64{3, 1, 2}, 1, 3}, {[]float64{3, 1, 2}, 0, 1},
		{[]float64{5, 4, 1, 3, 2}, 0.25, 2}, {[]float64{4, 1, 3, 2}, 0.75, 3.25},
	} {
		if got := quantile(tt.values, tt.q); got != tt.want {
			t.Errorf("%v of %v: %g, want %g", tt.q, tt.values, got, tt.want)
		}
	}
	if got := (point{1, []float64{80, 100, 100, 100, 140, 90, 110}}).spread(); got != 0.05 {
		t.Errorf("spread %g", got)
	}
}

func TestExponent(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 10, 100, 1000}
	for name, tt := range map[string]struct {
		cost func(float64) float64
		want float64
	}{
		"constant": {func(float64) float64 { return 5 }, 0}, "linear": {func(n float64) float64 { return 3 * n }, 1},
		"square": {func(n float64) float64 { return n * n / 7 }, 2}, "root": {func(n float64) float64 { return 2 * math.Sqrt(n) }, 0.5},
	} {
		if got := exponent(of(tt.cost, sizes...)); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
		if got := exponent(of(tt.cost, append([]int{0}, sizes...)...)); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s with a size of 0: %g, want %g", name, got, tt.want)
		}
	}
	for _, few := range [][]int{nil, {5}, {0, 5}} {
		if got := exponent(of(func(float64) float64 { return 1 }, few...)); !math.IsNaN(got) {
			t.Errorf("of %v: %g", few, got)
		}
	}
	// A square that hides behind what does not grow is seen at the end.
	hidden := of(func(n float64) float64 { return 1e6 + n*n }, 1, 10, 100, 1000, 10_000, 100_000)
	if all, end := exponent(hidden), exponent(atTheEnd(hidden)); all > 1.1 || end < 1.8 {
		t.Errorf("all sizes %g, at the end %g", all, end)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	unit, fixed := fitLine(of(func(n float64) float64 { return 300 + 2.5*n }, 0, 10, 100, 50_000))
	if math.Abs(unit-2.5) > 1e-6 || math.Abs(fixed-300) > 1e-6 {
		t.Errorf("%g + %g each", fixed, unit)
	}
	// What is off by a tenth where the total is large does not move what is there without any unit.
	points := of(func(n float64) float64 { return 300 + 2.5*n }, 10, 100, 1000, 10_000)
	points[3].runs[0] *= 1.1
	if _, fixed := fitLine(points); fixed < 280 || fixed > 320 {
		t.Errorf("fixed %g", fixed)
	}
	// What the units add is not named where it is less than a tenth at the largest size.
	c := &chart{}
	level := c.formatLine(of(func(n float64) float64 { return 300 + 0.02*n }, 10, 100, 1000))
	rising := c.formatLine(of(func(n float64) float64 { return 300 + 0.2*n }, 10, 100, 1000))
	if level != "300 µs" || rising != "300 µs + 200 ns each" {
		t.Errorf("%q and %q", level, rising)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	cpu, memory := &chart{}, &chart{bytes: true}
	for want, got := range map[string]string{
		"120 ns": cpu.formatCost(0.12), "2.27 µs": cpu.formatCost(2.268), "10.0 µs": cpu.formatCost(9.996), "99.9 µs": cpu.formatCost(99.94), "100 µs": cpu.formatCost(99.96),
		"1.00 ms": cpu.formatCost(999.6), "999 µs": cpu.formatCost(999.4), "46.4 s": cpu.formatCost(46.4e6), "1200 s": cpu.formatCost(1.2e9), "-66.2 ms": cpu.formatCost(-66_200),
		"60.2 KB": memory.formatCost(60_200), "5.00 B": memory.formatCost(5), "58.3 GB": memory.formatCost(58.3e9),
		"999": formatCount(999), "1,000": formatCount(1000), "1,234,567": formatCount(1_234_567), "0": formatCount(0),
		"1.0": formatNumber(1.004), "2,000,011": formatNumber(2_000_010.6),
		"0.00": formatExponent(-0.001), "1.01": formatExponent(1.006), "": formatExponent(math.NaN()),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// tried is a chart of two series, whose sizes differ, and one of which has a size of 0.
func tried() *chart {
	return &chart{title: "CPU <a> cup & more", x: "cups", series: []*series{
		{name: "tea", points: of(func(n float64) float64 { return 100 + 10*n }, 0, 1, 10, 100, 1000)},
		{name: "coffee", points: of(func(float64) float64 { return 50 }, 1, 20)},
	}}
}

func TestTable(t *testing.T) {
	t.Parallel()
	const want = "CPU <a> cup & more\n\n| cups | tea | coffee |\n| --- | --- | --- |\n" +
		"| 0 | 100 µs ±0 % |  |\n| 1 | 110 µs ±0 % | 50.0 µs ±0 % |\n| 10 | 200 µs ±0 % |  |\n| 20 |  | 50.0 µs ±0 % |\n| 100 | 1.10 ms ±0 % |  |\n| 1,000 | 10.1 ms ±0 % |  |\n" +
		"| exponent | 0.66 | 0.00 |\n| exponent of the three largest | 0.85 | 0.00 |\n| line | 100 µs + 10.0 µs each | 50.0 µs |\n\n"
	if diff := cmp.Diff(want, tried().formatTable()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	each := &chart{each: true, series: []*series{{name: "tea", points: of(func(n float64) float64 { return 10 * n }, 1, 10)}}}
	if got := each.formatCell(each.series[0], 10); got != "10.0 µs ±0 %" {
		t.Error(got)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		`{"text":"chunks 50."}`: "50", `{"text":"chunks 50"}`: "", `{"text":"hello."}`: "", `chunks ` + strings.Repeat("x", 65) + ".": "",
	} {
		if got := wordAfter([]byte(asked), "chunks "); got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"sluice", "no such dimension"}, {"-rounds", "0", "sluice"}, {"-most", "0", "sluice"}, {"-no", "sluice"}} {
		var out, complaint strings.Builder
		if code := growth(t.Context(), args, &out, &complaint); code != 2 || out.Len() > 0 || !strings.Contains(complaint.String(), "usage") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, &out, &complaint)
		}
	}
}

// What cannot be measured is no result.
func TestWithoutAGateway(t *testing.T) {
	t.Parallel()
	for _, d := range dimensions() {
		if d.Name == "tasks-redis" {
			continue // is skipped where there is no server
		}
		var out, complaint strings.Builder
		missing := filepath.Join(t.TempDir(), "missing")
		if code := growth(t.Context(), []string{"-most", "500", missing, d.Name}, &out, &complaint); code != 1 || out.Len() > 0 || !strings.Contains(complaint.String(), d.Name) {
			t.Errorf("%s: exit code %d, %q, %q", d.Name, code, &out, &complaint)
		}
	}
}
