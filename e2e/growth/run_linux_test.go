package main

import (
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
			plan := plan{rounds: 1, most: p.most, slice: time.Millisecond}
			for _, d := range dimensions() {
				if d.Name != name {
					continue
				}
				var out strings.Builder
				if err := plan.performDimension(t.Context(), binary, d, &out); err != nil {
					t.Fatal(err)
				}
				for _, row := range p.rows {
					if !strings.Contains(out.String(), row) {
						t.Errorf("no %s in\n%s", row, &out)
					}
				}
			}
		})
	}
}
