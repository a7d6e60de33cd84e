package jsonparts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// examples are values of each kind, with all that may stand between their parts.
var examples = []string{
	`{}`, `[]`, " { \n\t\r} ", "[ ]", `null`, `1`, `"a"`, ``, ` `,
	`{"a":1,"b":[1,{"c":"}"}],"d":{"e":"\"]"},"é\n":null}`, ` { "a" : 1.5e-3 , "b" : true , "" : "\\" } `,
	`[1, "a", {"b":[2]},[[]],-0, false,"\\\"", "\\\\" ,""]`, `["ж\ud83d\ude00\u0000",null]`,
	`{"a`, `{"a"`, `{"a":`, `{"a":1,`, `{"a" 1}`, `[1,`, `["\`, `["\"`, `}`, `]`, `[}`, `{]`, `{"a":}`, `[,]`, `:`, `{"a"}`, `{"a"::1}`,
}

func FuzzParts(f *testing.F) {
	for _, s := range examples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, before := jsontext.Value(text), bytes.Clone(text)
		members, items := Object(v), List(v)
		_, _ = Unquote(v)
		if !bytes.Equal(before, text) {
			t.Fatal("the value was changed")
		}
		if !v.IsValid() {
			return
		}
		wantMembers, wantItems := read(t, v)
		if diff := cmp.Diff(wantMembers, members); diff != "" {
			t.Errorf("members of %s (-want +got):\n%s", text, diff)
		}
		if diff := cmp.Diff(wantItems, items); diff != "" {
			t.Errorf("items of %s (-want +got):\n%s", text, diff)
		}
	})
}

// read takes a value apart with the decoder.
func read(t *testing.T, v jsontext.Value) (members map[string]jsontext.Value, items []jsontext.Value) {
	t.Helper()
	members = map[string]jsontext.Value{}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		return members, nil
	}
	_, err := dec.ReadToken()
	must(err)
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		name := ""
		if kind == '{' {
			token, err := dec.ReadToken()
			must(err)
			name = token.String()
		}
		value, err := dec.ReadValue()
		must(err)
		if kind == '{' {
			members[name] = value.Clone()
		} else {
			items = append(items, value.Clone())
		}
	}
	return members, items
}

// FuzzUnquote: a string is what the decoder says, and so is what is wrong with it.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"a"`, `"é\n"`, `"\"\\\/\b\f\n\r\t"`, `"a\x"`, `"\\u0041"`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", `"`, `a`, ``, `"a\"`, `"a"b"`, "\"a\nb\"", strings.Repeat("x", 70), `"` + strings.Repeat(`\n`, 70) + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if wrong := jsontext.Value(text); wrong.Kind() != '"' || !wrong.IsValid(jsontext.AllowInvalidUTF8(true)) {
			return // a decoder has read it
		}
		want, wantErr := jsontext.AppendUnquote(nil, text)
		got, err := Unquote(text)
		if plain := Text(text); wantErr == nil && plain != got {
			t.Errorf("%q is %q without a check", got, plain)
		}
		if got != string(want) && err == nil || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q %v, want %q %v", text, got, err, want, wantErr)
		}
	})
}

// A part is not appended into the one behind it.
func TestPartsEndWithTheirCapacity(t *testing.T) {
	t.Parallel()
	text := jsontext.Value(`[1,2]`)
	_ = append(List(text)[0], "34"...)
	_ = append(Object(jsontext.Value(`{"a":1,"b":2}`))["a"], "34"...)
	if string(text) != "[1,2]" {
		t.Errorf("%s", text)
	}
}

// Strings with escapes cost what their length is, however many there are.
func BenchmarkObject(b *testing.B) {
	for name, text := range map[string]string{"plain": strings.Repeat("x", 60_000), "quotes": strings.Repeat(`\"`, 30_000), "backslashes": strings.Repeat(`\\`, 30_000)} {
		v := jsontext.Value(`{"a":"` + text + `"}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v)))
			for b.Loop() {
				if len(Object(v)) != 1 {
					b.Fatal("no member")
				}
			}
		})
	}
}
