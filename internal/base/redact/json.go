package redact

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads JSON of others, who may check neither names nor UTF-8.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// JSON returns text, one or more JSON values, without the secrets in its strings and numbers. Names
// of members stay: a secret may well look like one of the log's own words. JSON remains JSON, with
// the same bytes except for the values that held a secret; a number becomes a string. Any other
// text is treated as a Text. The result is text itself if nothing is to be hidden, and else a copy.
func (s *Scrubber) JSON(text []byte) []byte { return s.scrubJSON(text, false) }

// JSONNames is JSON that hides secrets in the names of members as well.
func (s *Scrubber) JSONNames(text []byte) []byte { return s.scrubJSON(text, true) }

// scrubJSON is JSON; names says whether names of members are treated as well.
func (s *Scrubber) scrubJSON(text []byte, names bool) []byte {
	if !s.mayHoldSecret(text) {
		return text
	}
	clean, err := s.rewriteJSON(text, names)
	if err != nil {
		return []byte(s.Text(string(text)))
	}
	return clean
}

// isOverescaped reports whether a text may have escapes of what need not be escaped.
func isOverescaped(text []byte) bool {
	return bytes.Contains(text, []byte(`\u`)) || bytes.Contains(text, []byte(`\/`))
}

// mayHoldSecret reports whether a string or number of text may hold a secret. It is the only cost
// of most texts.
func (s *Scrubber) mayHoldSecret(text []byte) bool {
	if len(s.inJSON) == 0 {
		return false
	}
	// Unnecessary escapes write a secret in a form that is not searched for.
	if i := bytes.IndexByte(text, '\\'); i >= 0 && isOverescaped(text[i:]) {
		return true
	}
	isCut := bytes.Contains(text, []byte(cutMark))
	for _, form := range s.inJSON {
		if bytes.Contains(text, form.full) || isCut && bytes.Contains(text, form.head) {
			return true
		}
	}
	return false
}

// rewriteJSON copies text with strings and numbers treated. An error means that text is not JSON.
func (s *Scrubber) rewriteJSON(text []byte, names bool) ([]byte, error) {
	var out []byte
	copied := 0 // how much of text is in out
	dec := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	for {
		kind := dec.PeekKind()
		if kind != '"' && kind != '0' {
			_, err := dec.ReadToken()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if !names && isName(dec) {
			continue
		}
		if clean, found := s.scrubScalar(value); found {
			end := int(dec.InputOffset())
			out = append(append(out, text[copied:end-len(value)]...), clean...)
			copied = end
		}
	}
	if copied == 0 {
		return text, nil
	}
	return append(out, text[copied:]...), nil
}

// isName reports whether the decoder has just read the name of a member.
func isName(dec *jsontext.Decoder) bool {
	kind, n := dec.StackIndex(dec.StackDepth())
	return kind == '{' && n%2 == 1
}

// scrubScalar returns value, a string or number, as a string without secrets, if it has any.
func (s *Scrubber) scrubScalar(value jsontext.Value) (clean []byte, found bool) {
	text := string(value)
	if value.Kind() == '"' {
		b, _ := jsontext.AppendUnquote(nil, value) // the decoder has checked it
		text = string(b)
	}
	hidden := s.Text(text)
	if hidden == text {
		return nil, false
	}
	clean, _ = jsontext.AppendQuote(nil, hidden) // as above
	return clean, true
}
