package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// DecodeRequest reads a request from a JSON body, strictly. A duplicate key at any depth, a wrong
// type, invalid UTF-8, a lone surrogate, broken JSON and trailing data are faults; unknown fields
// are not. An error is a *ValidationError that lists every faulty field, unless the JSON is broken:
// then nothing behind that place can be read. With an error NamesHistory alone is set.
func DecodeRequest(body []byte) (*ParsedRequest, error) { return new(HistoryRules).DecodeRequest(body) }

// DecodeRequest is the function of that name by other rules for the request's history.
func (h *HistoryRules) DecodeRequest(body []byte) (*ParsedRequest, error) {
	d := new(decoder)
	d.readDocument(ReplaceLoneSurrogates(body), d.acceptMember)
	names := d.hasSeen(fieldOf(historyField), historyField)
	if d.broken {
		return &ParsedRequest{NamesHistory: names}, &d.faults
	}
	if err := d.values.buildRequest(&d.request, &d.faults); err != nil {
		return &ParsedRequest{NamesHistory: names}, err
	}
	d.request.NamesHistory = names
	h.Bring(&d.request.Request, d.values.history, names && !d.noHistory)
	return &d.request, nil
}

// QueryRequest reads a request from the query of a GET, by the same rules. A
// parameter of ours that comes twice is a fault; others are ignored. With an error
// nothing is set.
func QueryRequest(rawQuery string) (*ParsedRequest, error) {
	e := new(ValidationError)
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		e.addFault("", CodeInvalidFormat, "the query is not percent-encoded as it should be")
		return new(ParsedRequest), e // a value that is missing because of this fault would count as absent
	}
	v := readQuery(query, e)
	asked := new(ParsedRequest)
	if err := v.buildRequest(asked, e); err != nil {
		return new(ParsedRequest), err
	}
	return asked, nil
}

// readQuery returns the values of a query's fields.
func readQuery(query url.Values, e *ValidationError) *raws {
	v := new(raws)
	for i, f := range fields {
		if !f.query {
			continue
		}
		value := queryValue(query, f.name, e)
		switch {
		case value == nil:
		case f.text != nil:
			v.of[i] = raw{given: true, text: *value}
		default:
			b, err := strconv.ParseBool(*value)
			if err != nil {
				e.addFault("/"+f.name, CodeWrongType, "must be true or false")
			}
			v.of[i] = raw{given: err == nil, flag: b}
		}
	}
	return v
}

// queryValue returns a parameter that is given once, or nil. Twice is a fault:
// programs disagree on which of the two counts.
func queryValue(query url.Values, name string, e *ValidationError) *string {
	values := query[name]
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 {
		e.addFault("/"+name, CodeDuplicateKey, "is given more than once")
		return nil
	}
	if !utf8.ValidString(values[0]) {
		e.addFault("/"+name, CodeInvalidUTF8, "is not valid UTF-8")
		return nil
	}
	return &values[0]
}

// decoder walks over the top level of a document. It reads leniently, so that it
// gets past a fault to the next, and checks each member by itself strictly.
type decoder struct {
	request ParsedRequest // made of the values
	values  raws          // of the fields, as they were read
	faults  ValidationError
	// seenFields and seenOthers are the names so far: those of fields, one bit each, and all
	// others.
	seenFields uint32
	seenOthers map[string]bool
	broken     bool // the document's structure is lost
	// noHistory is true if the history is null.
	noHistory bool
}

// Members splits the body of a request of another type by the same rules, and adds its faults to
// faults. fields lists the names that the request knows; each has a fault of its own. A member with
// a fault has no value. If the body is not an object, values is nil and ok is false. Values lie in
// one copy of the body: a caller that keeps one clones it. ReplaceLoneSurrogates comes first.
func Members(body []byte, fields []string, faults *ValidationError) (values map[string]jsontext.Value, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body)) // it reads the body in place
	if dec.PeekKind() != '{' {
		return anyMembers(body, fields, flaw{}, faults)
	}
	whole, err := dec.ReadValue()
	found := flawOf(err, body)
	if err != nil && !found.broken {
		if mended := ReplaceLoneSurrogates(body); !bytes.Equal(mended, body) {
			return Members(mended, fields, faults)
		}
		return anyMembers(body, fields, found, faults)
	}
	d := decoder{faults: *faults}
	if err != nil {
		d.failSyntax(err)
	} else {
		values = jsonparts.Object(whole.Clone())
		d.checkEnd(dec)
	}
	*faults = d.faults
	return values, err == nil
}

// flaw is the first fault of a body for a strict decoder. The zero value is an unknown fault.
type flaw struct {
	at     int64
	broken bool // the JSON itself is broken, so that a lenient decoder stops here too
}

