package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Verdict is what a figure says of the gateway.
type Verdict string

const (
	Fine  Verdict = "ok"
	Broke Verdict = "BROKEN"
	// Skipped is what this machine cannot measure.
	Skipped Verdict = "skipped"
	// Reported is a figure that explains others and is neither good nor bad.
	Reported Verdict = ""
)

// Figure is a line of the table.
type Figure struct {
	What, Measured, Expected string
	Verdict                  Verdict
}

// Row is what one scenario has shown.
type Row struct {
	Name    string
	Figures []Figure
}

// Verdict is broken if one figure is, or if none says that all is well. A row of which all
// was skipped is skipped.
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
		fmt.Fprintf(w, format, name, f.What, oneLine(f.Measured), f.Expected, f.Verdict)
		name = ""
	}
}

// printSum prints which rows are broken.
func printSum(w io.Writer, rows int, broken []string) {
	all := "none"
	if len(broken) > 0 {
		all = strings.Join(broken, ", ")
	}
	fmt.Fprintf(w, "\nbroken, %d of %d: %s\n", len(broken), rows, all)
}

// oneLine keeps what a broken gateway said from breaking the table.
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
