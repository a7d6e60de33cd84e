package redact_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/redact"
)

const (
	token  = "0123456789-abcdefghij"
	longer = "Bearer " + token
	phrase = `say "friend" & <enter>`
	lines  = "two\nlines of it"
)

func secrets() []string {
	return []string{token, longer, phrase, lines, "short", "k", "", "abcdefgh", "efghijklmn", "pässwörter", "geheimnüsse", "97531864", "aaaaaaaa", "request_id", "]xxxxxxx"}
}

// texts is the table of Text, and of the values of JSON.
func texts() map[string]struct{ in, want string } {
	return map[string]struct{ in, want string }{
		"nothing":                  {"nothing to hide", "nothing to hide"},
		"empty":                    {"", ""},
		"alone":                    {token, "[redacted]"},
		"within":                   {"key=" + token + "!", "key=[redacted]!"},
		"twice":                    {token + token, "[redacted][redacted]"},
		"the longest first":        {"a " + longer + " b", "a [redacted] b"},
		"two that overlap":         {"abcdefghijklmn", "[redacted]"},
		"one that overlaps itself": {strings.Repeat("a", 20) + "b", "[redacted]b"},
		"too short to be searched": {"short k", "short k"},
		"quotes":                   {"they " + phrase + " there", "they [redacted] there"},
		"line end":                 {"in " + lines, "in [redacted]"},
		"JSON within the text":     {`{"a":"say \"friend\" & <enter>"}`, `{"a":"[redacted]"}`},
		"cut":                      {"key " + token[:12] + "…", "key [redacted]…"},
		"cut after the minimum":    {"key " + token[:redact.MinLength] + "…", "key [redacted]…"},
		"cut before the minimum":   {"key " + token[:redact.MinLength-1] + "…", "key 0123456…"},
		"cut in the longer one":    {"key " + longer[:18] + "…", "key [redacted]…"},
		"cut with letters":         {"pässwört…", "[redacted]…"},
		"cut beyond the minimum, within which a letter ends": {"geheimnü…", "[redacted]…"},
		"cut in one that repeats":                            {"x" + strings.Repeat("a", 8) + "…", "x[redacted]…"},
		"a cut in the middle":                                {token[:12] + "… and more", token[:12] + "… and more"},
		"hidden before":                                      {"a [redacted] b [redacted", "a [redacted] b [redacted"},
		"one that begins in a mark":                          {token + "xxxxxxx.", "[redacted]."},
		"one made by another's mark":                         {"[redacted" + "]xxxxxxx", "[redacted]"},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := redact.New(secrets())
	for name, tt := range texts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.Text(tt.in)
			if got != tt.want {
				t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
			}
			if again := s.Text(got); again != got {
				t.Errorf("hidden twice, %q became %q", got, again)
			}
		})
	}
}

// Whatever Text hides, JSON hides in a value, however the value is escaped.
func TestJSONHidesWhatTextHides(t *testing.T) {
	t.Parallel()
	s := redact.New(secrets())
	for name, tt := range texts() {
		for form, quote := range map[string]func(string) string{"plain": plain, "for HTML": forHTML, "all escaped": allEscaped} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				got := s.JSON([]byte(`{"a": [` + quote(tt.in) + `, true]}` + "\n"))
				var read struct {
					A []any `json:"a"`
				}
				if err := json.Unmarshal(got, &read); err != nil {
					t.Fatalf("%v: %s", err, got)
				}
				if read.A[0] != tt.want {
					t.Errorf("%q became %q, want %q", tt.in, read.A[0], tt.want)
				}
			})
		}
	}
}

func plain(text string) string {
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}

func forHTML(text string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(plain(text))
}

