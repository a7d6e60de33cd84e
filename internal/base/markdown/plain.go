package markdown

import "strings"

// isPlain reports whether a text is without markup, judged by its characters alone. Most short
// answers are like this: paragraphs with lines. It is false for all that might have some.
// TestPlainSources compares it with the parser.
func isPlain(text string) bool {
	for from := 0; from < len(text); {
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			return isPlainLine(text[from:])
		}
		if end > 0 && !isPlainLine(text[from:from+end]) {
			return false
		}
		from += end + 1
	}
	return true
}

// isNumbered reports whether a line begins with the number of a list.
func isNumbered(line string) bool {
	behind := strings.TrimLeft(line, "0123456789")
	return len(behind) < len(line) && behind != "" && (behind[0] == '.' || behind[0] == ')')
}

// isPlainLine reports whether a line, which is not empty, is plain text wherever it stands. White
// space at its ends may be a break or code, and is not plain.
func isPlainLine(line string) bool {
	switch first := line[0]; {
	case first == ' ', first == '-', first == '+', first == '=', first == '#', first == '>', line[len(line)-1] == ' ':
		return false
	case isNumbered(line):
		return false
	}
	for i := range len(line) {
		if mayMean(line[i]) && meansMarkup(line, i) {
			return false
		}
	}
	return true
}

// meansMarkup reports whether a character that may be markup can be that where it stands.
func meansMarkup(line string, i int) bool {
	switch line[i] {
	case '.': // www. is a link
		return i > 0 && line[i-1]|0x20 == 'w'
	case ':': // so is http://
		return i+1 < len(line) && line[i+1] == '/'
	case '&': // an entity is without spaces
		return i+1 < len(line) && line[i+1] != ' '
	}
	return true
}

// mayMean reports whether a character in a line may be markup, or is one that a parser replaces:
// tabs, carriage returns and other controls. It is a bit of a set, as this is the loop over all of
// a text.
func mayMean(c byte) bool {
	const (
		low  = 1<<' ' - 1 | 1<<'*' | 1<<'<' | 1<<'&' | 1<<'.' | 1<<':'
		high = 1<<('\\'-64) | 1<<('`'-64) | 1<<('_'-64) | 1<<('['-64) | 1<<(']'-64) | 1<<('|'-64) | 1<<('~'-64) | 1<<('@'-64) | 1<<(0x7f-64)
	)
	switch {
	case c < 64:
		return uint64(low)>>c&1 == 1
	case c < 128:
		return uint64(high)>>(c-64)&1 == 1
	}
	return false
}
