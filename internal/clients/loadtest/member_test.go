package loadtest

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// FuzzMembers compares the scan with a decoder, for whatever is an object.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":"b","c":"d"}`, `{ "a" : "b\"" , "c" : [1, {"x":"}"}, "]"] }`,
		`{"a":"\\","b":"\\\"","c":null,"d":-1.5e3,"e":true,"f":{},"g":[]}`, `{"":"","ä":"\u00e4"}`, `{"a":"`, `[]`, `"a"`, `{"a"}`, `{"a":}`, `{,}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, isObject := decoded(text)
		var got []string
		m := membersOf(text)
		for name, value, ok := m.nextMember(); ok; name, value, ok = m.nextMember() {
			got = append(got, string(name)+" "+string(value))
		}
		if !isObject {
			return // it must only come to an end
		}
		if diff := cmp.Diff(want, got); m.bad || diff != "" {
			t.Errorf("%q: bad %t (-want +got):\n%s", text, m.bad, diff)
		}
	})
}

// decoded returns what a decoder finds. Line ends, which cannot be in a line of
// data, make it no object.
func decoded(text []byte) (list []string, isObject bool) {
	if !jsontext.Value(text).IsValid() || jsontext.Value(text).Kind() != '{' || bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' {
		name, _ := d.ReadValue()
		quoted := string(name[1 : len(name)-1])
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, quoted+" "+string(value))
	}
	return list, true
}

func TestBadMembers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `x`, `[]`, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":"b`, `{"a":"b"`, `{"a":[1`, `{"a":1]`, `{"a" "b"}`, `{a:1}`} {
		m := membersOf([]byte(text))
		for ok := true; ok; {
			_, _, ok = m.nextMember()
		}
		if !m.bad {
			t.Errorf("%q is good", text)
		}
	}
}

// The text is the same however it was split and escaped.
func TestJoined(t *testing.T) {
	t.Parallel()
	var j joined
	for range 2 {
		j.reset()
		for _, piece := range []string{`"a\n"`, `"ß"`, `"\ud83d\ude00"`} {
			if !j.addPiece([]byte(piece)) {
				t.Errorf("%s is refused", piece)
			}
		}
		for text, want := range map[string]bool{
			`"a\nß\ud83d\ude00"`: true, `"a\u000aß😀"`: true, `"a\nß"`: false, `"a\nß😀 "`: false, `""`: false, `7`: false, `null`: false,
		} {
			if j.equalsText([]byte(text)) != want {
				t.Errorf("equals %s is %t", text, !want)
			}
		}
	}
	for _, piece := range []string{`""`, `7`, `"\ud83d"`, "\"\xff\"", `"\x"`} {
		if j.addPiece([]byte(piece)) {
			t.Errorf("%s is taken", piece)
		}
	}
}