func flawOf(err error, body []byte) (f flaw) {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return f
	}
	f.at = e.ByteOffset
	// A fault of text alone is at a byte beyond ASCII or at an escape.
	f.broken = !errors.Is(err, jsontext.ErrDuplicateName) && (f.at >= int64(len(body)) || body[f.at] < utf8.RuneSelf && body[f.at] != '\\')
	return f
}

// checkValue is CheckJSON for the value that ends at an offset of the body, without reading the values
// that are known to be strict.
func (f flaw) checkValue(value jsontext.Value, end int64) *FieldError {
	if f.at >= end {
		return nil
	}
	return CheckJSON(value)
}

// anyMembers is Members for a body in which something is wrong.
func anyMembers(body []byte, fields []string, found flaw, faults *ValidationError) (values map[string]jsontext.Value, ok bool) {
	values = map[string]jsontext.Value{}
	d := decoder{faults: *faults}
	d.readDocument(body, func(dec *jsontext.Decoder) error {
		name, value, nameErr, err := readMember(dec)
		if err != nil {
			return err
		}
		var wrong *FieldError
		switch {
		case nameErr != nil:
			d.faults.addFault("", CodeInvalidUTF8, wrongKey)
			return nil
		case d.seenOthers[name]:
			wrong = &FieldError{Code: CodeDuplicateKey, Message: duplicateKey}
		default:
			d.markSeen(-1, name)
			if wrong = found.checkValue(value, dec.InputOffset()); wrong == nil {
				values[name] = value.Clone() // the decoder uses its buffer again
			}
		}
		if slices.Contains(fields, name) {
			d.faults.addOwnField("/"+name, wrong)
		} else {
			d.faults.Add(pointerTo(name), wrong)
		}
		return nil
	})
	*faults = d.faults
	if d.broken {
		return nil, false
	}
	return values, true
}

// readMember reads a member. nameErr is the fault of its name, and err that of broken JSON.
func readMember(dec *jsontext.Decoder) (name string, value jsontext.Value, nameErr, err error) {
	key, err := dec.ReadValue()
	if err != nil {
		return "", nil, nil, err
	}
	name, nameErr = jsonparts.Unquote(key) // now: the key is gone with the next read
	value, err = dec.ReadValue()
	return name, value, nameErr, err
}

// readDocument reads the body's object. It calls member at the name of each member. It continues
// after a fault of a value, so that all are reported at once, and stops where the JSON itself is
// broken.
func (d *decoder) readDocument(body []byte, member func(*jsontext.Decoder) error) {
	dec := newLenientDecoder(body)
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadValue(); err != nil {
			d.failSyntax(err)
			return
		}
		d.broken = true
		d.faults.addFault("", CodeWrongType, "the body must be a JSON object")
		return
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		if err := member(dec); err != nil {
			d.failSyntax(err)
			return
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		d.failSyntax(err)
		return
	}
	d.checkEnd(dec)
}

// checkEnd accepts no data behind the document.
func (d *decoder) checkEnd(dec *jsontext.Decoder) {
	if _, err := dec.ReadToken(); err != io.EOF {
		d.faults.addFault("", CodeTrailingData, "there is data after the JSON object")
	}
}

// failSyntax ends the walk: nothing behind the place can be read.
func (d *decoder) failSyntax(err error) {
	d.broken = true
	msg := "the body ends before the JSON object does"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		msg = fmt.Sprintf("the body is not valid JSON at byte %d", e.ByteOffset)
	}
	d.faults.addFault("", CodeInvalidJSON, msg)
}

// acceptMember takes one member. Its error is that of broken JSON.
func (d *decoder) acceptMember(dec *jsontext.Decoder) error {
	key, err := dec.ReadValue()
	if err != nil {
		return err
	}
	name, nameErr := jsonparts.Unquote(key) // now: the key is gone with the next read
	i := fieldOf(name)
	if nameErr == nil && isList(i) && !d.hasSeen(i, name) && dec.PeekKind() == '[' {
		d.markSeen(i, name)
		d.values.history, err = fields[i].list(dec, &d.faults)
		return err
	}
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if nameErr != nil {
		d.faults.addFault("", CodeInvalidUTF8, wrongKey)
		return nil
	}
	d.acceptValue(i, name, value)
	return nil
}

// acceptValue takes the value of a member that is not read as a list.
func (d *decoder) acceptValue(i int, name string, value jsontext.Value) {
	if d.hasSeen(i, name) {
		d.addDuplicate(i, name)
		return
	}
	d.markSeen(i, name)
	d.decodeField(i, name, value)
}

// isList reports whether a field is a list. -1 is not a field.
func isList(i int) bool { return i >= 0 && fields[i].list != nil }

// hasSeen reports whether a name was there; i is its fieldOf.
func (d *decoder) hasSeen(i int, name string) bool {
	if i >= 0 {
		return d.seenFields>>i&1 != 0
	}
	return d.seenOthers[name]
}

