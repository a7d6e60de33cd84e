package loadtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the report for a person to read.
func (r *Report) Print(w io.Writer) error {
	b := new(strings.Builder)
	r.printRun(b)
	r.printStreams(b)
	r.printTimes(b)
	r.printCost(b)
	r.printVerdict(b)
	r.printTotals(b)
	_, err := io.WriteString(w, b.String())
	return err
}

// printRun writes the configuration of the run.
func (r *Report) printRun(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s %s, accumulated %t\n", r.Method, r.URL, r.Accumulated)
	if r.Loop == "open" {
		fmt.Fprintf(b, "open loop, %g turns/s, at most %d at once", r.Rate, r.MaxInFlight)
	} else {
		fmt.Fprintf(b, "closed loop, %d clients", r.Clients)
	}
	fmt.Fprintf(b, "; %.1f s, of which %.1f s measured", r.Seconds, r.Measured)
	if r.Stopped {
		b.WriteString("; stopped early")
	}
	b.WriteString("\n\n")
}

// printStreams writes how turns ended. Rare classes have a line only if there were any.
func (r *Report) printStreams(b *strings.Builder) {
	s := &r.Streams
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n int64, by map[string]int64) {
		fmt.Fprintf(t, "%-13s\t%d\t%s\n", name, n, listCauses(by))
	}
	row("started", s.Started, nil)
	row("done", s.Done, nil)
	row("failed", s.Failed, s.FailedBy)
	row("refused", s.Refused, s.RefusedBy)
	row("broken", s.Broken, s.BrokenBy)
	row("unreconciled", s.Unreconciled, s.UnreconciledBy)
	for _, rare := range []struct {
		name string
		n    int64
	}{{"left", s.LeftEarly}, {"interrupted", s.Interrupted}, {"dropped", s.Dropped}, {"resumed", s.Resumed}, {"taken over", s.TakenOver}} {
		if rare.n > 0 {
			row(rare.name, rare.n, nil)
		}
	}
	_ = t.Flush()
}

// listCauses lists them, the most frequent first.
func listCauses(by map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return int(by[b] - by[a])
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s ×%d", name, by[name])
	}
	if len(names) == 0 {
		return ""
	}
	return "  " + strings.Join(names, ", ")
}

// printTimes writes the latencies, in milliseconds.
func (r *Report) printTimes(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\n%-13s\tp50\tp90\tp99\tmax\t\n", "ms")
	for _, row := range []struct {
		name string
		q    Quantiles
	}{{"first event", r.FirstEvent}, {"first text", r.FirstText}, {"turn", r.Turn}, {"gap", r.Gap}} {
		if row.q.Count == 0 {
			fmt.Fprintf(t, "%-13s\t-\t-\t-\t-\t\n", row.name)
			continue
		}
		fmt.Fprintf(t, "%-13s\t%s\t%s\t%s\t%s\t\n", row.name, formatFigure(row.q.P50), formatFigure(row.q.P90), formatFigure(row.q.P99), formatFigure(row.q.Max))
	}
	_ = t.Flush()
}

// formatFigure shows about three digits.
func formatFigure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// printCost writes throughput, the server's usage, and doubts about the figures.
func (r *Report) printCost(b *strings.Builder) {
	s := &r.Server
	fmt.Fprintf(b, "\n  throughput     %s turns/s, %s events/s, %s MB/s\n", formatFigure(r.TurnsPerSec), formatFigure(r.EventsPerSec), formatFigure(r.BytesPerSec/1e6))
	if r.Streams.Done < r.Streams.Started {
		fmt.Fprintf(b, "  goodput        %s turns/s ended with success\n", formatFigure(r.DonePerSec))
	}
	if s.Unknown != "" {
		fmt.Fprintf(b, "  server         not known: %s\n", s.Unknown)
	} else {
		fmt.Fprintf(b, "  server         %s, pid %d: %s ms of CPU a turn, %s µs an event; %.2f of %d cores\n",
			s.Name, s.PID, formatFigure(s.CPUPerTurn), formatFigure(s.CPUPerEvent), s.Cores, r.Cores)
		fmt.Fprintf(b, "  memory         %s MiB at first, %s at most, %s at the end\n", formatMebibytes(s.RSSStart), formatMebibytes(s.RSSPeak), formatMebibytes(s.RSSEnd))
	}
	if r.GeneratorCPU > 0 {
		fmt.Fprintf(b, "  generator      %.2f of %d cores\n", r.GeneratorCPU, r.Cores)
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(b, "  warning        %s\n", text)
	}
}

// formatMebibytes writes n bytes in MiB.
func formatMebibytes(n int64) string { return formatFigure(float64(n) / (1 << 20)) }

// printVerdict writes whether all is well, and a few of the turns that were not.
func (r *Report) printVerdict(b *strings.Builder) {
	s := &r.Streams
	if r.OK {
		fmt.Fprintf(b, "\nOK: every stream that was not left ended with exactly one done, and success.\n")
		return
	}
	fmt.Fprintf(b, "\nNOT OK: %d of %d turns did not end well.\n", s.Started-s.Done-s.LeftEarly+s.Dropped, s.Started+s.Dropped)
	for _, text := range r.Examples {
		fmt.Fprintf(b, "  %s\n", text)
	}
}

// printTotals writes the streams in a form that can be added over runs and programs: those with
// status 200, each in exactly one of the other counts. A stream that broke the contract counts as
// lost.
func (r *Report) printTotals(b *strings.Builder) {
	s := &r.Streams
	done, gone, lost := s.Done+s.Failed, s.LeftEarly+s.Interrupted, s.Broken-s.BrokenBy[noConnection]-s.BrokenBy[noResponse]+s.Unreconciled
	fmt.Fprintf(b, "\ntotals: streams %d, done %d, left by client %d, lost %d\n", done+gone+lost, done, gone, lost)
}
