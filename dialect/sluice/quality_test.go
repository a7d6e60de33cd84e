package sluice_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/dialect/sluice"
	"sluice/jsonline"
	"sluice/stream"
)

// fill fills a struct with values, of which about half are zero. Texts have what JSON
// escapes, and what clients take for line ends.
func fill(r *rand.Rand, v reflect.Value) {
	texts := []string{"sms", "a\"b\\c\n\x00", "é\u2028\u0085", "\xff", "<&>", "👍", "32/40"}
	if r.IntN(2) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(5) - 1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[jsontext.Value]() {
			v.SetBytes([]byte(`{"a":[1,"b"]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	}
}

// What is written without a look at its type is what package json writes of it.
func TestPlainExtensions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	member := func(name string, v any) string {
		text, err := jsonline.Value([]byte(name), v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	stamp := stream.Stamp{N: 2, At: time.Second}
	for range 2_000 {
		phase, message, receipt, form := new(stream.Quality), new(stream.ChannelMessage), new(stream.Receipt), new(stream.Formatted)
		for _, v := range []any{phase, message, receipt, form} {
			for i := range reflect.ValueOf(v).Elem().NumField() {
				fill(r, reflect.ValueOf(v).Elem().Field(i))
			}
		}
		for want, ev := range map[string]stream.Event{
			strings.Replace(member(`event: quality`+"\ndata: ", phase), "{", `{"request_id":"req_1",`, 1):           phase,
			strings.Replace(member(`event: channel_message`+"\ndata: ", message), "{", `{"request_id":"req_1",`, 1): message,
			member(`,"quality":`, receipt): &stream.Done{Quality: receipt},
			member(`,"channel":`, form):    &stream.Done{Channel: form},
		} {
			if got := string(sluice.NewEncoder("req_1", false, 0).Encode(nil, stamp, ev)); !strings.Contains(got, want) {
				t.Fatalf("%#v is\n%s, want\n%s", ev, got, want)
			}
		}
	}
}
