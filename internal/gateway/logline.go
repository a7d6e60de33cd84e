package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/config"
)

const (
	// maxLine is the most bytes that a line of the log has, its LF included. What
	// writes a line clips what others made up; this is the last guard.
	maxLine = 16 << 10
	// Of a line that is too long these are kept: bytes of all, of the details, so that
	// there is room for what stands around them, and of one string.
	shortLine, shortDetails, shortValue = 15 << 10, 8 << 10, 512
)

// lenient reads what zerolog writes, which checks neither of these.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

const redacted = "[REDACTED]"

// scrubber takes secrets out of log lines.
type scrubber struct {
	secrets  []string
	inLine   [][]byte // each as it looks within a JSON string
	replacer *strings.Replacer
}

func newScrubber(secrets []string) *scrubber {
	s := &scrubber{secrets: secrets}
	var pairs []string
	for _, secret := range secrets {
		quoted, _ := jsontext.AppendQuote(nil, secret)
		s.inLine = append(s.inLine, quoted[1:len(quoted)-1])
		pairs = append(pairs, secret, redacted)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// scrub returns line without secrets. Only values are looked at, and what was JSON
// is JSON afterwards: a secret may well look like a number, or like one of the log's
// own words.
func (s *scrubber) scrub(line []byte) []byte {
	clipped := bytes.Contains(line, []byte(clipMark))
	for _, secret := range s.inLine {
		if bytes.Contains(line, secret) || clipped && bytes.Contains(line, secretHead(secret)) {
			return s.rewrite(line)
		}
	}
	return line
}

// clipMark is where chat.Clip has cut a text, perhaps within a secret.
const clipMark = "…"

// secretHead returns the shortest beginning of a secret that is hidden before a clipMark.
func secretHead[T string | []byte](secret T) T { return secret[:min(len(secret), config.MinSecret)] }

func (s *scrubber) rewrite(line []byte) []byte {
	var out bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(line), lenient)
	enc := jsontext.NewEncoder(&out, lenient)
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return out.Bytes()
		}
		if err == nil {
			err = enc.WriteToken(s.token(token, isName(dec)))
		}
		if err != nil { // no JSON: cannot happen, but no secret may show because of it
			return []byte(s.replacer.Replace(string(line)))
		}
	}
}

// isName says whether the token that was read last is the name of a member.
func isName(dec *jsontext.Decoder) bool {
	kind, n := dec.StackIndex(dec.StackDepth())
	return kind == '{' && n%2 == 1
}

func (s *scrubber) token(token jsontext.Token, name bool) jsontext.Token {
	kind := token.Kind()
	if name || kind != '"' && kind != '0' {
		return token
	}
	text := token.String()
	clean := s.hideClipped(s.replacer.Replace(text))
	if clean == text {
		return token
	}
	return jsontext.String(clean)
}

// hideClipped hides the beginning of a secret at the end of a text that was clipped.
func (s *scrubber) hideClipped(text string) string {
	kept, clipped := strings.CutSuffix(text, clipMark)
	if !clipped {
		return text
	}
	for _, secret := range s.secrets {
		i := strings.LastIndex(kept, secretHead(secret))
		if i >= 0 && strings.HasPrefix(secret, kept[i:]) {
			return kept[:i] + redacted + clipMark
		}
	}
	return text
}

// warnOfShortSecrets tells which secrets cannot be kept out of the log.
func warnOfShortSecrets(log zerolog.Logger, cfg config.Config) {
	for _, setting := range cfg.ShortSecrets() {
		log.Warn().Dict("details", zerolog.Dict().Str("setting", setting).Int("shorter_than", config.MinSecret)).Msg("secret_too_short_to_hide")
	}
}

// shorten returns a line that is too long as a shorter one with the same members:
// strings are cut, and other values that are long are left out. line_bytes says how
// long the line was.
func shorten(line []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, maxLine), `{"line_bytes":%d`, len(line))
	out = appendShort(out, line, shortLine, func(name string, v jsontext.Value) jsontext.Value {
		if name != `"details"` || v.Kind() != '{' {
			return shortened(v)
		}
		details := appendShort(nil, v, shortDetails, func(_ string, v jsontext.Value) jsontext.Value { return shortened(v) })
		return append(append([]byte{'{'}, bytes.TrimPrefix(details, []byte{','})...), '}')
	})
	return append(out, '}', '\n')
}

// appendShort appends the members of object, each after a comma and with its value
// as short returns it, nil for none, as far as they fit in room bytes.
func appendShort(dst []byte, object jsontext.Value, room int, short func(name string, v jsontext.Value) jsontext.Value) []byte {
	dec := jsontext.NewDecoder(bytes.NewReader(object), lenient)
	_, _ = dec.ReadToken() // the brace
	for dec.PeekKind() == '"' {
		quoted, _ := dec.ReadValue()
		name := string(quoted)
		v, err := dec.ReadValue()
		if err != nil { // it is zerolog's: cannot happen
			break
		}
		v = short(name, v)
		size := len(`,:`) + len(name) + len(v)
		if v == nil || size > room {
			continue
		}
		room -= size
		dst = append(append(append(append(dst, ','), name...), ':'), v...)
	}
	return dst
}

func shortened(v jsontext.Value) jsontext.Value {
	switch {
	case len(v) <= shortValue:
		return v
	case v.Kind() != '"':
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return nil
	}
	quoted, _ := jsontext.AppendQuote(nil, chat.Clip(string(text), shortValue))
	return chat.EscapeHidden(quoted)
}
