// Package redact removes secrets from texts for others: the log, the errors and texts of upstreams,
// the definitions of tools. A Scrubber knows the secrets of the configuration. Keys and KeyLike
// find unconfigured secrets by their form.
//
// A Scrubber is made once, of all secrets that the configuration holds, and is
// safe for concurrent use. It looks for each secret as it is and as JSON writes
// it. Secrets shorter than MinLength are not looked for, because they would be
// found everywhere; the program warns of them at its start.
//
// Personal data (cards, numbers of accounts, addresses, phones) is found by its form and by check
// digits. It takes one pass over the text.
//
// Verbs: find (spans), hide (a span), rewrite (JSON).
package redact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// Mark stands where a secret was.
	Mark = "[redacted]"
	// MinLength is the length in bytes below which a secret is not searched for. "1", "info" or
	// "test" are part of ordinary words, and hiding them would make any text unreadable.
	MinLength = 8
	// cutMark ends a text that was cut, perhaps within a secret (chat.Clip).
	cutMark = "…"
)

// Scrubber hides a set of secrets. Its methods may be called at the same time, take time in
// proportion to the text, and allocate only if they hide something. To hide twice is the same as
// once.
type Scrubber struct {
	needles []string // the secrets, and how they look within a JSON string
	inJSON  []jsonForm
}

// jsonForm is a needle as it looks within a JSON string.
type jsonForm struct {
	full []byte
	head []byte // of its first MinLength bytes, less if they end within a character
}

// New returns a Scrubber of secrets, in any order. It leaves out secrets that are shorter than
// MinLength.
func New(secrets []string) *Scrubber {
	s := &Scrubber{}
	for _, secret := range secrets {
		if len(secret) >= MinLength {
			s.needles = append(s.needles, secret, string(asInJSON(secret)))
		}
	}
	slices.Sort(s.needles)
	s.needles = slices.Compact(s.needles)
	for _, needle := range s.needles {
		s.inJSON = append(s.inJSON, jsonForm{asInJSON(needle), asInJSON(headOf(needle))})
	}
	return s
}

// asInJSON returns text as it looks within a JSON string.
func asInJSON(text string) []byte {
	// The error reports invalid UTF-8, which becomes U+FFFD, as in any JSON.
	b, _ := jsontext.AppendQuote(nil, text)
	return b[1 : len(b)-1]
}

// headOf returns the beginning of a secret, cut between characters. A text without it cannot hold a
// part of the secret.
func headOf(needle string) string {
	n := MinLength
	for n > 0 && n < len(needle) && needle[n]&0xC0 == 0x80 {
		n--
	}
	return needle[:n]
}

// Text returns text with a Mark in place of each secret. Secrets that overlap become
// one Mark, so that none leaves a remainder. If text was cut and ends in "…", the
// beginning of a secret in front of that is hidden as well, from MinLength bytes on.
func (s *Scrubber) Text(text string) string {
	// A secret may begin or end like a Mark. Then a Mark and the text around it can form the secret
	// once more, hence the loop. Each round makes the text outside Marks shorter; for any other
	// secret the second round finds nothing.
	for {
		spans := s.findSpans(text)
		if len(spans) == 0 {
			return text
		}
		text = coverSpans(text, spans)
	}
}

// span is a part of a text.
type span struct{ start, end int }

// findSpans returns the spans to hide in text, in order and without overlaps.
func (s *Scrubber) findSpans(text string) []span {
	var found []span
	for _, needle := range s.needles {
		found = appendAll(found, text, needle)
	}
	if kept, isCut := strings.CutSuffix(text, cutMark); isCut {
		for _, needle := range s.needles {
			found = appendCut(found, kept, needle)
		}
	}
	if len(found) == 0 {
		return nil
	}
	for i, f := range found {
		found[i] = span{markStart(text, f.start), markEnd(text, f.end)}
	}
	return slices.DeleteFunc(mergeSpans(found), func(f span) bool { return text[f.start:f.end] == Mark })
}

// appendAll appends where needle is in text. Overlapping places are one span.
func appendAll(found []span, text, needle string) []span {
	own := len(found)
	for from := 0; ; {
		i := strings.Index(text[from:], needle)
		if i < 0 {
			return found
		}
		start, end := from+i, from+i+len(needle)
		if last := len(found) - 1; last >= own && start < found[last].end {
			found[last].end = end
		} else {
			found = append(found, span{start, end})
		}
		from = start + 1
	}
}

// appendCut appends the longest beginning of needle that ends kept.
func appendCut(found []span, kept, needle string) []span {
	for from := max(0, len(kept)-len(needle)); ; from++ {
		i := strings.Index(kept[from:], needle[:MinLength])
		if i < 0 {
			return found
		}
		if from += i; strings.HasPrefix(needle, kept[from:]) {
			return append(found, span{from, len(kept)})
		}
	}
}

// markStart returns where the Mark begins that position at of text lies within, or at.
func markStart(text string, at int) int {
	near := max(0, at-len(Mark)+1)
	if i := strings.Index(text[near:min(len(text), at+len(Mark)-1)], Mark); i >= 0 {
		return near + i
	}
	return at
}

// markEnd returns where the Mark ends that position at of text lies within, or at.
func markEnd(text string, at int) int {
	if start := markStart(text, at); start < at {
		return start + len(Mark)
	}
	return at
}

// mergeSpans joins spans that overlap, in their order.
func mergeSpans(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	all := spans[:1]
	for _, next := range spans[1:] {
		if last := &all[len(all)-1]; next.start < last.end {
			last.end = max(last.end, next.end)
		} else {
			all = append(all, next)
		}
	}
	return all
}

// coverSpans returns text with a Mark in place of each of spans.
func coverSpans(text string, spans []span) string {
	var b strings.Builder
	from := 0
	for _, f := range spans {
		b.WriteString(text[from:f.start])
		b.WriteString(Mark)
		from = f.end
	}
	b.WriteString(text[from:])
	return b.String()
}
