// Package jsonline appends JSON that stays on one line for every client.
//
// JSON escapes LF and CR. Some clients take more for a line end although the
// format of event streams does not: Python's splitlines, for one, splits at U+0085,
// U+2028 and U+2029. In JSON these can only stand in strings, and are escaped there.
package jsonline

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// String appends s in quotes. Invalid UTF-8 becomes U+FFFD.
func String(dst []byte, s string) []byte {
	from := len(dst)
	dst, _ = jsontext.AppendQuote(dst, s) // its error is about invalid UTF-8, already replaced
	return oneLine(dst, from)
}

// Name appends s in quotes, as String does, with the characters escaped that a reader does not see
// (chat.Hidden). It is for names that a model or a client made up, as people compare them by eye;
// in a text, such characters may be meant.
func Name(dst []byte, s string) []byte {
	from := len(dst)
	dst, _ = jsontext.AppendQuote(dst, s)
	quoted := dst[from:]
	if escaped := chat.EscapeHidden(quoted); len(escaped) != len(quoted) {
		dst = append(dst[:from], escaped...)
	}
	return dst
}

// Object appends a JSON object, as it is if that can be. It joins several lines to one, writes an
// empty object for any other value, and replaces invalid UTF-8 by U+FFFD. Among members of one name
// the first stays: some readers of JSON take another one, and some refuse all.
func Object(dst []byte, v jsontext.Value) []byte {
	if v.Kind() != '{' {
		return append(dst, "{}"...)
	}
	if !v.IsValid() || bytes.ContainsAny(v, "\r\n") {
		v = v.Clone()
		err := v.Format(jsontext.AllowInvalidUTF8(true))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			v, err = dropDuplicates(v)
		}
		if err != nil {
			return append(dst, "{}"...)
		}
	}
	from := len(dst)
	return oneLine(append(dst, v...), from)
}

// dropDuplicates returns v, one value with names that come twice, with the first of each.
func dropDuplicates(v jsontext.Value) (jsontext.Value, error) {
	tolerant := []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}
	if !v.IsValid(tolerant...) {
		return nil, io.ErrUnexpectedEOF // or more than one
	}
	var b bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(v), tolerant...)
	out := jsontext.NewEncoder(&b, jsontext.AllowInvalidUTF8(true))
	for {
		token, err := in.ReadToken()
		if err == io.EOF {
			return bytes.TrimSpace(b.Bytes()), nil
		}
		if err == nil {
			err = out.WriteToken(token)
		}
		if errors.Is(err, jsontext.ErrDuplicateName) {
			err = in.SkipValue()
		}
		if err != nil {
			return nil, err
		}
	}
}

// Value appends v, whose own JSON must be valid. Invalid UTF-8 becomes U+FFFD.
func Value(dst []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return dst, err
	}
	from := len(dst)
	return oneLine(append(dst, text...), from), nil
}

// oneLine escapes what clients take for a line end in dst[from:]. Most texts are without them, and
// cost only a search for two bytes.
func oneLine(dst []byte, from int) []byte {
	if bytes.IndexByte(dst[from:], 0xE2) < 0 && bytes.IndexByte(dst[from:], 0xC2) < 0 {
		return dst
	}
	if !bytes.ContainsAny(dst[from:], "\u0085\u2028\u2029") {
		return dst
	}
	lineEnds := strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)
	return append(dst[:from], lineEnds.Replace(string(dst[from:]))...)
}
