// This file prints a value as YAML for people: objects as blocks, short lists in a line.

package operate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// printYAML returns an object as the text of a file. Its texts are read back as they are.
func printYAML(tree map[string]any) []byte {
	if len(tree) == 0 {
		return []byte("{}\n")
	}
	var p yamlPrinter
	p.printObject(tree, 0)
	return []byte(p.String())
}

// yamlPrinter holds the text that is printed.
type yamlPrinter struct{ strings.Builder }

// printObject prints the members of an object, one or more lines each.
func (p *yamlPrinter) printObject(value any, depth int) {
	m := membersOf(value)
	for _, name := range namesOf(value) {
		fmt.Fprintf(p, "%s%s:", strings.Repeat("  ", depth), formatScalar(name))
		p.printMember(m[name], depth+1)
	}
}

// namesOf returns the names of an object in the order of the print.
func namesOf(value any) []string {
	m := membersOf(value)
	all := slices.SortedFunc(maps.Keys(m), printedOrder)
	if o, ok := value.(ordered); ok {
		all = slices.Concat(o.names, all)
	}
	var names []string
	for _, name := range all {
		if _, ok := m[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// printedBefore lists the names that come first in an object of the file, in their order. Others
// follow by the alphabet.
var printedBefore = strings.Fields(`models mcpServers agents router dispatch aggregate workflows
	provider type name description role prompt model endpoint api_key command args env url from to nodes edges`)

// printedOrder compares two names of an object.
func printedOrder(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(printedBefore, name); i >= 0 {
			return i
		}
		return len(printedBefore)
	}
	return cmp.Or(place(a)-place(b), strings.Compare(a, b))
}

// printMember prints a value behind its name.
func (p *yamlPrinter) printMember(value any, depth int) {
	switch v := value.(type) {
	case map[string]any, ordered:
		if len(membersOf(v)) > 0 {
			p.WriteString("\n")
			p.printObject(v, depth)
			return
		}
	case []any:
		if !isFlat(v) {
			p.WriteString("\n")
			p.printList(v, depth)
			return
		}
	case string:
		if isBlock(v) {
			p.printBlock(v, depth)
			return
		}
	}
	fmt.Fprintf(p, " %s\n", formatScalar(value))
}

// printList prints a list with one item in each line.
func (p *yamlPrinter) printList(all []any, depth int) {
	for _, item := range all {
		fmt.Fprintf(p, "%s- %s\n", strings.Repeat("  ", depth), formatInLine(item))
	}
}

// isFlat reports whether a list fits into a line.
func isFlat(all []any) bool {
	return !slices.ContainsFunc(all, func(v any) bool {
		return membersOf(v) != nil || isList(v)
	}) && len(formatInLine(all)) < 100
}

// formatInLine returns a value in one line.
func formatInLine(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any, ordered:
		for _, name := range namesOf(v) {
			parts = append(parts, formatScalar(name)+": "+formatInLine(membersOf(v)[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, formatInLine(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return formatScalar(value)
}

// plainText matches a text without quotes, unless YAML reads it as another value.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./()-]+)*$`)

// otherValue matches the words that need quotes, in YAML 1.1 too.
var otherValue = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null)$`)

// formatScalar returns a value that is neither an object nor a list with items.
func formatScalar(value any) string {
	switch v := value.(type) {
	case string:
		if plainText.MatchString(v) && !otherValue.MatchString(v) && len(v) < 200 {
			return v
		}
		return quoteText(v)
	case json.Number:
		return v.String()
	case nil:
		return "null"
	case map[string]any, ordered, []any:
		return formatInLine(v)
	}
	return fmt.Sprint(value)
}

// quoteText returns a text in double quotes. Each of its escapes is one of YAML too.
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\ufeff' || !unicode.IsPrint(r) && r != ' ':
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func escapeRune(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return `\u` + fmt.Sprintf("%04s", strconv.FormatInt(int64(r), 16))
}

// isBlock reports whether a text can be printed as lines: it has several, and each is as it seems.
func isBlock(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\n"), "\n") || strings.HasPrefix(text, "\n") || strings.HasPrefix(text, " ") || strings.HasSuffix(text, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return false
		}
	}
	return true
}

// printBlock prints a text as lines.
func (p *yamlPrinter) printBlock(text string, depth int) {
	mark := " |"
	if !strings.HasSuffix(text, "\n") {
		mark = " |-"
	}
	fmt.Fprintln(p, mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			fmt.Fprintln(p)
			continue
		}
		fmt.Fprintf(p, "%s%s\n", strings.Repeat("  ", depth), line)
	}
}
