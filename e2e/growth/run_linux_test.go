package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
)

// A short run of what is quick: what is measured is in the table and in the picture.
func TestGrowth(t *testing.T) {
	t.Parallel()
	binary := process.Program(t)
	for name, p := range map[string]struct {
		most int
		rows []string
	}{
		"chunks":       {500, []string{"| 100 |", "| 500 |", "| exponent |"}},
		"nodes":        {10, []string{"| 5 |", "| 10 |"}},
		"tasks-sqlite": {100, []string{"| 10 |", "| 100 |"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := plan{out: t.TempDir(), rounds: 1, most: p.most, slice: time.Millisecond}
			for _, d := range dimensions() {
				if d.Name != name {
					continue
				}
				var out strings.Builder
				if err := plan.perform(t.Context(), binary, d, &out); err != nil {
					t.Fatal(err)
				}
				for _, row := range p.rows {
					if !strings.Contains(out.String(), row) {
						t.Errorf("no %s in\n%s", row, &out)
					}
				}
			}
			picture, err := os.ReadFile(filepath.Join(plan.out, name+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			wellFormed(t, name, picture)
		})
	}
}

// The clock is that of the process.
func TestClocks(t *testing.T) {
	t.Parallel()
	before, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
	}
	if after, err := cpuOf(os.Getpid()); err != nil || after <= before {
		t.Errorf("%s, then %s, %v", before, after, err)
	}
	if m, err := memoryOf(os.Getpid()); err != nil || m < 1<<20 {
		t.Errorf("memory %g, %v", m, err)
	}
	if n, err := filesOf(os.Getpid()); err != nil || n < 3 {
		t.Errorf("%d files, %v", n, err)
	}
	if _, err := cpuOf(1 << 22); err == nil {
		t.Error("a process that there cannot be has a clock")
	}
}
