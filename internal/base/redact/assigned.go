package redact

import "strings"

// pemBegin begins a block of PEM (RFC 7468), and pemEnd the line behind it.
const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

// dashesEnd returns where the dashes end that close the first or the last line of a block.
func dashesEnd(text string, at int) (end int, ok bool) {
	i := strings.Index(text[at:], "-----")
	return at + i + 5, i >= 0 && i < 64
}

// blockEnd returns the end of the block that begins at at. If the last line is cut off, the block
// ends with its words of base64. lastEnd is the end of the text's last block.
func blockEnd(text string, at, lastEnd int) int {
	body := at + len(pemBegin)
	if end, ok := dashesEnd(text, body); ok {
		body = end
	}
	if body <= lastEnd {
		i := strings.Index(text[body:], pemEnd)
		if end, ok := dashesEnd(text, body+i+len(pemEnd)); ok {
			return end
		}
		return len(text)
	}
	return keyEnd(text, body)
}

// keyEnd returns the end of the base64 that begins at at. White space and escapes may stand within.
func keyEnd(text string, at int) int {
	end := at
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case isKeyByte(c):
			end = i + 1
		case classes[c]&isSpace == 0 && c != '\\':
			return end
		}
	}
	return end
}

// hideAssigned hides the value behind the = or : at at, if the name in front of it is that of a
// secret. It returns the value's end, or at if it hides nothing. Behind a : stands a value only
// where the name is quoted or is that of a header: elsewhere it is prose.
func (w *finder) hideAssigned(at int) int {
	name, quoted := nameBefore(w.text[:at])
	if !secretMember(name) {
		return at
	}
	header := w.text[at] == ':' && !quoted
	if header && !isHeader(name) {
		return at
	}
	quotes := at + 1 + countLeading(w.text[at+1:], " ", 3)
	if word, _, _ := strings.Cut(w.text[quotes:min(len(w.text), quotes+8)], " "); header && (strings.EqualFold(word, "Bearer") || strings.EqualFold(word, "Basic")) {
		return at // the rules for tokens hide the text behind that
	}
	from := quotes + countLeading(w.text[quotes:], `\"'`, 4)
	if v := w.text[from:]; strings.HasPrefix(v, Mark) || strings.HasPrefix(v, "[token]") { // before the rest is looked at
		return at
	}
	end := valueEnd(w.text, quotes, header)
	if end <= from {
		return at
	}
	if to, _ := w.findNamed(from, end); to > from && !header { // it has a mark of its own
		return at
	}
	w.hideSpan(from, end, Mark)
	return end
}

// countLeading returns how many bytes of set text begins with, at most most.
func countLeading(text, set string, most int) int {
	text = text[:min(len(text), most)]
	return len(text) - len(strings.TrimLeft(text, set))
}

// nameBefore returns the name that text ends with, and whether it is in quotes.
func nameBefore(text string) (name string, quoted bool) {
	text = strings.TrimRight(text[max(0, len(text)-80):], " ")
	bare := strings.TrimRight(text, `\"'`)
	at := len(bare)
	for at > 0 && (classes[bare[at-1]]&(isDigit|isUpper|isLower|isDash) != 0) {
		at--
	}
	return bare[at:], len(bare) < len(text)
}

// isHeader reports whether a header of HTTP has a name that holds secrets.
func isHeader(name string) bool {
	for _, header := range [...]string{"Cookie", "Set-Cookie", "Authorization", "Proxy-Authorization", "X-Api-Key"} {
		if strings.EqualFold(name, header) {
			return true
		}
	}
	return false
}

// valueEnd returns where a value ends that begins at from: at its closing quote, a header's
// with its line, any other with its word.
func valueEnd(text string, from int, header bool) int {
	ends := " \t\r\n&;,<>)]}\"'`"
	if header {
		ends = "\r\n\"'`"
	}
	body := from
	for body < len(text) && text[body] == '\\' {
		body++
	}
	if body < len(text) && (text[body] == '"' || text[body] == '\'') {
		ends, body = text[body:body+1], body+1
		if text[from] == '\\' { // quotes within quotes
			ends = `\"`
		}
	} else {
		body = from
	}
	for i := body; i < len(text); i++ {
		if text[i] == '\\' && ends != `\"` && i+1 < len(text) {
			i++
			continue
		}
		if strings.IndexByte(ends, text[i]) >= 0 {
			return i
		}
	}
	return len(text)
}

// secretInQuery reports whether a value of a URL's query is a secret by its name.
func secretInQuery(name string) bool {
	if secretMember(name) {
		return true
	}
	name = strings.Map(plainLetter, name)
	switch name {
	case "code", "auth", "session", "sid", "jwt", "ticket":
		return true
	}
	for _, end := range [...]string{"key", "sig", "signature", "sessionid"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
