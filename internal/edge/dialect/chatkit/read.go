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

// value is a place in a body and the value there; raw is nil if it is absent.
type value struct {
	at  string // JSON pointer
	raw jsontext.Value
}

// isAbsent reports whether the value is absent or null. Both mean the same.
func (v value) isAbsent() bool { return v.raw == nil || v.raw.Kind() == 'n' }

// object is a JSON object of which nothing is wanted but its known members.
type object struct {
	at      string
	members map[string]jsontext.Value
}

// get returns a member; one that is absent has a pointer all the same, for a fault.
func (o object) get(name string) value { return value{o.at + "/" + name, o.members[name]} }

// reader reads a body and lists its faults.
type reader struct{ faults chat.ValidationError }

// addFault adds a fault of v. Reading continues, so that all faults are listed.
func (r *reader) addFault(v value, code, message string) {
	r.faults.Add(v.at, &chat.FieldError{Code: code, Message: message})
}

// addMissing notes that v is absent.
func (r *reader) addMissing(v value) { r.addFault(v, chat.CodeRequired, "is required") }

// lenientOptions let a reader go on in a body that is not strict. The fault has been added by then.
func lenientOptions() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// readObject reads an object. An absent one, or another type, is an object without members.
func (r *reader) readObject(v value) object {
	o := object{at: v.at}
	switch {
	case v.isAbsent():
	case v.raw.Kind() != '{':
		r.addFault(v, chat.CodeWrongType, "must be an object")
	default:
		_ = json.Unmarshal(v.raw, &o.members, lenientOptions()) // it is well-formed
	}
	return o
}

// readList reads an array. An absent value or another type is an empty list.
func (r *reader) readList(v value) []value {
	if v.isAbsent() {
		return nil
	}
	if v.raw.Kind() != '[' {
		r.addFault(v, chat.CodeWrongType, "must be an array")
		return nil
	}
	var raw []jsontext.Value
	_ = json.Unmarshal(v.raw, &raw, lenientOptions()) // it is well-formed
	list := make([]value, len(raw))
	for i := range raw {
		list[i] = value{v.at + "/" + strconv.Itoa(i), raw[i]}
	}
	return list
}

// readText reads a string. It returns nil if the value is missing or null; another type is a fault.
func (r *reader) readText(v value) *string {
	if v.isAbsent() {
		return nil
	}
	if v.raw.Kind() != '"' {
		r.addFault(v, chat.CodeWrongType, "must be a string")
		return nil
	}
	b, _ := jsontext.AppendUnquote(nil, v.raw) // it reports invalid UTF-8, as has been done
	s := string(b)
	return &s
}

// readRequired reads a string that must be there; else it is empty.
func (r *reader) readRequired(v value) string {
	if v.isAbsent() {
		r.addMissing(v)
	}
	if s := r.readText(v); s != nil {
		return *s
	}
	return ""
}

// readBool reads true or false; absent is false.
func (r *reader) readBool(v value) bool {
	if v.isAbsent() {
		return false
	}
	if k := v.raw.Kind(); k != 't' && k != 'f' {
		r.addFault(v, chat.CodeWrongType, "must be true or false")
	}
	return v.raw.Kind() == 't'
}

// wellFormed checks the body as a whole, by the rules of chat.DecodeRequest. It
// returns false if nothing can be read.
func (r *reader) wellFormed(body jsontext.Value) bool {
	if !body.IsValid() {
		if err := r.checkStrict(body); err != nil {
			r.addSyntaxFault(err)
			return false
		}
	}
	if body.Kind() != '{' {
		r.addFault(value{}, chat.CodeWrongType, "the body must be a JSON object")
		return false
	}
	return true
}

// addSyntaxFault notes why a body is not JSON. The message has a place and no part of the body.
func (r *reader) addSyntaxFault(err error) {
	if err == errTrailing {
		r.addFault(value{}, chat.CodeTrailingData, errTrailing.Error())
		return
	}
	message := "the body ends before the JSON object does"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		message = fmt.Sprintf("the body is not valid JSON at byte %d", e.ByteOffset)
	}
	r.addFault(value{}, chat.CodeInvalidJSON, message)
}

var errTrailing = errors.New("there is data after the JSON object")

// checkStrict adds the faults of a body that is not strict. It returns an error if the body's
// structure is lost.
func (r *reader) checkStrict(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body), lenientOptions())
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
				wrong = checkName(names[len(names)-1], raw)
			}
			r.faults.Add(placeOf(dec.StackPointer()), wrong)
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

// checkName notes a name of an object.
func checkName(seen map[string]bool, name jsontext.Value) *chat.FieldError {
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

// placeOf returns a pointer for a fault. A pointer that is long or holds control characters is not
// repeated: the fault is then the document's.
func placeOf(p jsontext.Pointer) string {
	s := string(p)
	if chat.Line(s, 128) != s || strings.ContainsRune(s, '\uFFFD') {
		return ""
	}
	return s
}
