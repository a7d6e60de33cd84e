package main

import (
	"fmt"
	"io"
	"strings"
)

// verdict is what a figure says of the gateway.
type verdict string

const (
	fine  verdict = "ok"
	broke verdict = "BROKEN"
	// skipped is what this machine cannot measure.
	skipped verdict = "skipped"
)

// figure is a line of the table.
type figure struct {
	what, measured, expected string
	verdict                  verdict
}

// row is what one scenario has shown.
type row struct {
	name    string
	figures []figure
}

// verdict is broken if one figure is, or if there is none.
func (r row) verdict() verdict {
	v := broke
	for _, f := range r.figures {
		switch {
		case f.verdict == broke:
			return broke
		case f.verdict == fine || v == broke:
			v = f.verdict
		}
	}
	return v
}

const format = "%-15s %-43s %-30s %-26s %s\n"

// printHead prints the head of the table.
func printHead(w io.Writer) {
	fmt.Fprintf(w, format, "row", "figure", "measured", "expected", "verdict")
	fmt.Fprintln(w, strings.Repeat("-", 126))
}

// printRow prints a row's figures, a line each.
func printRow(w io.Writer, r row) {
	name := r.name
	for _, f := range r.figures {
		fmt.Fprintf(w, format, name, f.what, oneLine(f.measured), f.expected, f.verdict)
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
	const most = 80
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
