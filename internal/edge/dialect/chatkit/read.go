package chatkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// value is a place in a body and what stands there. raw is nil if nothing does.
type value struct {
	at  string // JSON pointer
	raw jsontext.Value
}

// none says that the value is absent, or null, which is the same.
func (v value) none() bool { return v.raw == nil || v.raw.Kind() == 'n' }

// object is a JSON object of which nothing is wanted but its known members.
type object struct {
	at      string
	members map[string]jsontext.Value
}

// get returns a member; one that is absent has a pointer all the same, for a fault.
func (o object) get(name string) value { return value{o.at + "/" + name, o.members[name]} }

// reader reads a body and lists its faults.
type reader struct{ faults chat.ValidationError }

// fault notes what is wrong with v. Reading continues, so that all faults are listed.
func (r *reader) fault(v value, code, message string) {
	r.faults.Add(v.at, &chat.FieldError{Code: code, Message: message})
}

// required notes that v is absent.
func (r *reader) required(v value) { r.fault(v, chat.CodeRequired, "is required") }

// lenient reads on where a body is not strict, which has been reported by then.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object reads an object; what is none has no members.
func (r *reader) object(v value) object {
	o := object{at: v.at}
	switch {
	case v.none():
	case v.raw.Kind() != '{':
		r.fault(v, chat.CodeWrongType, "must be an object")
	default:
		_ = json.Unmarshal(v.raw, &o.members, lenient()) // it is well-formed
	}
	return o
}

// list reads an array. What is absent or not an array has no elements.
func (r *reader) list(v value) []value {
	if v.none() {
		return nil
	}
	if v.raw.Kind() != '[' {
		r.fault(v, chat.CodeWrongType, "must be an array")
		return nil
	}
	var raw []jsontext.Value
	_ = json.Unmarshal(v.raw, &raw, lenient()) // it is well-formed
	list := make([]value, len(raw))
	for i := range raw {
		list[i] = value{v.at + "/" + strconv.Itoa(i), raw[i]}
	}
	return list
}

// text reads a string. What is none, or absent, is nil.
func (r *reader) text(v value) *string {
	if v.none() {
		return nil
	}
	if v.raw.Kind() != '"' {
		r.fault(v, chat.CodeWrongType, "must be a string")
		return nil
	}
	b, _ := jsontext.AppendUnquote(nil, v.raw) // it reports invalid UTF-8, as has been done
	s := string(b)
	return &s
}

// want reads a string that must be there; else it is empty.
func (r *reader) want(v value) string {
	if v.none() {
		r.required(v)
	}
	if s := r.text(v); s != nil {
		return *s
	}
	return ""
}

// boolean reads true or false; absent is false.
func (r *reader) boolean(v value) bool {
	if v.none() {
		return false
	}
	if k := v.raw.Kind(); k != 't' && k != 'f' {
		r.fault(v, chat.CodeWrongType, "must be true or false")
	}
	return v.raw.Kind() == 't'
}

// wellFormed checks the body as a whole, by the rules of chat.DecodeRequest. It
// returns false if nothing can be read.
func (r *reader) wellFormed(body jsontext.Value) bool {
	if !body.IsValid() {
		if err := r.walk(body); err != nil {
			r.syntax(err)
			return false
		}
	}
	if body.Kind() != '{' {
		r.fault(value{}, chat.CodeWrongType, "the body must be a JSON object")
		return false
	}
	return true
}

// syntax notes why a body is not JSON. The message has a place and no part of the body.
func (r *reader) syntax(err error) {
	if err == errTrailing {
		r.fault(value{}, chat.CodeTrailingData, errTrailing.Error())
		return
	}
	message := "the body ends before the JSON object does"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		message = fmt.Sprintf("the body is not valid JSON at byte %d", e.ByteOffset)
	}
	r.fault(value{}, chat.CodeInvalidJSON, message)
}

var errTrailing = errors.New("there is data after the JSON object")

// walk looks for what is not strict in a body, and returns an error if its structure
// is lost.
func (r *reader) walk(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body), lenient())
	var names []map[string]bool // of each open object or array
	for {
		kind := dec.PeekKind()
		open, length := dec.StackIndex(dec.StackDepth())
		switch kind {
		case '{', '[', '}', ']':
			if _, err := dec.ReadToken(); err != nil {
				return err
			}
			if kind == '{' || kind == '[' {
				names = append(names, map[string]bool{})
			} else {
				names = names[:len(names)-1]
			}
		default:
			raw, err := dec.ReadValue()
			if err != nil {
				return err
			}
			wrong := chat.CheckJSON(raw)
			if open == '{' && length%2 == 0 {
				wrong = duplicate(names[len(names)-1], raw)
			}
			r.faults.Add(place(dec.StackPointer()), wrong)
		}
		if len(names) == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

// duplicate notes a name of an object.
func duplicate(seen map[string]bool, name jsontext.Value) *chat.FieldError {
	if wrong := chat.CheckJSON(name); wrong != nil {
		return wrong
	}
	plain, _ := jsontext.AppendUnquote(nil, name)
	if seen[string(plain)] {
		return &chat.FieldError{Code: chat.CodeDuplicateKey, Message: "the key is given more than once"}
	}
	seen[string(plain)] = true
	return nil
}

// place returns a pointer for a fault. One that is long or holds control characters is
// not repeated: the fault is the document's then.
func place(p jsontext.Pointer) string {
	s := string(p)
	if chat.Line(s, 128) != s || strings.ContainsRune(s, '\uFFFD') {
		return ""
	}
	return s
}
