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
// *ValidationError that lists every fault found.
func DecodeRequest(body []byte) (Request, error) {
	d := decoder{seen: map[string]bool{}}
	d.document(body)
	if d.broken {
		return Request{}, &d.faults
	}
	return d.fields.build(&d.faults)
}

// QueryRequest reads a request from the query of a GET. A parameter that comes
// twice is a fault, as a duplicate key is.
func QueryRequest(rawQuery string) (Request, error) {
	var e ValidationError
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		e.add("", CodeInvalidFormat, "the query is not percent-encoded as it should be")
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
			d.syntax(dec, err)
			return
		}
		d.broken = true
		d.faults.add("", CodeWrongType, "the body must be a JSON object")
		return
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		if err := d.member(dec); err != nil {
			d.syntax(dec, err)
			return
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		d.syntax(dec, err)
		return
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		d.faults.add("", CodeTrailingData, "there is data after the JSON object")
	}
}

// syntax ends the walk: nothing behind the place can be read.
func (d *decoder) syntax(dec *jsontext.Decoder, err error) {
	d.broken = true
	msg := fmt.Sprintf("is not valid JSON at byte %d", dec.InputOffset())
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		msg = "ends before the JSON object does"
	}
	d.faults.add("", CodeInvalidJSON, "the body "+msg)
}

func (d *decoder) member(dec *jsontext.Decoder) error {
	key, err := dec.ReadValue()
	if err != nil {
		return err
	}
	name, nameErr := unquote(key)
	pointer := pointerTo(name)
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch {
	case nameErr != nil:
		d.faults.add("", CodeInvalidUTF8, "a key is not valid UTF-8")
		return nil
	case d.seen[name]:
		if !d.faults.has(pointer) {
			d.faults.add(pointer, CodeDuplicateKey, "is given more than once")
		}
		return nil
	}
	d.seen[name] = true
	if code, text := strictFault(value); code != "" {
		d.faults.add(pointer, code, text)
		return nil
	}
	d.take(name, pointer, value)
	return nil
}

// take keeps the value of a known field. null is absence, except for input.
func (d *decoder) take(name, pointer string, value jsontext.Value) {
	var into **string
	switch name {
	case "input":
		into = &d.fields.input
	case "conversation_id":
		into = &d.fields.conversationID
	case "user_id":
		into = &d.fields.userID
	case "timezone":
		into = &d.fields.timezone
	case "accumulated":
		d.takeBool(pointer, value)
		return
	default:
		return
	}
	if value.Kind() == 'n' && name != "input" {
		return
	}
	if value.Kind() != '"' {
		d.faults.add(pointer, CodeWrongType, "must be a string")
		return
	}
	s, err := unquote(value)
	if err != nil {
		d.faults.add(pointer, CodeInvalidUTF8, "is not valid UTF-8")
		return
	}
	*into = &s
}

func (d *decoder) takeBool(pointer string, value jsontext.Value) {
	switch value.Kind() {
	case 'n':
	case 't', 'f':
		b := value.Kind() == 't'
		d.fields.accumulated = &b
	default:
		d.faults.add(pointer, CodeWrongType, "must be true or false")
	}
}

// strictFault says what is wrong inside a value that is well-formed.
func strictFault(value jsontext.Value) (code, text string) {
	if value.IsValid() {
		return "", ""
	}
	if value.IsValid(jsontext.AllowDuplicateNames(true)) {
		return CodeDuplicateKey, "holds an object with a duplicate key"
	}
	return CodeInvalidUTF8, "holds invalid UTF-8 or a lone surrogate"
}

func unquote(v jsontext.Value) (string, error) {
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err
}

// pointerTo returns the JSON pointer of a member (RFC 6901). A name that no
// field of ours could have is not repeated.
func pointerTo(name string) string {
	if len(name) > 64 || stripControl(name) != name {
		return ""
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
