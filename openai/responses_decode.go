package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/model"
)

// responsesKind is what an event is about, as its type says.
type responsesKind int

const (
	responsesOther responsesKind = iota // of no interest, or not known
	responsesText
	responsesThought
	responsesItemDone
	responsesCompleted
	responsesIncomplete
	responsesFailed
	responsesError
)

// responsesEvent is one event; its values are parts of the event's data.
type responsesEvent struct {
	kind     responsesKind
	delta    jsontext.Value // a string
	item     jsontext.Value // of an output_item event
	response jsontext.Value // of created, completed and their kin
	failure  jsontext.Value // of an error
}

// responsesDecoder reads the JSON of events. It walks over the tokens itself, because
// this runs for each delta: there is no allocation but the text (BenchmarkResponsesDelta).
type responsesDecoder struct {
	in   bytes.Buffer
	json jsontext.Decoder
	data []byte // what is being read
	text []byte // the string at hand, reused
}

var (
	errResponsesType = errors.New("wrong type")

	// responsesLenient lets half a surrogate pass, which becomes U+FFFD: a delta may end
	// inside a character. Who writes a member twice means the last one.
	responsesLenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
)

func (d *responsesDecoder) reset(data []byte) {
	d.data = data
	d.in = *bytes.NewBuffer(data)
	d.json.Reset(&d.in, responsesLenient)
}

// event reads an event's data. name is the event's, for those without a type. Where
// the type comes first, as it mostly does, events of no interest are not read on: those
// that echo a request are longer than the answer.
func (d *responsesDecoder) event(name string, data []byte) (responsesEvent, error) {
	ev := responsesEvent{kind: responsesKindOf(name)}
	d.reset(data)
	if d.json.PeekKind() != '{' {
		return ev, d.unreadable(d.mismatch())
	}
	typed := false
	err := d.each('{', func() error {
		member, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		switch string(member) {
		case `"type"`:
			v, err := d.literal('"')
			if len(v) > 2 {
				typed = true
				if ev.kind = responsesKindOf(v[1 : len(v)-1]); ev.kind == responsesOther {
					return errResponsesSkip
				}
			}
			return err
		case `"delta"`:
			ev.delta, err = d.value()
		case `"item"`:
			ev.item, err = d.value()
		case `"response"`:
			ev.response, err = d.value()
		case `"error"`:
			ev.failure, err = d.value()
		default:
			err = d.json.SkipValue()
		}
		return err
	})
	if err == errResponsesSkip {
		return ev, nil
	}
	if err == nil {
		if _, err = d.json.ReadToken(); err == io.EOF {
			err = nil
		} else {
			err = errResponsesType
		}
	}
	if err != nil {
		return ev, d.unreadable(err)
	}
	if !typed && ev.failure.Kind() != 'n' && ev.failure != nil {
		ev.kind = responsesError
	}
	if ev.kind == responsesError && ev.failure.Kind() != '{' {
		ev.failure = data // its members stand in the event itself
	}
	return ev, nil
}

// errResponsesSkip ends the reading of an event of no interest.
var errResponsesSkip = errors.New("of no interest")

func responsesKindOf[S string | jsontext.Value](name S) responsesKind {
	switch string(name) {
	case "response.output_text.delta", "response.refusal.delta":
		return responsesText
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return responsesThought
	case "response.output_item.done":
		return responsesItemDone
	case "response.completed":
		return responsesCompleted
	case "response.incomplete":
		return responsesIncomplete
	case "response.failed":
		return responsesFailed
	case "error":
		return responsesError
	}
	return responsesOther
}

// unreadable says where data could not be read, but never what: it is the model's text.
func (d *responsesDecoder) unreadable(err error) error {
	kind := "syntax"
	if errors.Is(err, errResponsesType) {
		kind = errResponsesType.Error()
	}
	return fmt.Errorf("%w: %s near byte %d of %d", model.ErrUnreadable, kind, d.json.InputOffset(), len(d.data))
}

// responsesItem is an item of the output.
type responsesItem struct {
	kind, status        string
	callID, name, phase string
	arguments           []byte // valid until the next item; nil: none
	sealed              bool   // it has encrypted_content
	content             jsontext.Value
	summary             jsontext.Value
}

// item reads an item. Members of no interest may be of any type.
func (d *responsesDecoder) item(v jsontext.Value) (item responsesItem, err error) {
	d.reset(v)
	err = d.object(func(name []byte) (err error) {
		switch string(name) {
		case `"type"`:
			item.kind, err = d.str()
		case `"status"`:
			item.status, err = d.str()
		case `"call_id"`:
			item.callID, err = d.str()
		case `"name"`:
			item.name, err = d.str()
		case `"phase"`:
			item.phase, err = d.str()
		case `"arguments"`:
			item.arguments, err = d.arguments()
		case `"encrypted_content"`:
			item.sealed, err = d.filled()
		case `"content"`:
			item.content, err = d.value()
		case `"summary"`:
			item.summary, err = d.value()
		default:
			err = d.json.SkipValue()
		}
		return err
	})
	if err != nil {
		err = d.unreadable(err)
	}
	return item, err
}

