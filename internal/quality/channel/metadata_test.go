package channel_test

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality/channel"
)

// What is sent of a text is what package json makes of it: of each field alone, of none and of
// all.
func TestMetadataJSON(t *testing.T) {
	t.Parallel()
	set := func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int:
			v.SetInt(7)
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"✅", "\"\n\xff"}))
		}
	}
	fields := reflect.TypeFor[channel.Metadata]().NumField()
	for only := range fields + 2 { // none, then all, are last
		var m channel.Metadata
		for i := range fields {
			if i == only || only > fields {
				set(reflect.ValueOf(&m).Elem().Field(i))
			}
		}
		want, err := json.Marshal(&m, jsontext.AllowInvalidUTF8(true))
		if got := m.JSON(); string(got) != string(want) || err != nil {
			t.Errorf("%+v is %s, want %s %v", m, got, want, err)
		}
	}
}
