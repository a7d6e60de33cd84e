// This file bounds the length of a line of the log, and warns of settings that weaken it. Readers
// of logs cut or drop lines beyond some 16 KiB, and half a line is not JSON.

package process

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

const (
	// maxLine is the most bytes that a line of the log has, its LF included. Writers of lines clip
	// foreign texts; this is the last guard.
	maxLine = 16 << 10
	// A line that is too long keeps so many bytes: in all, of its details, and of one string. The
	// difference of the first two is room for the other members.
	shortLine, shortDetails, shortValue = 15 << 10, 8 << 10, 512
)

// WarnOfShortSecrets names the settings whose secrets cannot be kept out of the log.
func WarnOfShortSecrets(log zerolog.Logger, settings []string) {
	for _, setting := range settings {
		log.Warn().Dict("details", zerolog.Dict().Str("setting", setting).Int("shorter_than", redact.MinLength)).Msg("secret_too_short_to_hide")
	}
}

// WarnOfConfig logs the warnings about the configuration file.
func WarnOfConfig(log zerolog.Logger, warnings []string) {
	for _, w := range warnings {
		log.Warn().Dict("details", zerolog.Dict().Str("message", w)).Msg("config_warning")
	}
}

// shortenLine shortens a line that is too long: it cuts strings, and leaves out other long values.
// line_bytes has the length of the original line.
//
// line is one object of JSON with a line feed. The result is one too, no longer than
// maxLine.
func shortenLine(line []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, maxLine), `{"line_bytes":%d`, len(line))
	out = appendShort(out, line, shortLine, func(name string, v jsontext.Value) jsontext.Value {
		if name != `"details"` || v.Kind() != '{' {
			return shortenValue(v)
		}
		details := appendShort(nil, v, shortDetails, func(_ string, v jsontext.Value) jsontext.Value { return shortenValue(v) })
		return append(append([]byte{'{'}, bytes.TrimPrefix(details, []byte{','})...), '}')
	})
	return append(out, '}', '\n')
}

// appendShort appends the members of object, each after a comma, as far as they fit in room bytes.
// short returns the value of a member, or nil to leave it out.
//
// Members that come later are still tried after one that does not fit, as they may be
// shorter.
func appendShort(dst []byte, object jsontext.Value, room int, short func(name string, v jsontext.Value) jsontext.Value) []byte {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) // zerolog checks neither
	_, _ = dec.ReadToken()                                                                                                   // the brace
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

// shortenValue returns a JSON value that is fit for a log line: a long text is cut, another
// long value is nil.
func shortenValue(v jsontext.Value) jsontext.Value {
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
