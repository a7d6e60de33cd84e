package markdown

import "strings"

// Bounds of what goldmark is given. Its time grows with the square of how deep quotes and
// lists lie in one another, and of how many brackets one block has: 64 KB of "> " take
// seconds (v1.8.7, measured 2026-11-22). No answer looks like that; one that does is text.
const (
	maxSource = 256 << 10
	// MaxDepth is how many quotes and lists may lie in one another.
	MaxDepth    = 32
	maxBrackets = 8_000_000 // the sum over all blocks of the square of their number
)

// Bearable says whether the source can be read as Markdown in time.
func Bearable(source string) bool {
	if len(source) > maxSource {
		return false
	}
	brackets, cost := 0, 0
	for source != "" {
		line, rest, _ := strings.Cut(source, "\n")
		source = rest
		depth, at := Containers(line)
		if depth > MaxDepth {
			return false
		}
		if at == len(line) || begins(line) {
			cost, brackets = cost+brackets*brackets, 0
		}
		brackets += strings.Count(line[at:], "[")
		if cost+brackets*brackets > maxBrackets {
			return false
		}
	}
	return true
}

// begins says whether line is a block of its own whatever is before it. A number begins
// none within a paragraph, nor does what is indented further.
func begins(line string) bool {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	line = line[indent:]
	return indent < 4 && len(line) > 1 && (line[0] == '-' || line[0] == '+' || line[0] == '*') && isBlank(line[1])
}

// Containers counts the marks of quotes and lists that line begins with, and tells where
// they end.
func Containers(line string) (depth, at int) {
	for at < len(line) {
		c := line[at]
		switch {
		case c == ' ' || c == '\t':
			at++
		case c == '>':
			depth++
			at++
		case (c == '-' || c == '+' || c == '*') && at+1 < len(line) && isBlank(line[at+1]):
			depth++
			at++
		case '0' <= c && c <= '9':
			end := at
			for end < len(line) && '0' <= line[end] && line[end] <= '9' {
				end++
			}
			if end+1 >= len(line) || line[end] != '.' && line[end] != ')' || !isBlank(line[end+1]) {
				return depth, at
			}
			depth++
			at = end + 1
		default:
			return depth, at
		}
	}
	return depth, at
}

// isBlank says whether c is white space within a line.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }
