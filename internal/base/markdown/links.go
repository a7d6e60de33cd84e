package markdown

import "bytes"

// mayLink reports whether a source may have a link that is written as it is. It skips text that is
// not an address, and the target of a link that can only be read as one. Most answers have no other
// addresses.
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
		if scheme := SchemeBefore(source[:at]); scheme > 0 && !isTarget(source, at-scheme) {
			return true
		}
		from = at + len("://")
	}
}

// SchemeBefore returns the length of the scheme that text ends with, in any case, or 0. No
// other scheme makes a link by itself, and none within a word: xhttp is not a scheme.
func SchemeBefore(text []byte) int {
	for _, scheme := range [...]string{"https", "http", "ftp"} {
		at := len(text) - len(scheme)
		if at >= 0 && bytes.EqualFold(text[at:], []byte(scheme)) && (at == 0 || !isSchemeByte(text[at-1])) {
			return len(scheme)
		}
	}
	return 0
}

// isSchemeByte reports whether c can stand within a scheme (RFC 3986, 3.1).
func isSchemeByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// isTarget reports whether the address that begins at start is the target of a link like
// [text](address), with nothing in it that could be read as anything else, whatever stands around
// it.
func isTarget(source []byte, start int) bool {
	if !bytes.HasSuffix(source[:start], []byte("](")) {
		return false
	}
	label := source[:start-len("](")]
	open := bytes.LastIndexAny(label[max(0, len(label)-200):], "[]\\<>|`\n")
	open += max(0, len(label)-200)
	// A single character between brackets may be the box of a task.
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
