package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	jsonopts "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// messageKind is the part that a message has in an exchange.
type messageKind int

const (
	nothing    messageKind = iota // a notification, or not JSON-RPC
	answered                      // a response
	questioned                    // a request of the server's own
	stray                         // an id, and neither a method nor a result nor an error: it answers nothing
)

// message is a JSON-RPC message as a server wrote it. Only its outer members are read, so that
// an odd form of one does not cost the others. A member that is absent is nil.
type message struct {
	text   []byte
	id     jsontext.Value // nil also for null
	result jsontext.Value // "null" for null
	err    jsontext.Value // nil also for null
	method bool
	// odd is true if mcp-go cannot read the message, or would misread it.
	odd bool
}

// splitMessages returns the messages in text: one, or those of a batch.
func splitMessages(text []byte) iter.Seq[message] {
	return func(yield func(message) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(text), Lenient)
		if dec.PeekKind() != '[' {
			yield(readMessage(text))
			return
		}
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '{' {
			value, err := dec.ReadValue()
			if err != nil {
				return
			}
			m := readMessage(value.Clone())
			m.odd = true
			if !yield(m) {
				return
			}
		}
	}
}

// readMessage reads the members of a message. It returns a zero message if text is not a
// complete JSON object.
func readMessage(text []byte) message {
	m := message{text: text}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), Lenient)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return message{}
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return message{}
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return message{}
		}
		end := int(dec.InputOffset())
		m.setMember(key, jsontext.Value(text[end-len(value):end:end]))
	}
	if _, err := dec.ReadToken(); err != nil {
		return message{}
	}
	return m
}

// setMember takes over one member.
func (m *message) setMember(key string, value jsontext.Value) {
	null := value.Kind() == 'n'
	switch key {
	case "id":
		if m.id = value; null {
			m.id = nil
		}
	case "result":
		m.result = value
	case "error":
		if m.err = value; null {
			m.err = nil
		}
	case "method":
		m.method = !null
	case "jsonrpc":
		m.odd = m.odd || value.Kind() != '"' && !null
	}
}

// classify returns the kind of the message.
func (m *message) classify() messageKind {
	switch {
	case m.id == nil:
		return nothing
	case m.result != nil || m.err != nil:
		return answered
	case m.method:
		return questioned
	}
	return stray
}

// isFor reports whether the message has this id. A nil id matches any message.
func (m message) isFor(id mcp.RequestId) bool {
	var own mcp.RequestId
	return id.IsNil() || json.Unmarshal(m.id, &own) == nil && own.String() == id.String()
}

// isPlain reports whether mcp-go reads the response as it is meant.
func (m *message) isPlain() bool {
	return !m.odd && !m.method && (m.err == nil || json.Unmarshal(m.err, new(mcp.JSONRPCErrorDetails)) == nil)
}

// toResponse returns the response in the message, or nil if the id is neither a number nor a string.
func (m *message) toResponse() *transport.JSONRPCResponse {
	r := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: json.RawMessage(m.result)}
	if json.Unmarshal(m.id, &r.ID) != nil {
		return nil
	}
	if m.err != nil {
		r.Result, r.Error = nil, errorOf(m.err)
	}
	return r
}

// marshalFitted returns the response in the form that mcp-go reads.
func (m *message) marshalFitted() []byte {
	r := m.toResponse()
	if r == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return text
}

// errorOf reads the error of a response, whatever the forms of its members are.
func errorOf(raw jsontext.Value) *mcp.JSONRPCErrorDetails {
	var e struct {
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if raw.Kind() != '{' || jsonopts.Unmarshal(raw, &e, Lenient) != nil {
		text, _ := Text(raw)
		return &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: text}
	}
	d := &mcp.JSONRPCErrorDetails{Code: codeOf(e.Code)}
	d.Message, _ = Text(e.Message)
	if d.Message == "" {
		d.Message, _ = Text(e.Data)
	}
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &d.Data) != nil {
		d.Data = nil
	}
	return d
}

// codeOf reads a code, also one in a string. It returns 0 for any other value.
func codeOf(raw jsontext.Value) int {
	text, _ := Text(raw)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || n < -1<<31 || n >= 1<<31 {
		return 0
	}
	return int(n)
}

// Text returns a JSON value as text: of a string its content, of any other value its JSON. It
// returns false for null and for an absent value.
func Text(raw jsontext.Value) (string, bool) {
	switch raw.Kind() {
	case '"':
		var s string
		if jsonopts.Unmarshal(raw, &s, Lenient) != nil {
			return "", false
		}
		return s, true
	case 'n', 0:
		return "", false
	}
	return string(raw), true
}
