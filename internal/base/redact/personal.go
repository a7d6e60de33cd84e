package redact

import (
	"slices"
	"strings"
)

// Kinds are kinds of personal data and secrets that are known by their form, without a
// configuration. They leave out names and addresses of people, which have no certain form.
type Kinds uint8

// Hidden kinds, with the mark in their place.
const (
	Email Kinds = 1 << iota // [email]
	Phone                   // [phone]
	Card                    // [card], with a valid check digit and a known issuer
	IBAN                    // [iban], with valid check digits and the length of its country
	IP                      // [ip]
	Token                   // [token]: JWT, keys of known forms, user info and query values of URLs

	AllKinds = Email | Phone | Card | IBAN | IP | Token
)

// Classes of bytes. The class of a word is the union of its bytes' classes.
const (
	isDigit = 1 << iota
	isUpper
	isLower
	isAt
	isColon
	isDot
	isDash // - and _
	isSpace
	isEquals
	isWide // the first byte of digits of full width, and of others
	isOther
)

// KindNames are the names of kinds, as in the configuration.
func KindNames() []string { return []string{"email", "phone", "card", "iban", "ip", "token"} }

// KindsOf returns the kinds that are named; unknown names count for nothing.
func KindsOf(names ...string) (k Kinds) {
	for i, name := range KindNames() {
		if slices.Contains(names, name) {
			k |= 1 << i
		}
	}
	return k
}

// wideByte begins the digits of full width in UTF-8.
const wideByte = 0xEF

// classes is the class of each byte. It is a table because each byte of each text is looked up.
var classes = func() (of [256]uint16) {
	for i := range of {
		switch c := byte(i); {
		case c >= '0' && c <= '9':
			of[i] = isDigit
		case c >= 'A' && c <= 'Z':
			of[i] = isUpper
		case c >= 'a' && c <= 'z':
			of[i] = isLower
		case c == '@':
			of[i] = isAt
		case c == ':':
			of[i] = isColon
		case c == '.':
			of[i] = isDot
		case c == '-' || c == '_':
			of[i] = isDash
		case c <= ' ':
			of[i] = isSpace
		case c == '=':
			of[i] = isEquals
		case c == wideByte:
			of[i] = isWide
		default:
			of[i] = isOther
		}
	}
	return of
}()

// Text returns text with a mark in place of each thing of the kinds. To hide twice is the
// same as once. It takes time in proportion to the text, and allocates only if there is
// something to hide.
func (k Kinds) Text(text string) string {
	w := finder{kinds: k, text: text}
	w.findAll()
	if w.copied == 0 {
		return text
	}
	w.out.WriteString(text[w.copied:])
	return w.out.String()
}

// Each gives found what Text would hide, in order, with the mark that would stand there.
func (k Kinds) Each(text string, found func(thing, mark string)) {
	w := finder{kinds: k, text: text, found: found}
	w.findAll()
}

// findAll goes through all words.
func (w *finder) findAll() {
	text := w.text
	block, lastEnd := w.nextBlock(0), -1
	if block >= 0 {
		lastEnd = strings.LastIndex(text, pemEnd)
	}
	for at := 0; at < len(text); {
		if classes[text[at]] == isSpace {
			at++
			continue
		}
		if block >= 0 && at >= block {
			at = max(at, w.hideBlock(block, lastEnd))
			block = w.nextBlock(at)
			continue
		}
		end, class := at, uint16(0)
		for end < len(text) {
			c := classes[text[end]]
			if c == isSpace || end == block {
				break
			}
			class |= c
			end++
		}
		if class&(isDigit|isAt|isColon|isEquals|isWide) != 0 || end-at >= leastKey || end-at >= leastBearer && class&isUpper != 0 && followsBearer(text[:at]) {
			end = w.hideWord(at, end, class)
		}
		at = end
	}
}

// nextBlock returns where the next block of PEM begins, or -1.
func (w *finder) nextBlock(from int) int {
	if w.kinds&Token == 0 {
		return -1
	}
	i := strings.Index(w.text[from:], pemBegin)
	if i < 0 {
		return -1
	}
	return from + i
}

// hideBlock hides the block that begins at at, and returns its end.
func (w *finder) hideBlock(at, lastEnd int) int {
	end := blockEnd(w.text, at, lastEnd)
	if at >= w.copied {
		w.hideSpan(at, end, Mark)
	}
	return end
}

// finder goes through a text word by word. A word ends at white space; numbers may have
// several.
type finder struct {
	kinds  Kinds
	text   string
	out    strings.Builder
	copied int // how much of text is in out
	// found gets what would be hidden, in place of out; nil: it is hidden.
	found func(thing, mark string)
}

// hideSpan puts a mark in place of the text between start and end.
func (w *finder) hideSpan(start, end int, mark string) {
	if w.found != nil {
		w.found(w.text[start:end], mark)
	} else {
		if w.copied == 0 {
			w.out.Grow(len(w.text) + len(mark))
		}
		w.out.WriteString(w.text[w.copied:start])
		w.out.WriteString(mark)
	}
	w.copied = end
}

