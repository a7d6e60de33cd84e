package a2a

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
)

// counts are the members of requests that are whole numbers.
var counts = [][]byte{[]byte(`"historyLength"`), []byte(`"pageSize"`), []byte(`"history_length"`), []byte(`"page_size"`)}

// wholeNumbers returns a body whose counts are written as whole numbers, the only ones that a2a-go
// reads: 2.0 is 2. A body without one of them, or that is broken, stays as it is.
func wholeNumbers(body []byte) []byte {
	if !slices.ContainsFunc(counts, func(name []byte) bool { return bytes.Contains(body, name) }) {
		return body
	}
	var out []byte
	from := 0
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	for first := true; first || dec.StackDepth() > 0; first = false {
		switch dec.PeekKind() {
		case '{', '[', '}', ']':
			if _, err := dec.ReadToken(); err != nil {
				return body
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return body
		}
		n, ok := dialect.WholeNumber(v)
		if !ok || !slices.ContainsFunc(counts, func(name []byte) bool { return string(name) == strconv.Quote(dec.StackPointer().LastToken()) }) {
			continue
		}
		end := int(dec.InputOffset())
		out = strconv.AppendInt(append(out, body[from:end-len(v)]...), int64(n), 10)
		from = end
	}
	return append(out, body[from:]...)
}
