package file

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
)

// Decode puts the members of an object into the fields of the struct that into points to. The tags
// of a field name its member, and add rules that a schema cannot express:
//
//	key:"a/b"           the member b of the member a; of key:"a,a/b" the last that is there
//	key:"."             the value itself
//	key:"@"             the name of the value
//	from:"1s" to:"7d"   bounds of a duration, both included, in the words of its fault
//	most:"32 KiB"       the longest text, in bytes
//	of:"models,default" the text is a key of the section models, or default
//	is:"omit"           of a bool: it is true if the value is this word, else false
//
// A text is decoded by UnmarshalText if the field has it; its error must be fit for a fault. A list
// becomes a slice, and so does an object: an item for each member. Any other value becomes a slice
// of one item. A field without a key stays as it is, and so does a field whose value is absent or
// has a fault: it holds the default. null makes a field its zero value. The fields of an embedded
// struct are as the struct's own.
func (n *Node) Decode(into any) { n.decodeStruct(reflect.ValueOf(into).Elem()) }

// decodeStruct fills a struct.
func (n *Node) decodeStruct(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag
		paths, ok := tag.Lookup("key")
		if !ok {
			if field.Anonymous && field.Type.Kind() == reflect.Struct {
				n.decodeStruct(v.Field(i))
			}
			continue
		}
		for path := range strings.SplitSeq(paths, ",") {
			n.decodeFrom(path, v.Field(i), tag)
		}
	}
}

// decodeFrom fills a field with the value at a path: "@" is the name of the node, "." the node.
func (n *Node) decodeFrom(path string, v reflect.Value, tag reflect.StructTag) {
	switch path {
	case "@":
		v.SetString(n.name)
	case ".":
		n.setValue(v, tag)
	default:
		n.atPath(path).setValue(v, tag)
	}
}

// atPath returns the member that a path of names leads to, or nil.
func (n *Node) atPath(path string) *Node {
	for name := range strings.SplitSeq(path, "/") {
		n = n.Get(name)
	}
	return n
}

// setValue puts the value into v. ok is false if v stays as it is.
func (n *Node) setValue(v reflect.Value, tag reflect.StructTag) (ok bool) {
	switch {
	case n == nil || n.faulty:
		return false
	case n.kind == nullKind:
		v.SetZero()
		return true
	}
	switch p := v.Addr().Interface().(type) {
	case *time.Duration:
		return n.Duration(p, tag.Get("from"), tag.Get("to"))
	case *jsontext.Value:
		*p = n.JSON()
		return true
	case encoding.TextUnmarshaler:
		return n.setText(p)
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if ok = n.setValue(p.Elem(), tag); ok {
			v.Set(p)
		}
		return ok
	case reflect.Struct:
		n.decodeStruct(v)
		return true
	case reflect.Slice:
		n.setSlice(v, tag)
		return true
	case reflect.Map:
		n.setMap(v, tag)
		return true
	}
	return n.setScalar(v, tag)
}

// Duration reads a length of time within bounds, whose form is that of the tags. It is for bounds
// that depend on another key. ok is false if *p stays as it is.
func (n *Node) Duration(p *time.Duration, from, to string) (ok bool) {
	text, ok := n.Text()
	if !ok {
		return false
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < parseBound(from) || d > parseBound(to) {
		n.Fault(fmt.Sprintf("must be a duration from %s to %s, with its unit, such as 15s, 90m or 7d", from, to))
		return false
	}
	*p = d
	return true
}

// parseBound reads a duration of a tag.
func parseBound(text string) time.Duration {
	d, err := config.ParseDuration(text)
	if err != nil {
		panic("config/file: a duration needs from and to: " + err.Error())
	}
	return d
}

// setText has a type read the text itself.
func (n *Node) setText(p encoding.TextUnmarshaler) bool {
	text, ok := n.Text()
	if !ok {
		return false
	}
	if err := p.UnmarshalText([]byte(text)); err != nil {
		n.Fault(err.Error())
		return false
	}
	return true
}

// setSlice replaces a slice by the members. It leaves out members with a fault.
func (n *Node) setSlice(v reflect.Value, tag reflect.StructTag) {
	v.SetZero()
	members := n.members
	if n.kind != listKind && n.kind != objectKind {
		members = []*Node{n}
	}
	for _, m := range members {
		item := reflect.New(v.Type().Elem()).Elem()
		if m.setValue(item, tag) {
			v.Set(reflect.Append(v, item))
		}
	}
}

// setMap replaces a map by the members. It stays nil without members.
func (n *Node) setMap(v reflect.Value, tag reflect.StructTag) {
	v.SetZero()
	for _, m := range n.members {
		item := reflect.New(v.Type().Elem()).Elem()
		if !m.setValue(item, tag) {
			continue
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(m.name), item)
	}
}

// setScalar puts in a text, a number or a boolean, if the value is one.
func (n *Node) setScalar(v reflect.Value, tag reflect.StructTag) (ok bool) {
	switch {
	case v.Kind() == reflect.String:
		if ok = n.kind == stringKind && n.isOf(tag.Get("of")) && n.isWithin(tag.Get("most")); ok {
			v.SetString(n.text)
		}
	case v.Kind() == reflect.Bool:
		word, named := tag.Lookup("is")
		if ok = named || n.kind == boolKind; ok {
			v.SetBool(named && n.text == word || !named && n.text == "true")
		}
	case v.CanInt():
		var i int
		if i, ok = n.Int(); ok {
			v.SetInt(int64(i))
		}
	case v.CanFloat():
		var f float64
		if f, ok = n.Float(); ok {
			v.SetFloat(f)
		}
	default:
		panic("config/file: Decode knows no " + v.Type().String())
	}
	return ok
}

// isOf reports a text that is not a key of a section; words are as in the tag of.
func (n *Node) isOf(words string) bool {
	section, others, _ := strings.Cut(words, ",")
	there := n.Section(section)
	if section == "" || others != "" && n.text == others || there.Has(n.text) {
		return true
	}
	known := there.Names()
	if others != "" {
		known = append(known, others)
	}
	n.Fault(Unknown(strings.TrimSuffix(section, "s"), n.text, known))
	return false
}

// isWithin reports a text that is longer than the tag most says.
func (n *Node) isWithin(most string) bool {
	kib, err := strconv.Atoi(strings.TrimSuffix(most, " KiB"))
	if most == "" || err == nil && len(n.text) <= kib<<10 {
		return true
	}
	n.Fault("must not be longer than " + most)
	return false
}
