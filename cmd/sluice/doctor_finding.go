package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// finding is one thing that the doctor has looked at.
type finding struct {
	Check   string   `json:"check"`
	Verdict verdict  `json:"verdict"`
	Seen    string   `json:"seen"`
	Means   string   `json:"means,omitempty"`
	Change  []string `json:"change,omitempty"` // one for each place where it may be done
}

type verdict string

const (
	good    verdict = "ok"
	note    verdict = "note" // worth knowing; nothing breaks
	problem verdict = "problem"
)

// found records a finding. The texts may repeat what a server said.
func (d *doctor) found(f finding) {
	f.Seen = printable(f.Seen)
	d.findings = append(d.findings, f)
	d.show(f)
}

func (d *doctor) ok(check, format string, args ...any) {
	d.found(finding{Check: check, Verdict: good, Seen: fmt.Sprintf(format, args...)})
}

func (f finding) print(w io.Writer, s style) {
	color := map[verdict]string{good: s.green, note: s.yellow, problem: s.red}[f.Verdict]
	fmt.Fprintf(w, "  %s%-8s%s%-12s%s\n", color, f.Verdict, s.reset, f.Check, f.Seen)
	if f.Means != "" {
		fmt.Fprintf(w, "%22s%s%s%s\n", "", s.dim, f.Means, s.reset)
	}
	for _, c := range f.Change {
		fmt.Fprintf(w, "%22s→ %s\n", "", c)
	}
}

// ms writes a time as a person reads it.
func ms(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// thousands writes a number of bytes.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// count writes "1 tick" or "3 ticks".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// join leaves out what is empty.
func join(parts ...string) string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, ", ")
}
