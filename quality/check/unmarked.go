package check

import "strings"

// unmarked returns the prose of a source that has no markup by its very characters, which
// most short answers are: paragraphs, and lines in them. ok is false for all that might
// have some: then a parser must look, which costs several times as much as all checks of such
// an answer together. TestUnmarked holds it to what the parser says.
func unmarked(source string) (text string, ok bool) {
	var b strings.Builder
	b.Grow(len(source) + 1)
	within := false // a paragraph
	for rest := source; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if line == "" {
			if within {
				b.WriteByte('\n')
			}
			within = false
			continue
		}
		if !isPlainLine(line) {
			return "", false
		}
		if within {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		within = true
	}
	if within {
		b.WriteByte('\n')
	}
	return b.String(), true
}

// isPlainLine says whether a line, which is not empty, is text whatever stands around it.
// White space at its ends may be a break or code, and goes elsewhere.
func isPlainLine(line string) bool {
	switch first := line[0]; {
	case first == ' ', first == '-', first == '+', first == '=', line[len(line)-1] == ' ':
		return false
	case '0' <= first && first <= '9': // the number of a list
		digits := strings.TrimLeft(line, "0123456789")
		if digits != "" && (digits[0] == '.' || digits[0] == ')') {
			return false
		}
	}
	for i := range len(line) {
		switch c := line[i]; {
		case c < ' ', c == 0x7f: // tabs, carriage returns, and what a parser replaces
			return false
		case c > '~':
		case c == '.': // www. is a link
			if i > 0 && line[i-1]|0x20 == 'w' {
				return false
			}
		case c == ':': // so is http://
			if i+1 < len(line) && line[i+1] == '/' {
				return false
			}
		case strings.IndexByte("\\`*_[]<>#|~&@", c) >= 0:
			return false
		}
	}
	return true
}
