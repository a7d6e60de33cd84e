package config

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Usage writes the table of what all commands share: variables, flags, defaults
// and meaning.
func Usage(w io.Writer) { new(Loader).Usage(w) }

// Usage writes the command's own flags, if any, and the common table.
func (l *Loader) Usage(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(l.own) > 0 {
		fmt.Fprint(t, "FLAG\tDEFAULT\tMEANING\n")
		for _, s := range l.own {
			fmt.Fprintf(t, "--%s\t%s\t%s\n", s.flag, s.def, s.meaning)
		}
		t.Flush()
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "VARIABLE\tFLAG\tDEFAULT\tMEANING\n")
	for _, s := range common() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.variable, s.flagShown(), s.defaultShown(), s.meaning)
	}
	t.Flush()
}

func (s setting) flagShown() string {
	if s.secret {
		return "-"
	}
	return "--" + s.flag
}

func (s setting) defaultShown() string {
	if s.shown != "" {
		return s.shown
	}
	return s.def
}