func allEscaped(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		b.WriteString(`\u` + hex(r))
	}
	return b.String() + `"`
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	s := redact.New(append(secrets(), `":7,"det`, "}}\n\n{{abc"))
	for name, tt := range map[string]struct{ in, values, names string }{
		"nothing":           {`{"a": "b"}`, `{"a": "b"}`, `{"a": "b"}`},
		"the bytes stay":    {` { "a" : "` + token + `" , "b":1.50 }` + "\n", ` { "a" : "[redacted]" , "b":1.50 }` + "\n", ` { "a" : "[redacted]" , "b":1.50 }` + "\n"},
		"a name":            {`{"request_id":"the request_id"}`, `{"request_id":"the [redacted]"}`, `{"[redacted]":"the [redacted]"}`},
		"a number":          {`{"a":97531864,"b":-997531864e1}`, `{"a":"[redacted]","b":"-9[redacted]e1"}`, `{"a":"[redacted]","b":"-9[redacted]e1"}`},
		"its own grammar":   {`{"a":7,"details":{"b":"x"}}`, `{"a":7,"details":{"b":"x"}}`, `{"a":7,"details":{"b":"x"}}`},
		"two lines":         {`{"a":"abcdefgh"}` + "\n" + `{"a":2}` + "\n", `{"a":"[redacted]"}` + "\n" + `{"a":2}` + "\n", `{"a":"[redacted]"}` + "\n" + `{"a":2}` + "\n"},
		"names twice":       {`{"a":"abcdefgh","a":"x"}`, `{"a":"[redacted]","a":"x"}`, `{"a":"[redacted]","a":"x"}`},
		"invalid UTF-8":     {"{\"a\":\"\xff abcdefgh\"}", "{\"a\":\"\uFFFD [redacted]\"}", "{\"a\":\"\uFFFD [redacted]\"}"},
		"half a pair":       {`{"a":"\ud800 abcdefgh"}`, "{\"a\":\"\uFFFD [redacted]\"}", "{\"a\":\"\uFFFD [redacted]\"}"},
		"no JSON":           {`{"a":"abcdefgh`, `{"a":"[redacted]`, `{"a":"[redacted]`},
		"broken further on": {`{"a":"abcdefgh" "request_id":1}`, `{"a":"[redacted]" "[redacted]":1}`, `{"a":"[redacted]" "[redacted]":1}`},
		"no value":          {`{"a":"abcdefgh","b":tru}`, `{"a":"[redacted]","b":tru}`, `{"a":"[redacted]","b":tru}`},
		"empty":             {``, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for want, hide := range map[string]func([]byte) []byte{tt.values: s.JSON, tt.names: s.JSONNames} {
				in := []byte(tt.in)
				if got := string(hide(in)); got != want {
					t.Errorf("%s became %s, want %s", tt.in, got, want)
				}
				if string(in) != tt.in {
					t.Errorf("the caller's bytes were changed to %s", in)
				}
			}
		})
	}
}

// JSON that only looked as if it held a secret is returned itself, and not a copy.
func TestJSONWithoutSecretsIsNotCopied(t *testing.T) {
	t.Parallel()
	in := []byte(`{"request_id":"\u0061"}`)
	if got := redact.New(secrets()).JSON(in); &got[0] != &in[0] || len(got) != len(in) {
		t.Errorf("got another %s", got)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, keys, like string }{
		{"API key AIzaSyA1234567890_abcdefghijklmnopqrstuv is not valid", "API key [redacted] is not valid", "API key [redacted] is not valid"},
		{`Post "https://host/v1?alt=sse&key=abc123&x=1": refused`, `Post "https://host/v1?alt=sse&key=[redacted]&x=1": refused`, `Post "https://host/v1?alt=sse&key=[redacted]": refused`},
		{`Get "https://host/?key=abc123"`, `Get "https://host/?key=[redacted]"`, `Get "https://host/?key=[redacted]"`},
		{"monkey=banana, AIzaShort", "monkey=banana, AIzaShort", "monkey=[redacted], AIzaShort"},
		{"Bearer abcd-efgh", "Bearer abcd-efgh", "Bearer [redacted]"},
		{`token: "12345678"`, `token: "12345678"`, `token: "[redacted]"`},
		{"0123456789abcdefABCDEF0123456789abcdef", "0123456789abcdefABCDEF0123456789abcdef", "[redacted]"},
		{"generate_content_free_tier_requests_x", "generate_content_free_tier_requests_x", "generate_content_free_tier_requests_x"},
	} {
		for range 2 { // the second time nothing changes
			if got := redact.Keys(tt.in); got != tt.keys {
				t.Errorf("Keys(%q) = %q, want %q", tt.in, got, tt.keys)
			}
			if got := redact.KeyLike(tt.in); got != tt.like {
				t.Errorf("KeyLike(%q) = %q, want %q", tt.in, got, tt.like)
			}
			if redact.Keys(tt.keys) != tt.keys || redact.KeyLike(tt.like) != tt.like {
				t.Errorf("%q: hiding twice is not the same as once", tt.in)
			}
		}
	}
}

