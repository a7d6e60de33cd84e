package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Bounds of the tools that a client brings along.
const (
	maxTools       = 128
	maxDescription = 16_000    // code points
	maxSchema      = 16 << 10  // bytes
	maxSchemas     = 128 << 10 // bytes of all
)

// ToolsAt is the JSON pointer of the tools of a request, in each protocol.
const ToolsAt = "/tools"

// Tools reads the tools that a client brings along. Its zero value is ready.
type Tools struct {
	list  []chat.ClientTool
	names map[string]bool
	size  int
	work  int // that compiling the schemas took
}

// All returns those that were added.
func (t *Tools) All() []chat.ClientTool { return t.list }

// Add adds a tool, or its faults to e. at is the JSON pointer of the tool, and nameAt and schemaAt
// those of its parts. A schema that is nil is that of no arguments.
func (t *Tools) Add(name, description string, schema jsontext.Value, at, nameAt, schemaAt string, e *chat.ValidationError) {
	fault := func(at, code, message string) { e.Add(at, &chat.FieldError{Code: code, Message: message}) }
	if len(t.list) == maxTools {
		fault(ToolsAt, chat.CodeTooLong, "must have at most 128 tools")
		return
	}
	if schema == nil || schema.Kind() == 'n' {
		schema = jsontext.Value(`{"type":"object","properties":{}}`)
	}
	t.size += len(schema)
	switch {
	case !toolName(name):
		fault(nameAt, chat.CodeInvalidFormat, "must be 1 to 64 of A-Z a-z 0-9 _ . : -, and begin with a letter, a digit, _ or -")
	case t.names[name]:
		fault(nameAt, chat.CodeNameTaken, "is the name of two tools")
	case utf8.RuneCountInString(description) > maxDescription:
		fault(at, chat.CodeTooLong, "must have a description of at most 16000 characters")
	case schema.Kind() != '{':
		fault(schemaAt, chat.CodeWrongType, "must be an object")
	case len(schema) > maxSchema || t.size > maxSchemas:
		fault(schemaAt, chat.CodeTooLong, "must have at most 16 KiB, and those of all tools 128 KiB")
	default:
		_, work, err := tool.Compile(schema, tool.Room-t.work)
		if t.work += work; err != nil {
			fault(schemaAt, chat.CodeInvalidFormat, "must be a JSON Schema without references out of itself")
			return
		}
		if t.names == nil {
			t.names = map[string]bool{}
		}
		t.names[name] = true
		t.list = append(t.list, chat.ClientTool{Spec: tool.Spec{Name: name, Description: tool.Clean(description), InputSchema: schema.Clone()}, At: nameAt})
	}
}

// toolName says whether a tool may have the name.
func toolName(name string) bool {
	const first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return name != "" && len(name) <= 64 && strings.IndexByte(first, name[0]) >= 0 && strings.Trim(name, first+".:") == ""
}