// arguments reads a call's arguments: JSON in a string, or, of some servers, the JSON.
func (d *responsesDecoder) arguments() ([]byte, error) {
	if d.json.PeekKind() != '"' {
		v, err := d.value()
		if v.Kind() == 'n' {
			v = nil
		}
		return v, err
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	// A half of a surrogate pair is replaced; the error would tell of it.
	args, _ := jsontext.AppendUnquote([]byte(nil), v)
	return args, nil
}

// responsesBody is the response that the last event holds, or a reply that is no stream.
type responsesBody struct {
	status, model, reason string
	failure               jsontext.Value // its error, or nil
	output                jsontext.Value
	usage                 chat.Usage
	total                 int
	hasUsage              bool
}

func (d *responsesDecoder) body(v jsontext.Value) (body responsesBody, err error) {
	d.reset(v)
	err = d.object(func(name []byte) (err error) {
		switch string(name) {
		case `"status"`:
			body.status, err = d.str()
		case `"model"`:
			body.model, err = d.str()
		case `"error"`:
			body.failure, err = d.value()
		case `"output"`:
			body.output, err = d.value()
		case `"incomplete_details"`:
			err = d.loose('{', func(name []byte) (err error) {
				if string(name) != `"reason"` {
					return d.json.SkipValue()
				}
				body.reason, err = d.str()
				return err
			})
		case `"usage"`:
			err = d.loose('{', func(name []byte) error { return d.usage(&body, name) })
		default:
			err = d.json.SkipValue()
		}
		return err
	})
	if body.failure.Kind() == 'n' {
		body.failure = nil
	}
	if err != nil {
		return body, d.unreadable(err)
	}
	body.settle()
	return body, nil
}

// usage reads a member of the usage. A figure that cannot be read counts as none: it
// is no reason to lose an answer that is good.
func (d *responsesDecoder) usage(body *responsesBody, name []byte) error {
	switch string(name) {
	case `"input_tokens"`:
		return d.figure(&body.usage.InputTokens, &body.hasUsage)
	case `"output_tokens"`:
		return d.figure(&body.usage.OutputTokens, &body.hasUsage)
	case `"total_tokens"`:
		return d.figure(&body.total, nil)
	case `"input_tokens_details"`:
		return d.detail(`"cached_tokens"`, &body.usage.CachedTokens)
	case `"output_tokens_details"`:
		return d.detail(`"reasoning_tokens"`, &body.usage.ThinkingTokens)
	}
	return d.json.SkipValue()
}

func (d *responsesDecoder) detail(member string, n *int) error {
	return d.loose('{', func(name []byte) error {
		if string(name) != member {
			return d.json.SkipValue()
		}
		return d.figure(n, nil)
	})
}

// settle takes the thinking out of the output, unless the total shows that it is not
// in it, and keeps what is part of a figure within it.
func (b *responsesBody) settle() {
	u := &b.usage
	u.CachedTokens = min(u.CachedTokens, u.InputTokens)
	if u.ThinkingTokens > 0 && b.total == u.InputTokens+u.OutputTokens+u.ThinkingTokens {
		return
	}
	u.ThinkingTokens = min(u.ThinkingTokens, u.OutputTokens)
	u.OutputTokens -= u.ThinkingTokens
}

// texts calls take for the text of each part of a message's content or a summary.
func (d *responsesDecoder) texts(v jsontext.Value, take func(text string) error) error {
	if v.Kind() != '[' {
		return nil
	}
	d.reset(v)
	var refused error
	err := d.each('[', func() error {
		return d.loose('{', func(name []byte) error {
			if n := string(name); n != `"text"` && n != `"refusal"` {
				return d.json.SkipValue()
			}
			text, err := d.str()
			if err == nil {
				refused = take(text)
				err = refused
			}
			return err
		})
	})
	if err != nil && refused == nil {
		err = d.unreadable(err)
	}
	return err
}

// The decoder's way over JSON. A value of another kind than asked for is an error,
// except null, which is the same as none.

// object hands the name of each member of the object at hand to read.
func (d *responsesDecoder) object(read func(name []byte) error) error {
	return d.each('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// loose is object, for a value that may as well be of another kind and then says nothing.
func (d *responsesDecoder) loose(want jsontext.Kind, read func(name []byte) error) error {
	if d.json.PeekKind() != want {
		return d.json.SkipValue()
	}
	return d.object(read)
}

// each calls read until the object or array at hand, which opens with open, is read
// through.
func (d *responsesDecoder) each(open jsontext.Kind, read func() error) error {
	switch d.json.PeekKind() {
	case 'n':
		return d.json.SkipValue()
	case open:
	default:
		return d.mismatch()
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != open+2 { // '}' is '{'+2, ']' is '['+2
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// value reads any value. It is part of the data and stays valid as long as that does.
func (d *responsesDecoder) value() (jsontext.Value, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.json.InputOffset()
	return d.data[end-int64(len(v)) : end], nil
}

// literal reads a value of the wanted kind; null is nil. It is valid until the next read.
func (d *responsesDecoder) literal(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.json.SkipValue()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatch()
}

// str reads a string; null is "".
func (d *responsesDecoder) str() (string, error) {
	v, err := d.literal('"')
	if v == nil {
		return "", err
	}
	return d.unquote(v), nil
}

// unquote returns the string that v, which was read, stands for. The error would tell
// of half a surrogate pair that was replaced.
func (d *responsesDecoder) unquote(v jsontext.Value) string {
	d.text, _ = jsontext.AppendUnquote(d.text[:0], v)
	return string(d.text)
}

// filled says whether the value at hand is a string that is not empty.
func (d *responsesDecoder) filled() (bool, error) {
	if d.json.PeekKind() != '"' {
		return false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	return len(v) > 2, err
}

// figure reads a whole number from 0 to 2^31-1, written as digits alone, into n, and
// sets ok if it was one. Any other value is read over.
func (d *responsesDecoder) figure(n *int, ok *bool) error {
	if d.json.PeekKind() != '0' {
		return d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	if u, err := strconv.ParseUint(string(v), 10, 31); err == nil {
		*n = int(u)
		if ok != nil {
			*ok = true
		}
	}
	return nil
}

// mismatch tells why the value at hand is not what it should be.
func (d *responsesDecoder) mismatch() error {
	if err := d.json.SkipValue(); err != nil {
		return err // it is not even JSON
	}
	return errResponsesType
}
