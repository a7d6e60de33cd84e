package dialect

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// Object returns the members of a JSON object that chat.Members has read whole. They lie in its
// memory, as the items of List do: who keeps one longer than the request is read clones it.
func Object(v jsontext.Value) map[string]jsontext.Value { return jsonparts.Object(v) }

// List returns the items of a JSON array that chat.Members has read whole.
func List(v jsontext.Value) []jsontext.Value { return jsonparts.List(v) }

// Text returns the string that a JSON string is which chat.Members has read.
func Text(v jsontext.Value) string { return jsonparts.Text(v) }

// WholeNumber returns the whole number that a JSON number is, also as 100.0 or 1e2; false if it is another
// value. A larger number than 2^53, which every protocol holds exactly, is 2^53.
func WholeNumber(v jsontext.Value) (n int, ok bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	const most = 1 << 53
	f, err := strconv.ParseFloat(string(v), 64) // with an error it is infinite
	if err == nil && f != math.Trunc(f) {
		return 0, false
	}
	return int(max(-most, min(f, most))), true
}
