package model

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of a seam, in code points. docs/models.md has the rules.
const (
	anchorSize   = 40  // an anchor has so many, and grows to the begin of a word
	maxAnchor    = 160 // an anchor grows up to here until the shown text has it once
	anchorTail   = 16  // so many of an anchor's end are enough
	anchorWithin = 80  // the anchor begins within so many of the answer
	maxSeamHeld  = 400 // so many of the answer are held while the anchor is searched
	repeatedSize = 40  // an answer that begins with so many of the shown text repeats it
)

// seamOutcome is the outcome of a seam, as log and metric name it. The zero value is an open search.
type seamOutcome string

const (
	seamJoined   seamOutcome = "joined"
	seamRepeated seamOutcome = "repeated" // the answer repeated the shown text from its begin
	seamRefused  seamOutcome = "refused"  // the answer must not be shown
)

// A seam joins the answer of a continuing call to the shown text. Give it the text of the answer
// with add, and then call end. It does no I/O.
type seam struct {
	outcome seamOutcome
	dropped int // code points of the answer that are not shown

	anchor  string
	trimmed string // of the shown text, without outer white space: the answer may repeat it
	space   string // white space at the end of the shown text
	quote   string // closes a quoted anchor; empty without one
	held    string // text of the answer that is neither shown nor dropped
	ready   strings.Builder
	// step decides about held, and reports whether the next step may run. It waits for more text
	// unless final is true. It is nil when each further piece has the fate of outcome.
	step func(final bool) bool
}

// newSeam returns a seam behind a shown text. The answer goes on without an anchor if it is
// prefilled, and behind white space alone.
func newSeam(shown string, prefilled bool) *seam {
	text := strings.TrimRightFunc(shown, unicode.IsSpace)
	s := &seam{trimmed: strings.TrimLeftFunc(text, unicode.IsSpace), space: shown[len(text):]}
	switch {
	case s.trimmed == "":
		s.outcome, s.step = seamJoined, s.dropSpace
	case prefilled:
		s.step = s.dropOverlap
	default:
		s.anchor, s.step = anchorOf(s.trimmed), s.findAnchor
	}
	return s
}

// anchorOf returns the end of a text that the continuing model must repeat. The text neither begins
// nor ends with white space, and so does the anchor.
func anchorOf(text string) string {
	from, size := len(text), 0
	for from > 0 && size < maxAnchor {
		r, n := utf8.DecodeLastRuneInString(text[:from])
		if size >= anchorSize && unicode.IsSpace(r) && strings.Count(text, text[from:]) == 1 {
			break
		}
		from, size = from-n, size+1
	}
	return strings.TrimLeftFunc(text[from:], unicode.IsSpace)
}

// continueNote returns the user's message that asks for the remaining answer. The anchor stands
// between its first « and its last ». The note speaks as a person whose connection dropped, since
// models distrust a notice of a gateway.
func continueNote(anchor string) string {
	return "My connection dropped while I was reading your answer. The last words that I have are: «" + anchor +
		"». Please repeat exactly these last words, and then go on from there to the end of your answer. " +
		"Keep its language and its form. Do not begin again, and do not mention this message."
}

// add takes a piece of the answer's text and returns the text to show.
func (s *seam) add(piece string) string {
	switch {
	case s.step != nil:
		s.held += piece
		return s.decide(false)
	case s.outcome == seamRefused:
		return ""
	}
	return piece
}

// end takes the end of the answer's text and returns the remaining text to show. An answer of calls
// alone joins, since it takes the shown text for complete.
func (s *seam) end(called bool) string {
	if called && s.outcome == "" && s.dropped == 0 && strings.TrimSpace(s.held) == "" {
		s.drop(len(s.held))
		s.outcome, s.step = seamJoined, nil
	}
	return s.decide(true)
}

// decide runs the steps that have enough text, and returns the text to show.
func (s *seam) decide(final bool) string {
	for s.step != nil && s.step(final) {
	}
	text := s.ready.String()
	s.ready.Reset()
	return text
}

// drop removes the first n bytes of the held text.
func (s *seam) drop(n int) {
	s.dropped += utf8.RuneCountInString(s.held[:n])
	s.held = s.held[n:]
}

// join puts the seam behind the first n bytes of the held text.
func (s *seam) join(n int, outcome seamOutcome) bool {
	s.drop(n)
	s.outcome, s.step = outcome, s.dropSpace
	return true
}

// refuse ends the search without a seam.
func (s *seam) refuse() bool {
	s.drop(len(s.held))
	s.outcome, s.step = seamRefused, nil
	return false
}

// release shows the held text. The answer goes on as it comes.
func (s *seam) release() bool {
	s.ready.WriteString(s.held)
	s.held, s.step = "", nil
	return false
}

// findAnchor searches the anchor, or its end, at the begin of the answer. An anchor that is shorter
// than anchorTail must begin the answer.
func (s *seam) findAnchor(final bool) bool {
	// APIs strip white space at the begin of an answer.
	tail, within := strings.TrimLeftFunc(lastRunes(s.anchor, anchorTail), unicode.IsSpace), anchorWithin
	if utf8.RuneCountInString(s.anchor) < anchorTail {
		within = 1
	}
	at, end, open := findLoosely(s.held, s.anchor, within)
	if end > 0 {
		r, _ := utf8.DecodeLastRuneInString(s.held[:at])
		s.quote = closingQuotes[r]
	} else if !open || final {
		var half bool
		_, end, half = findLoosely(s.held, tail, within)
		open = open || half
	}
	size := utf8.RuneCountInString(s.held)
	switch {
	case end > 0:
		return s.join(end, seamJoined)
	case !final && size < maxSeamHeld && (open || size < within):
		return false
	}
	if n, _ := matchLoosely(s.held, firstRunes(s.trimmed, repeatedSize)); n > 0 {
		s.step = s.dropRepeated
		return true
	}
	return s.refuse()
}

