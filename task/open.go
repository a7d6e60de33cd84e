package task

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Others holds members of an object that this version does not know, as JSON without
// the object's brackets.
type Others []byte

// readOpen reads an object into what into points to, whose type has no methods, and
// returns the members that it has no field for.
func readOpen(dec *jsontext.Decoder, into any) (Others, error) {
	text, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	text = bytes.Clone(text)
	if err := json.Unmarshal(text, into, dec.Options()); err != nil || text.Kind() != '{' {
		return nil, err
	}
	known := map[string]bool{}
	fields := reflect.TypeOf(into).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		known[folded(name)] = true
	}
	return unknown(text, known, dec.Options())
}

// unknown returns the members of an object whose names are not known.
func unknown(object jsontext.Value, known map[string]bool, options jsontext.Options) (others Others, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), options)
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if known[folded(text)] {
			continue
		}
		if len(others) > 0 {
			others = append(others, ',')
		}
		if others, err = jsontext.AppendQuote(others, strings.ToValidUTF8(text, "\uFFFD")); err != nil {
			return nil, err
		}
		others = append(append(others, ':'), value...)
	}
	return others, nil
}

// folded returns a name as package json compares names of any case.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// writeOpen writes an object of a value, whose type has no methods, and other members.
func writeOpen(enc *jsontext.Encoder, v any, others Others) error {
	text, err := json.Marshal(v, enc.Options())
	if err != nil {
		return err
	}
	if len(others) > 0 {
		text = text[:len(text)-1]
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(text, others...), '}')
	}
	return enc.WriteValue(text)
}

// UnmarshalJSONFrom keeps what it does not know.
func (d *Document) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Document
	d.Others, err = readOpen(dec, (*plain)(d))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (d Document) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Document
	return writeOpen(enc, plain(d), d.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (s *Status) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Status
	s.Others, err = readOpen(dec, (*plain)(s))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (s Status) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Status
	return writeOpen(enc, plain(s), s.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (s *Said) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Said
	s.Others, err = readOpen(dec, (*plain)(s))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (s Said) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Said
	return writeOpen(enc, plain(s), s.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (m *Message) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Message
	m.Others, err = readOpen(dec, (*plain)(m))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (m Message) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Message
	return writeOpen(enc, plain(m), m.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (a *Artifact) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Artifact
	a.Others, err = readOpen(dec, (*plain)(a))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (a Artifact) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Artifact
	return writeOpen(enc, plain(a), a.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (p *Part) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Part
	p.Others, err = readOpen(dec, (*plain)(p))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (p Part) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Part
	return writeOpen(enc, plain(p), p.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (m *Metadata) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Metadata
	m.Others, err = readOpen(dec, (*plain)(m))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (m Metadata) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Metadata
	return writeOpen(enc, plain(m), m.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (r *Routing) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain Routing
	r.Others, err = readOpen(dec, (*plain)(r))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (r Routing) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Routing
	return writeOpen(enc, plain(r), r.Others)
}

// UnmarshalJSONFrom keeps what it does not know.
func (a *AgentResponse) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	type plain AgentResponse
	a.Others, err = readOpen(dec, (*plain)(a))
	return err
}

// MarshalJSONTo writes what was kept as well.
func (a AgentResponse) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain AgentResponse
	return writeOpen(enc, plain(a), a.Others)
}
