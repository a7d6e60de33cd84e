package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Verdict is the judgement of a figure.
type Verdict string

const (
	Fine  Verdict = "ok"
	Broke Verdict = "BROKEN"
	// Skipped marks a figure that this machine cannot measure.
	Skipped Verdict = "skipped"
	// Reported is a figure that explains others and is neither good nor bad.
	Reported Verdict = ""
)

// Figure is a line of the table.
type Figure struct {
	Name, Measured, Expected string
	Verdict                  Verdict
}

// Row has the results of one scenario.
type Row struct {
	Name    string
	Figures []Figure
	Totals  Totals // zero: the row is not about streams
}

// Totals are the streams of a row, in a form that can be added over rows, runs and programs:
// each stream is in exactly one of the other counts.
type Totals struct {
	Streams    int // that were begun: answered with 200
	Done       int // whose client stayed, with exactly one done
	ClientLeft int // whose client left before
	Lost       int // whose client stayed, without exactly one done
}

// Add returns the sum.
func (t Totals) Add(o Totals) Totals {
	return Totals{t.Streams + o.Streams, t.Done + o.Done, t.ClientLeft + o.ClientLeft, t.Lost + o.Lost}
}

// String returns the line that programs print. A script can add such lines.
func (t Totals) String() string {
	return fmt.Sprintf("totals: streams %d, done %d, left by client %d, lost %d", t.Streams, t.Done, t.ClientLeft, t.Lost)
}

// Verdict returns Broke if a figure is broken, or if all figures are only reported. A row with
// skipped and reported figures alone is skipped.
func (r Row) Verdict() Verdict {
	v := Broke
	for _, f := range r.Figures {
		switch {
		case f.Verdict == Broke:
			return Broke
		case f.Verdict == Fine, f.Verdict == Skipped && v == Broke:
			v = f.Verdict
		}
	}
	return v
}

const format = "%-16s %-52s %-34s %-26s %s\n"

// printHead prints the head of the table.
func printHead(w io.Writer) {
	fmt.Fprintf(w, format, "row", "figure", "measured", "expected", "verdict")
	fmt.Fprintln(w, strings.Repeat("-", 140))
}

// Print prints the row's figures, a line each.
func (r Row) Print(w io.Writer) {
	name := r.Name
	for _, f := range r.Figures {
		fmt.Fprintf(w, format, name, f.Name, oneLine(f.Measured), f.Expected, f.Verdict)
		name = ""
	}
}

// printSum prints which rows are broken, and how many streams there were, if any.
func printSum(w io.Writer, rows int, broken []string, t Totals) {
	all := "none"
	if len(broken) > 0 {
		all = strings.Join(broken, ", ")
	}
	fmt.Fprintf(w, "\nbroken, %d of %d: %s\n", len(broken), rows, all)
	if t != (Totals{}) {
		fmt.Fprintln(w, t)
	}
}

// oneLine fits the answer of a broken gateway into a cell of the table.
func oneLine(s string) string {
	const most = 200 // bytes
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// Short rounds a duration for the table.
func Short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