// dropRepeated drops the answer as far as it equals the shown text. A difference before the shown
// text ends refuses the seam.
func (s *seam) dropRepeated(final bool) bool {
	if n, _ := matchLoosely(s.held, s.trimmed); n > 0 {
		return s.join(n, seamRepeated)
	}
	// Runs of white space are compared whole, so the last one waits for the text behind it.
	text := strings.TrimRightFunc(s.held, unicode.IsSpace)
	n, _ := matchLoosely(s.trimmed, text)
	if final || n == 0 && text != "" {
		return s.refuse()
	}
	s.trimmed = s.trimmed[n:]
	s.drop(len(text))
	return false
}

// dropOverlap drops the begin of a prefilled answer if it repeats the shown text, or at least
// anchorTail of its last code points.
func (s *seam) dropOverlap(final bool) bool {
	if utf8.RuneCountInString(s.trimmed) > repeatedSize {
		n, open := matchLoosely(s.held, firstRunes(s.trimmed, repeatedSize))
		if open && !final {
			return false
		}
		if n > 0 {
			s.step = s.dropRepeated
			return true
		}
	}
	longest := lastRunes(s.trimmed, maxSeamHeld)
	for from := range longest {
		if from > 0 && utf8.RuneCountInString(longest[from:]) < anchorTail {
			break
		}
		n, open := matchLoosely(s.held, longest[from:])
		if open && !final {
			return false
		}
		if n > 0 && !repeatsItself(longest[from:]) {
			return s.join(n, seamJoined)
		}
	}
	s.outcome = seamJoined
	return s.release()
}

// closingQuotes maps the quotes that a model may put around the anchor.
var closingQuotes = map[rune]string{'«': "»", '“': "”", '"': `"`, '`': "`"}

// dropSpace drops the white space behind the seam that the shown text has already, and an anchor
// that the answer repeats there once more. A shorter anchor may be a word that the text repeats.
func (s *seam) dropSpace(final bool) bool {
	if s.quote != "" && strings.HasPrefix(s.held, s.quote) {
		s.drop(len(s.quote))
		s.quote = ""
	}
	if !final && strings.TrimLeftFunc(s.held, isSpaceOrQuote) == "" {
		return false
	}
	if utf8.RuneCountInString(s.anchor) >= anchorTail && s.dropped < anchorWithin && !repeatsItself(s.anchor) {
		n, open := matchBehindQuotes(s.held, s.anchor)
		if open && !final {
			return false
		}
		if n > 0 {
			s.drop(n)
			return true
		}
	}
	behind := s.held[:sizeOfSpace(s.held)]
	if strings.HasPrefix(behind, s.space) {
		behind = s.space
	}
	s.drop(len(behind))
	return s.release()
}

// matchBehindQuotes is matchLoosely for a pattern behind white space and quotes, whose size counts
// too. The pattern may itself begin with a quote.
func matchBehindQuotes(text, pattern string) (n int, open bool) {
	for at, r := range text {
		end, cut := matchLoosely(text[at:], pattern)
		switch open = open || cut; {
		case end > 0:
			return at + end, false
		case !isSpaceOrQuote(r):
			return 0, open
		}
	}
	return 0, open
}

// repeatsItself reports whether a text is made of equal pieces, as rows of a table may be. Then the
// same text behind it may be the next row, not a repetition.
func repeatsItself(text string) bool {
	for n := range text[:len(text)*2/3+1] {
		if end, _ := matchLoosely(text, text[n:]); n > 0 && end > 0 {
			return true
		}
	}
	return false
}

// findLoosely returns the place of the first pattern that begins within so many code points of a
// text, or an end of 0. open reports that the text ends within a pattern. White space at the text's
// begin does not count.
func findLoosely(text, pattern string, within int) (at, end int, open bool) {
	for at = sizeOfSpace(text); within > 0; within-- {
		n, cut := matchLoosely(text[at:], pattern)
		if n > 0 {
			return at, at + n, false
		}
		open = open || cut
		if at == len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return 0, 0, open
}

// matchLoosely returns how many bytes at a text's begin equal the whole pattern, or 0. open reports
// that the text ends before a difference. Runs of white space are equal, and so are curly and
// straight quotes.
func matchLoosely(text, pattern string) (n int, open bool) {
	for pattern != "" {
		if n == len(text) {
			return 0, true
		}
		want, width := utf8.DecodeRuneInString(pattern)
		got, size := utf8.DecodeRuneInString(text[n:])
		switch {
		case unicode.IsSpace(want) && unicode.IsSpace(got):
			width, size = sizeOfSpace(pattern), sizeOfSpace(text[n:])
		case straightQuote(want) != straightQuote(got):
			return 0, false
		}
		pattern, n = pattern[width:], n+size
	}
	return n, false
}

// sizeOfSpace returns the length of the white space that begins a text, in bytes.
func sizeOfSpace(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
}

// straightQuote returns the straight form of a curly quote, and any other rune unchanged.
func straightQuote(r rune) rune {
	switch r {
	case '“', '”':
		return '"'
	case '‘', '’':
		return '\''
	}
	return r
}

// isSpaceOrQuote reports whether a rune may stand between an anchor and its repetition.
func isSpaceOrQuote(r rune) bool {
	return unicode.IsSpace(r) || r == '«' || r == '»' || straightQuote(r) == '"'
}

// firstRunes returns the first n code points of a text, or all of a shorter one.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// lastRunes returns the last n code points of a text, or all of a shorter one.
func lastRunes(text string, n int) string {
	from := len(text)
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	return text[from:]
}
