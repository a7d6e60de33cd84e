package doctor

import (
	"fmt"
	"strings"
	"time"
)

// Finding is the result of one check: the observation, its meaning for clients, and the remedies.
type Finding struct {
	Check   string   `json:"check"`
	Verdict Verdict  `json:"verdict"`
	Seen    string   `json:"seen"`
	Means   string   `json:"means,omitempty"`
	Change  []string `json:"change,omitempty"` // one for each place where it may be done
}

// Verdict says how good a finding is.
type Verdict string

// The verdicts.
const (
	Good    Verdict = "ok"
	Notice  Verdict = "note" // worth knowing; nothing breaks
	Problem Verdict = "problem"
)

// addFinding records a finding.
func (d *examination) addFinding(f Finding) {
	d.findings = append(d.findings, f)
	if d.cfg.Show != nil {
		d.cfg.Show(f)
	}
}

// addGood records that a check found nothing to change.
func (d *examination) addGood(check, format string, args ...any) {
	d.addFinding(Finding{Check: check, Verdict: Good, Seen: fmt.Sprintf(format, args...)})
}

// formatTime writes a time as a person reads it.
func formatTime(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// formatBytes writes a number of bytes.
func formatBytes(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// formatCount writes "1 tick", "3 ticks" or "2 addresses".
func formatCount(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// joinParts joins the parts that are not empty.
func joinParts(parts ...string) string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, ", ")
}