// markSeen records a name. Most requests name nothing but fields.
func (d *decoder) markSeen(i int, name string) {
	if i >= 0 {
		d.seenFields |= 1 << i
		return
	}
	if d.seenOthers == nil {
		d.seenOthers = map[string]bool{}
	}
	d.seenOthers[name] = true
}

const (
	duplicateKey = "the key is given more than once"
	wrongKey     = "a key holds invalid UTF-8 or a lone surrogate"
)

// addDuplicate reports a name that is there twice. All unknown names share one report, so that a
// body full of them does not make the reply large.
func (d *decoder) addDuplicate(i int, name string) {
	if i >= 0 {
		d.faults.addFault(pointerTo(name), CodeDuplicateKey, duplicateKey)
	} else {
		d.faults.addOne(pointerTo(name), CodeDuplicateKey, duplicateKey)
	}
}

// decodeField keeps the value of a known field that is not a list.
func (d *decoder) decodeField(i int, name string, value jsontext.Value) {
	if wrong := CheckJSON(value); wrong != nil {
		d.addFault(i, name, wrong)
		return
	}
	switch {
	case i < 0:
	case fields[i].text != nil:
		d.decodeString(i, value)
	case fields[i].flag != nil:
		d.decodeBool(i, value)
	case value.Kind() == 'n':
		d.noHistory = d.noHistory || fields[i].list != nil
	case fields[i].number != nil:
		d.decodeNumber(i, value)
	default:
		d.decodeObject(i, name, value)
	}
}

// addFault reports the fault of a member's value.
func (d *decoder) addFault(i int, name string, wrong *FieldError) {
	if i < 0 {
		d.faults.Add(pointerTo(name), wrong)
	} else {
		d.faults.addOwnField("/"+name, wrong)
	}
}

// decodeObject stores the value of a field that is an object. A list that is not an array is a
// fault.
func (d *decoder) decodeObject(i int, name string, value jsontext.Value) {
	switch {
	case fields[i].object == nil:
		d.faults.addFault("/"+name, CodeWrongType, "must be an array")
	case value.Kind() != '{':
		d.faults.addFault("/"+name, CodeWrongType, "must be an object")
	default:
		d.values.of[i] = raw{given: true, text: string(value)}
	}
}

// decodeString keeps a string. null is absence, but for a required field.
func (d *decoder) decodeString(i int, value jsontext.Value) {
	switch kind := value.Kind(); {
	case kind == '"':
		s, _ := jsonparts.Unquote(value) // CheckJSON has seen to it that this works
		d.values.of[i] = raw{given: true, text: s}
	case kind != 'n' || fields[i].required:
		d.faults.addFault("/"+fields[i].name, CodeWrongType, "must be a string")
	}
}

func (d *decoder) decodeNumber(i int, value jsontext.Value) {
	if value.Kind() != '0' {
		d.faults.addFault("/"+fields[i].name, CodeWrongType, "must be a number")
		return
	}
	d.values.of[i] = raw{given: true, text: string(value)}
}

// decodeBool reads a flag. null is as if it were not given; "true" in quotes is a
// fault.
func (d *decoder) decodeBool(i int, value jsontext.Value) {
	switch value.Kind() {
	case 'n':
	case 't', 'f':
		d.values.of[i] = raw{given: true, flag: value.Kind() == 't'}
	default:
		d.faults.addFault("/"+fields[i].name, CodeWrongType, "must be true or false")
	}
}

// newLenientDecoder returns a decoder that gets past faults within values.
func newLenientDecoder(text []byte) *jsontext.Decoder {
	// With a bytes.Buffer the decoder makes no copy and leaves the bytes unchanged.
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// pointerTo returns the JSON pointer of a member (RFC 6901). A name that is long
// or holds control characters is not repeated: the fault is the document's then.
func pointerTo(name string) string {
	if len(name) > 64 || stripControl(name) != name {
		return ""
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// SharedFields reads fields of a request that another protocol's body has under their own names:
// those of members that known names. They follow the same rules. at is the JSON pointer of the
// object that contains them. null is absence.
func SharedFields(members map[string]jsontext.Value, at string, known func(name string) bool, e *ValidationError) *ParsedRequest {
	d := new(decoder)
	for i := range fields {
		name := fields[i].name
		value, given := members[name]
		if !given || !known(name) || fields[i].list != nil || value.Kind() == 'n' {
			continue
		}
		d.decodeField(i, name, value)
		if d.values.of[i].given {
			setField(i, &d.request, d.values.of[i], &d.faults)
		}
	}
	for _, f := range d.faults.Fields {
		e.addOne(at+f.Field, f.Code, f.Message)
	}
	return &d.request
}
