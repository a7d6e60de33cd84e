package config

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Flags writes the command's own flags with their meanings, in lines of at most width columns. It
// writes nothing for a command without any.
func (l *Loader) Flags(w io.Writer, width int) {
	const column = 26 // of the meaning; a longer flag has a line of its own
	for _, s := range l.ownSettings {
		head := "  --" + s.flag
		if !s.isBool {
			head += " " + s.valuePlaceholder()
		}
		meaning := plainText(s.Meaning)
		if s.Default != "" && !s.isBool {
			meaning += " (default " + s.Default + ")"
		}
		lines := Wrap(meaning, width-column)
		if utf8.RuneCountInString(head) > column-2 {
			fmt.Fprintln(w, head)
			head = ""
		}
		for _, line := range lines {
			fmt.Fprintf(w, "%-*s%s\n", column, head, line)
			head = ""
		}
	}
}

// valuePlaceholder returns the word that stands for a flag's value: DURATION, or chat|raw.
func (s Setting) valuePlaceholder() string {
	words := strings.Split(strings.ReplaceAll(s.Values, "`", ""), ", ")
	first, _, _ := strings.Cut(words[0], " ")
	switch {
	case strings.HasPrefix(s.Values, "`") && strings.Contains(s.Values, ":"): // a header
		return "'" + words[0] + "'"
	case strings.HasPrefix(s.Values, "`") && len(s.Values) <= 24:
		return strings.Join(words, "|")
	case strings.HasPrefix(s.Values, "`"):
		return "WORD"
	case first == "above" || strings.Trim(first, "0123456789") == "":
		return "N"
	}
	return strings.ToUpper(first)
}

// Variables writes what all commands share, section by section: variables, flags, defaults,
// accepted values and meaning, in lines of at most width columns.
func (l *Loader) Variables(w io.Writer, width int) {
	for _, section := range l.bindSections(new(Config)) {
		fmt.Fprintf(w, "%s\n", strings.ToUpper(section.Name))
		for _, s := range Table([]Section{section}).allSettings() {
			fmt.Fprintf(w, "  %s  %s\n", s.Variable, s.flagShown())
			text := plainText(s.Meaning) + " (" + plainText(s.Values) + "; default: " + plainText(s.DefaultShown()) + ")"
			for _, line := range Wrap(text, width-6) {
				fmt.Fprintf(w, "      %s\n", line)
			}
		}
		fmt.Fprintln(w)
	}
	for _, line := range Wrap("A variable that holds a secret can be read from a file: GEMINI_API_KEY_FILE names the file of GEMINI_API_KEY.", width) {
		fmt.Fprintln(w, line)
	}
}

// FlagNames returns the flags of the command, then those that all commands share, with
// their dashes. Secrets have none.
func (l *Loader) FlagNames() (own, shared []string) {
	for _, s := range l.ownSettings {
		own = append(own, "--"+s.flag)
	}
	for _, s := range l.commonSettings() {
		if !s.secret {
			shared = append(shared, "--"+s.flag)
		}
	}
	return own, shared
}

// Wrap breaks a text between words, into lines of at most width characters where its words
// allow it.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// flagShown is the flag of a setting. Secrets have no flag: other users of a machine can see a
// process's arguments.
func (s Setting) flagShown() string {
	if s.secret {
		return "(no flag)"
	}
	return "--" + s.flag
}

// DefaultShown returns the default as a table shows it.
func (s Setting) DefaultShown() string {
	switch {
	case s.DefaultText != "":
		return s.DefaultText
	case s.Default != "":
		return "`" + s.Default + "`"
	}
	return "none"
}

// plainText takes the Markdown out of a text of a Setting.
func plainText(text string) string {
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}
