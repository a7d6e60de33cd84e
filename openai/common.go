package openai

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tolerant reads what a model or a service wrote: text that is not UTF-8 gets
// replacement characters, and of members of one name the last counts.
var tolerant = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// appendString appends s as a JSON string. The error would tell of bytes that are not
// UTF-8 and were replaced.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// unquote returns the string that v is, or "".
func unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}
