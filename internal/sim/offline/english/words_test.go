package english

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// texts are the words of a sentence, as the user wrote them.
func texts(s *Sentence) (list []string) {
	for _, w := range s.Words {
		list = append(list, w.Text)
	}
	return list
}

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Buy milk":              "Buy milk",
		"  a\t b\nc ":           "a b c",
		"":                      "",
		"Stop!":                 "Stop !",
		"well, then; go":        "well , then ; go",
		"bread,milk":            "bread , milk",
		"bread;milk":            "bread ; milk",
		"\"Call Bob\"":          "\" Call Bob \"",
		"(later)":               "( later )",
		"at 3:30 on 2026-12-05": "at 3:30 on 2026-12-05",
		"mom's #work":           "mom's #work",
		"#work, #home":          "#work , #home",
		"#":                     "#",
		"30%":                   "30 %",
		"wait...":               "wait . . .",
		"a/c":                   "a/c",
		"$5":                    "$5",
		"Ünï öl":                "Ünï öl",
		"what’s up?":            "what’s up ?",
	} {
		if got := strings.Join(texts(Read(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if low := Read("What’s UP").Words[0].Low; low != "what's" {
		t.Errorf("in lower case: %q", low)
	}
}

// A part of a text is quoted as the user wrote it.
func TestSpan(t *testing.T) {
	t.Parallel()
	const text = `Say "hello, World" to Mom's #friends (all)`
	s := Read(text)
	if s.Text() != text {
		t.Errorf("the whole is %q", s.Text())
	}
	for _, tt := range []struct {
		from, to int
		want     string
	}{
		{0, 1, "Say"}, {1, 3, `"hello`}, {2, 5, "hello, World"}, {4, 4, ""}, {5, 4, ""}, {-3, 1, "Say"}, {9, 99, "(all)"}, {99, 100, ""},
	} {
		if got := s.Span(tt.from, tt.to); got != tt.want {
			t.Errorf("[%d,%d): %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
	for i, want := range map[int]string{0: "say", 4: "world", -1: "", 99: ""} {
		if got := s.At(i); got != want {
			t.Errorf("word %d: %q, want %q", i, got, want)
		}
	}
	rest := s.Without(1, 6)
	if rest.Text() != "Say to Mom's #friends (all)" || s.Text() != text {
		t.Errorf("without: %q, and the sentence itself: %q", rest.Text(), s.Text())
	}
}

func TestWordsAlone(t *testing.T) {
	t.Parallel()
	for w, want := range map[string]bool{"!": true, ",": true, "”": true, "a": false, "": false, "!!": false, "$": false, "%": true} {
		if IsSign(w) != want {
			t.Errorf("%q is a sign: %t", w, !want)
		}
	}
	for _, tt := range []struct {
		list, w string
		want    bool
	}{
		{"a bc d", "a", true}, {"a bc d", "bc", true}, {"a bc d", "d", true}, {"a bc d", "b", false}, {"a bc d", "c d", false}, {"a bc d", "", false}, {"", "a", false}, {"", "", false},
	} {
		if In(tt.list, tt.w) != tt.want {
			t.Errorf("%q in %q: %t", tt.w, tt.list, !tt.want)
		}
	}
	for group, want := range map[string]string{
		"lights light":                  "light",
		"paint paints painted painting": "paint",
		"cities":                        "cit",
		"dishes dish":                   "dish",
		"making make makes":             "mak",
		"mom's":                         "mom",
		"glass":                         "glass",
		"bus ing ed":                    "", // too short to cut
		"happy":                         "happ",
	} {
		for w := range strings.FieldsSeq(group) {
			expected := want
			if want == "" {
				expected = w
			}
			if got := Stem(w); got != expected {
				t.Errorf("the stem of %s is %s, want %s", w, got, expected)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"a, b", "“x”’s", "#,#;", "\xff!", "…a…"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Read(text)
		if diff := cmp.Diff(strings.Join(strings.Fields(text), ""), strings.Join(texts(s), "")); diff != "" {
			t.Errorf("words are lost (-want +got)\n%s", diff)
		}
		if want := strings.Join(strings.Fields(text), " "); utf8.ValidString(text) && s.Text() != want {
			t.Errorf("%q is repeated as %q", want, s.Text())
		}
	})
}