func TestSecretName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"Authorization": true, "X-Api-Key": true, "DB_PASSWORD": true, "GITHUB_TOKEN": true, "TZ": false, "LOG_LEVEL": false, "X-Mode": false} {
		if got := redact.SecretName(name); got != want {
			t.Errorf("SecretName(%q) = %v", name, got)
		}
	}
}

// The log calls JSON for each line.
func TestNoAllocationWhenNothingIsHidden(t *testing.T) {
	s := redact.New(secrets())
	text := strings.Repeat(`a "harmless" text, which was cut \ somewhere `, 20) + "…"
	line, _ := jsontext.AppendQuote(nil, text)
	if n := testing.AllocsPerRun(100, func() { s.Text(text); s.JSON(line); s.JSONNames(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// leftOver returns a secret that text still holds.
func leftOver(text string, secrets ...string) string {
	text = strings.ReplaceAll(text, redact.Mark, "\x00") // between two marks nothing joins
	for _, secret := range secrets {
		if len(secret) >= redact.MinLength && !strings.Contains(secret, "\x00") && strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

func FuzzText(f *testing.F) {
	for _, tt := range texts() {
		f.Add(tt.in, token, "abcdefgh", phrase)
	}
	f.Add("abcdefghzz[redacted]", "abcdefgh", "[redacted]zz", "redacted][")
	f.Fuzz(func(t *testing.T, text, a, b, c string) {
		s := redact.New([]string{a, b, c})
		got := s.Text(text)
		if left := leftOver(got, a, b, c); left != "" {
			t.Errorf("%q still holds %q", got, left)
		}
		if again := s.Text(got); again != got {
			t.Errorf("hidden twice, %q became %q", got, again)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, tt := range texts() {
		f.Add([]byte(`{"a":[`+plain(tt.in)+`,97531864],"request_id":`+allEscaped(tt.in)+`}`), token, "97531864", phrase)
	}
	f.Add([]byte("{\"a\":\"\xff\\ud800 abcdefgh\"} [1e9]\n"), "abcdefgh", "request_id", `":7,"det`)
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f.Fuzz(func(t *testing.T, line []byte, a, b, c string) {
		if !utf8.Valid(line) || !utf8.ValidString(a+b+c) || !jsontext.Value(line).IsValid(lenient) {
			return
		}
		s := redact.New([]string{a, b, c})
		for _, hide := range []func([]byte) []byte{s.JSON, s.JSONNames} {
			got := hide(line)
			dec := jsontext.NewDecoder(bytes.NewReader(got), lenient)
			for n := 0; ; n++ {
				token, err := dec.ReadToken()
				if err != nil {
					if n == 0 || dec.StackDepth() != 0 {
						t.Fatalf("%q became %q: %v", line, got, err)
					}
					break
				}
				kind, i := dec.StackIndex(dec.StackDepth())
				isName := kind == '{' && i%2 == 1
				if scalar := token.Kind() == '"' || token.Kind() == '0'; !scalar || isName {
					continue
				}
				if left := leftOver(token.String(), a, b, c); left != "" {
					t.Errorf("%q still holds %q", got, left)
				}
			}
			if again := hide(got); !bytes.Equal(again, got) {
				t.Errorf("hidden twice, %q became %q", got, again)
			}
		}
	})
}
