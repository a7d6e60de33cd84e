package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// DecodeRequest reads a request from a JSON body, strictly: a duplicate key at
// any depth, a wrong type, invalid UTF-8, a lone surrogate, broken JSON and
// trailing data are faults; unknown fields are not. An error is a
// *ValidationError that lists every faulty field, unless the JSON is broken:
// then nothing behind that place can be read.
func DecodeRequest(body []byte) (Request, error) {
	d := decoder{seen: map[string]bool{}}
	d.document(body)
	if d.broken {
		return Request{}, &d.faults
	}
	return d.fields.build(&d.faults)
}

// QueryRequest reads a request from the query of a GET, by the same rules. A
// parameter of ours that comes twice is a fault; others are ignored.
func QueryRequest(rawQuery string) (Request, error) {
	var e ValidationError
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		e.add("", CodeInvalidFormat, "the query is not percent-encoded as it should be")
		return Request{}, &e // what it left out would be taken for absent
	}
	var f fields
	for _, p := range []struct {
		name string
		into **string
	}{
		{"input", &f.input}, {"conversation_id", &f.conversationID}, {"user_id", &f.userID}, {"timezone", &f.timezone},
	} {
		*p.into = queryValue(query, p.name, &e)
	}
	if s := queryValue(query, "accumulated", &e); s != nil {
		b, err := strconv.ParseBool(*s)
		if err != nil {
			e.add("/accumulated", CodeWrongType, "must be true or false")
		}
		f.accumulated = &b
	}
	return f.build(&e)
}

func queryValue(query url.Values, name string, e *ValidationError) *string {
	values := query[name]
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 {
		e.add("/"+name, CodeDuplicateKey, "is given more than once")
		return nil
	}
	if !utf8.ValidString(values[0]) {
		e.add("/"+name, CodeInvalidUTF8, "is not valid UTF-8")
		return nil
	}
	return &values[0]
}

// decoder walks over the top level of a document. It reads leniently, so that it
// gets past a fault to the next, and checks each member by itself strictly.
type decoder struct {
	fields fields
	faults ValidationError
	seen   map[string]bool
	broken bool // the document's structure is lost
}

func (d *decoder) document(body []byte) {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadValue(); err != nil {
			d.syntax(err)
			return
		}
		d.broken = true
		d.faults.add("", CodeWrongType, "the body must be a JSON object")
		return
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		if err := d.member(dec); err != nil {
			d.syntax(err)
			return
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		d.syntax(err)
		return
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		d.faults.add("", CodeTrailingData, "there is data after the JSON object")
	}
}

// syntax ends the walk: nothing behind the place can be read.
func (d *decoder) syntax(err error) {
	d.broken = true
	msg := "the body ends before the JSON object does"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		msg = fmt.Sprintf("the body is not valid JSON at byte %d", e.ByteOffset)
	}
	d.faults.add("", CodeInvalidJSON, msg)
}

// member takes one member. Its error is that of broken JSON.
func (d *decoder) member(dec *jsontext.Decoder) error {
	key, err := dec.ReadValue()
	if err != nil {
		return err
	}
	name, nameErr := unquote(key) // now: the key is gone with the next read
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch {
	case nameErr != nil:
		d.faults.add("", CodeInvalidUTF8, "a key holds invalid UTF-8 or a lone surrogate")
	case d.seen[name]:
		d.faults.add(pointerTo(name), CodeDuplicateKey, "the key is given more than once")
	default:
		d.seen[name] = true
		d.take(name, value)
	}
	return nil
}

// take keeps the value of a known field.
func (d *decoder) take(name string, value jsontext.Value) {
	if wrong := CheckJSON(value); wrong != nil {
		d.faults.Add(pointerTo(name), wrong)
		return
	}
	switch name {
	case "input":
		d.takeString(&d.fields.input, name, value)
	case "conversation_id":
		d.takeString(&d.fields.conversationID, name, value)
	case "user_id":
		d.takeString(&d.fields.userID, name, value)
	case "timezone":
		d.takeString(&d.fields.timezone, name, value)
	case "accumulated":
		d.takeBool(name, value)
	}
}

// takeString keeps a string. null is absence, except for input.
func (d *decoder) takeString(into **string, name string, value jsontext.Value) {
	switch kind := value.Kind(); {
	case kind == '"':
		s, _ := unquote(value) // CheckJSON has seen to it that this works
		*into = &s
	case kind != 'n' || name == "input":
		d.faults.add(pointerTo(name), CodeWrongType, "must be a string")
	}
}

func (d *decoder) takeBool(name string, value jsontext.Value) {
	switch value.Kind() {
	case 'n':
	case 't', 'f':
		b := value.Kind() == 't'
		d.fields.accumulated = &b
	default:
		d.faults.add(pointerTo(name), CodeWrongType, "must be true or false")
	}
}

func unquote(v jsontext.Value) (string, error) {
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err
}

// pointerTo returns the JSON pointer of a member (RFC 6901). A name that is long
// or holds control characters is not repeated: the fault is the document's then.
func pointerTo(name string) string {
	if len(name) > 64 || stripControl(name) != name {
		return ""
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
