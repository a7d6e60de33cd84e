package chat

import "github.com/go-json-experiment/json/jsontext"

// AnswerForm asks for an answer that is one JSON object, for a program to read. It never changes.
type AnswerForm struct {
	// Name is that of the schema: 1 to 64 of A-Z, a-z, 0-9, _ and -.
	Name string
	// Description is the application's description of the object; empty without one.
	Description string `json:",omitempty"`
	// Schema is a JSON Schema (2020-12) whose root is of type object, of at most MaxAnswerSchema.
	Schema jsontext.Value
	// At is the JSON pointer of the form in its request, and SchemaAt that of the schema, for
	// faults that are found later.
	At       string `json:"-"`
	SchemaAt string `json:"-"`
}

// Bounds of an AnswerForm, in bytes.
const (
	MaxAnswerSchema      = 64 << 10
	MaxAnswerDescription = 4 << 10
)

// AnyObject is the schema of an answer that may be any JSON object.
const AnyObject = `{"type":"object"}`
