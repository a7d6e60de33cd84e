package config

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// Usage writes the command's own flags, if any, and the table of what all commands
// share: variables, flags, defaults, accepted values and meaning.
func (l *Loader) Usage(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(l.own) > 0 {
		fmt.Fprint(t, "FLAG\tDEFAULT\tMEANING\n")
		for _, s := range l.own {
			fmt.Fprintf(t, "--%s\t%s\t%s\n", s.flag, s.Default, plain(s.Meaning))
		}
		t.Flush()
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "VARIABLE\tFLAG\tDEFAULT\tVALUES\tMEANING\n")
	for _, s := range l.common() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.Variable, s.flagShown(), plain(s.DefaultShown()), plain(s.Values), plain(s.Meaning))
	}
	t.Flush()
	if l.sections != nil {
		fmt.Fprintln(w, "\nA variable that holds a secret can be read from a file: GEMINI_API_KEY_FILE names the file of GEMINI_API_KEY.")
	}
}

// flagShown is the flag of a setting. Secrets have none: other users of a
// machine can see a process's arguments.
func (s Setting) flagShown() string {
	if s.secret {
		return "-"
	}
	return "--" + s.flag
}

// DefaultShown is what a table says of the default.
func (s Setting) DefaultShown() string {
	switch {
	case s.Shown != "":
		return s.Shown
	case s.Default != "":
		return "`" + s.Default + "`"
	}
	return "none"
}

// plain takes the Markdown out of a text of a Setting.
func plain(text string) string {
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}
