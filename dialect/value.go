package dialect

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/jsonparts"
)

// Object returns the members of a JSON object that chat.Members has read whole. They lie in its
// memory, as the items of List do: who keeps one longer than the request is read clones it.
func Object(v jsontext.Value) map[string]jsontext.Value { return jsonparts.Object(v) }

// List returns the items of a JSON array that chat.Members has read whole.
func List(v jsontext.Value) []jsontext.Value { return jsonparts.List(v) }

// Text returns the string that a JSON string is which chat.Members has read.
func Text(v jsontext.Value) string { return jsonparts.Text(v) }
