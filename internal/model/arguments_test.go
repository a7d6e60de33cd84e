package model_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/model"
)

// Services send pieces of arguments again, or each with all before it. Such repetitions are taken
// out, and nothing else is.
func TestArgumentsWithoutRepetitions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"once", []string{`{"ti`, `tle":`, ` "A"}`}, `{"title": "A"}`},
		{"twice", []string{``, `{"title": "A"}`, `{"title": "A"}`}, `{"title": "A"}`},
		{"three times, spaced and ordered otherwise", []string{`{"a":1,"b":2}`, `{"b": 2, "a": 1}`, `{"a":1,"b":2}`}, `{"a":1,"b":2}`},
		{"again at the end", []string{`{"title"`, `: "`, `{A}`, `"}`, `{"title":"{A}"}`}, `{"title":"{A}"}`},
		{"growing", []string{`{"title"`, `{"title": "Buy`, `{"title": "Buy eggs"}`}, `{"title": "Buy eggs"}`},
		{"growing from one bracket, then again", []string{`{`, `{"a":`, `{"a":1}`, `{"a":1}`}, `{"a":1}`},
		{"the beginning again", []string{`{"title": "A`, `{"title": "A"}`}, `{"title": "A"}`},
		{"objects within", []string{`{"a":`, `{"b":1}`, `,"c":`, `{"b":1}`, `}`}, `{"a":{"b":1},"c":{"b":1}}`},
		{"two objects", []string{`{"title": "A"}`, `{"title": "B"}`}, `{"title": "A"}{"title": "B"}`},
		{"empty, then others", []string{`{}`, `{"title": "B"}`}, `{}{"title": "B"}`},
		{"cut", []string{`{"title": "A`}, `{"title": "A`},
		{"white space behind", []string{`{"a":1}`, "\n", `{"a":1}`, "\n"}, `{"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var a model.Arguments
			for _, p := range tt.pieces {
				a.Add([]byte(p))
			}
			if got := string(a.JSON()); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A service that sends many small objects costs no more than their bytes.
func TestArgumentsOfManyObjectsAreCheap(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{`{}`, `{"a":"`, `{`} {
		var a model.Arguments
		a.Add([]byte(`{"k":"`))
		for range (1 << 20) / len(piece) {
			a.Add([]byte(piece))
		}
		began := time.Now()
		_ = a.JSON()
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("%s took %v", piece, d)
		}
	}
	var a model.Arguments
	for i := range 2000 {
		a.Add([]byte(`{"k":"` + strings.Repeat("x", i)))
	}
	a.Add([]byte(`{"k":"` + strings.Repeat("x", 2000) + `"}`))
	if got := model.CallFault("tool", a.JSON()); got != "" {
		t.Error(got)
	}
}

// A service that sends white space behind an object, piece by piece, costs no more than its bytes,
// and control characters are not white space.
func TestObjectsAreJudgedOnce(t *testing.T) {
	t.Parallel()
	var a model.Arguments
	a.Add([]byte(`{"k":"` + strings.Repeat("x", 1<<18) + `"`))
	if a.IsObject() {
		t.Error("the beginning of an object is taken for a whole one")
	}
	a.Add([]byte(`}`))
	began := time.Now()
	for range 1 << 18 {
		if a.Add([]byte(" ")); !a.IsObject() {
			t.Fatal("white space behind an object")
		}
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
	for text, want := range map[string]bool{"{}\v\r\n\t": true, "{}\x01": false, "{}\u00a0": false, "{} {}": false, "[]": false, `{"a"}`: false, `{"a":"}"}`: true} {
		var a model.Arguments
		a.Add([]byte(text))
		for range 2 { // the second answer is remembered
			if a.IsObject() != want {
				t.Errorf("%q is an object: %v", text, !want)
			}
		}
	}
}