// hideWord looks at the word between start and end, and returns where to continue: behind it, or
// behind a number that begins in it.
func (w *finder) hideWord(start, end int, class uint16) int {
	if class&isColon != 0 && w.kinds&(Token|Email|IP) != 0 {
		if i := strings.Index(w.text[start:end], "://"); i >= 0 {
			w.hideURL(start, start+i+3, end)
			return end
		}
	}
	if class&isAt != 0 && w.kinds&Email != 0 {
		w.hideEmails(start, end)
	}
	for at := max(start, w.copied); at < end; {
		c := classes[w.text[at]]
		if c&(isEquals|isColon) != 0 && w.kinds&Token != 0 {
			if next := w.hideAssigned(at); next > at {
				at = next
				continue
			}
		}
		if c&(isDigit|isUpper|isLower|isWide) == 0 && w.text[at] != '+' && w.text[at] != '(' && w.text[at] != ':' {
			at++
			continue
		}
		if next := w.hideThing(at, end); next > at {
			at = next
			continue
		}
		at = w.skipRun(at, end)
	}
	return max(end, w.copied)
}

// skipRun returns the end of the run that begins at at: letters, digits and characters that join
// them. A run that begins no thing contains no thing. Behind a sign a thing may begin.
func (w *finder) skipRun(at, end int) int {
	at++
	if classes[w.text[at-1]]&(isDigit|isUpper|isLower) == 0 {
		return at
	}
	for at < end && (classes[w.text[at]]&(isDigit|isUpper|isLower|isDash) != 0 || w.text[at] >= 0x80) {
		at++
	}
	return at
}

// hideThing hides the thing that begins at at in a word, and returns its end, or at if it hides
// nothing.
func (w *finder) hideThing(at, end int) int {
	if at > 0 && isGlued(w.text[at-1]) {
		return at
	}
	c := w.text[at]
	switch {
	case c == wideByte && w.kinds&Card != 0:
		if to := cardEnd(w.text, at); to > at {
			w.hideSpan(at, to, "[card]")
			return to
		}
	case classes[c]&isDigit != 0 || c == '+' || c == '(':
		if to, mark := w.findNumber(at); to > at {
			w.hideSpan(at, to, mark)
			return to
		}
	case classes[c]&(isUpper|isLower) != 0:
		if to, mark := w.findNamed(at, end); to > at {
			w.hideSpan(at, to, mark)
			return to
		}
	}
	if w.kinds&IP != 0 {
		if to := w.ipv6End(at, end); to > at {
			w.hideSpan(at, to, "[ip]")
			return to
		}
	}
	return at
}

// isGlued reports whether a thing cannot begin behind c, as it belongs to a longer word.
func isGlued(c byte) bool {
	return classes[c]&(isDigit|isUpper|isLower|isDash) != 0 || c == '.' || c == '#' || c == '/' || c == '$'
}

// findNamed hides a key or an IBAN, which begin with letters.
func (w *finder) findNamed(at, end int) (to int, mark string) {
	if w.kinds&Token != 0 {
		if to := w.tokenEnd(at, end); to > at {
			return to, "[token]"
		}
	}
	if w.kinds&IBAN != 0 {
		if to := ibanEnd(w.text, at); to > at {
			return to, "[iban]"
		}
	}
	return at, ""
}

// localBegin returns where the part of an address begins that ends at at, or at; it does not begin
// before start.
func localBegin(text string, start, at int) int {
	from := at
	for from > start && isLocal(text[from-1]) && at-from < 64 {
		from--
	}
	for from < at && (text[from] == '.' || text[from] == '\'') {
		from++
	}
	return from
}

// hideEmails hides the addresses of a word.
func (w *finder) hideEmails(start, end int) {
	for at := start; at < end; at++ {
		if w.text[at] != '@' {
			continue
		}
		from := localBegin(w.text, max(start, w.copied), at)
		to := domainEnd(w.text, at+1, end)
		if from == at || to == at+1 {
			continue
		}
		w.hideSpan(from, to, "[email]")
		at = to - 1
	}
}

// isLocal reports whether c can stand in front of the @ of an address (RFC 5322, atext, and letters
// of other scripts).
func isLocal(c byte) bool {
	return classes[c]&(isDigit|isUpper|isLower|isDash|isDot) != 0 || c >= 0x80 || strings.IndexByte("+%&'*/=?^{|}~!#$", c) >= 0
}

// domainEnd returns the end of a domain with a dot in it, or at.
func domainEnd(text string, at, end int) int {
	to, label, dots := at, 0, 0
	last := at
	for to < end && to-at < 255 {
		c := text[to]
		switch {
		case classes[c]&(isDigit|isUpper|isLower) != 0 || c >= 0x80 || c == '-' && label > 0:
			label++
			last = to + 1
		case c == '.' && label > 0 && to+1 < end && (classes[text[to+1]]&(isDigit|isUpper|isLower) != 0 || text[to+1] >= 0x80):
			dots++
			label = 0
		default:
			to = end
			continue
		}
		to++
	}
	if dots == 0 || !isTopLevel(text[at:last]) {
		return at
	}
	return last
}

// isTopLevel reports whether a domain ends in letters, as all of them do: a version does not.
func isTopLevel(domain string) bool {
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	return strings.HasPrefix(last, "xn--") || strings.IndexFunc(last, func(r rune) bool { return r < 0x80 && classes[byte(r)]&(isUpper|isLower) == 0 }) < 0
}
