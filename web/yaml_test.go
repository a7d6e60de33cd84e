package web_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// yamlReader reads the part of YAML that openapi.yaml keeps to: block maps and
// lists, one-line lists of plain words, plain and double-quoted scalars, empty maps
// and lists, | and >- blocks. Anything else is an error.
type yamlReader struct {
	lines []string
	n     int // the next line
}

func parseYAML(text string) (root any, err error) {
	y := &yamlReader{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("line %d: %v", y.n, p)
		}
	}()
	root = y.block(0)
	if y.n < len(y.lines) {
		panic("is indented less than its block")
	}
	return root, nil
}

// indent returns the indentation of the next line, or -1 at the end.
func (y *yamlReader) indent() int {
	for y.n < len(y.lines) && strings.TrimSpace(y.lines[y.n]) == "" {
		y.n++
	}
	if y.n == len(y.lines) {
		return -1
	}
	line := y.lines[y.n]
	if strings.Contains(line, "\t") {
		panic("holds a tab")
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

func (y *yamlReader) block(indent int) any {
	if strings.HasPrefix(y.lines[y.n][indent:], "- ") {
		return y.list(indent)
	}
	return y.mapping(indent)
}

func (y *yamlReader) list(indent int) []any {
	list := []any{}
	for y.indent() == indent && strings.HasPrefix(y.lines[y.n][indent:], "- ") {
		item := y.lines[y.n][indent+2:]
		if key, _, ok := strings.Cut(item, ":"); ok && !strings.ContainsAny(key, ` "[`) {
			y.lines[y.n] = strings.Repeat(" ", indent+2) + item
			list = append(list, y.mapping(indent+2))
			continue
		}
		y.n++
		list = append(list, scalar(item))
	}
	return list
}

func (y *yamlReader) mapping(indent int) map[string]any {
	m := map[string]any{}
	for y.indent() == indent {
		key, rest, ok := strings.Cut(y.lines[y.n][indent:], ":")
		if !ok || rest != "" && rest[0] != ' ' {
			panic("has no key")
		}
		key = fmt.Sprint(scalar(key))
		if _, twice := m[key]; twice {
			panic("has a key twice")
		}
		y.n++
		m[key] = y.value(strings.TrimSpace(rest), indent)
	}
	return m
}

func (y *yamlReader) value(rest string, indent int) any {
	switch rest {
	case "":
		deeper := y.indent()
		if deeper <= indent {
			panic("has no value")
		}
		return y.block(deeper)
	case "|", ">-":
		var lines []string
		for y.indent() > indent {
			lines = append(lines, strings.TrimSpace(y.lines[y.n]))
			y.n++
		}
		return strings.Join(lines, " ")
	}
	return scalar(rest)
}

func scalar(s string) any {
	switch s {
	case "{}":
		return map[string]any{}
	case "[]":
		return []any{}
	}
	if strings.HasPrefix(s, `"`) {
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			panic(err)
		}
		return text
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		list := []any{}
		for word := range strings.SplitSeq(s[1:len(s)-1], ", ") {
			list = append(list, scalar(word))
		}
		return list
	}
	if s == "" || strings.ContainsAny(s[:1], "'[]{}&*!|>%@`#,?-") || strings.Contains(s, ": ") || strings.Contains(s, " #") {
		panic("must be quoted: " + s)
	}
	if n, err := strconv.Atoi(s); err == nil {
		return float64(n)
	}
	switch s {
	case "true", "false":
		return s == "true"
	case "null", "~", "yes", "no", "on", "off":
		panic("must be quoted: " + s)
	}
	return s
}
