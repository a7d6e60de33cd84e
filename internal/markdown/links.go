package markdown

import "bytes"

// mayLink says whether a source may have a link that is written as it is. What is not an
// address at all is passed over, and so is the target of a link that cannot but be read as one:
// most answers have no others.
func mayLink(source []byte) bool {
	if bytes.IndexByte(source, '@') >= 0 || bytes.Contains(source, []byte("www.")) {
		return true
	}
	for from := 0; ; {
		i := bytes.Index(source[from:], []byte("://"))
		if i < 0 {
			return false
		}
		at := from + i
		if scheme := schemeBefore(source[:at]); scheme > 0 && !isTarget(source, at-scheme) {
			return true
		}
		from = at + len("://")
	}
}

// schemeBefore returns the length of the scheme that text ends with, or 0: no other scheme
// makes a link by itself.
func schemeBefore(text []byte) int {
	for _, scheme := range [...]string{"https", "http", "ftp"} {
		if bytes.HasSuffix(text, []byte(scheme)) {
			return len(scheme)
		}
	}
	return 0
}

// isTarget says whether the address that begins at start is the target of a link like
// [text](address), with nothing in it that could be read as anything else, whatever stands
// around it.
func isTarget(source []byte, start int) bool {
	if !bytes.HasSuffix(source[:start], []byte("](")) {
		return false
	}
	label := source[:start-len("](")]
	open := bytes.LastIndexAny(label[max(0, len(label)-200):], "[]\\<>|`\n")
	open += max(0, len(label)-200)
	// One character between brackets may be the box of a task.
	if open < 0 || label[open] != '[' || len(label)-open <= 2 || open > 0 && label[open-1] == '\\' {
		return false
	}
	for _, c := range source[start:] {
		switch {
		case c == ')':
			return true
		case c <= ' ' || c >= 0x7f:
			return false
		case bytes.IndexByte([]byte("([]\\<>|`\"'"), c) >= 0:
			return false
		}
	}
	return false
}
