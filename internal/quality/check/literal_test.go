package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verdict compiles a check and runs it once.
func verdict(t *testing.T, name, args string, in Input) Outcome {
	t.Helper()
	c, err := Compile(name, []byte(args))
	if err != nil {
		t.Fatalf("Compile(%s, %s): %v", name, args, err)
	}
	return c.Run(&in)
}

// Feedback quotes each text that is missing, or all of which one is asked for.
func TestContains(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, text, want string }{
		{"contains", `{"all":["a","b"]}`, "B and A", ""},
		{"contains", `{"all":["a","Z","\"y"]}`, "a", `The answer must contain "Z", "\"y".`},
		{"contains", `{"any":["x","a"]}`, "a", ""},
		{"contains", `{"any":["X","y"]}`, "a", `The answer must contain one of "X", "y".`},
		{"contains", `{"all":["a"],"any":["x"]}`, "a", `The answer must contain one of "x".`},
		{"contains", `{"all":["b"],"any":["a"]}`, "a", `The answer must contain "b".`},
		{"contains", `{"all":["a"],"any":["b","c"]}`, "a c", ""},
		{"excludes", `{"texts":["x","Y"]}`, "xy", `The answer must not contain "x", "Y".`},
		{"excludes", `{"texts":["x","Y"]}`, "z y", `The answer must not contain "Y".`},
		{"excludes", `{"texts":["x"]}`, "z", ""},
		{"excludes", `{"texts":["x"]}`, "", ""},
		{"matches", `{"pattern":"^a+$"}`, "aaa", ""},
		{"matches", `{"pattern":"^a+$"}`, "aab", `The answer must match "^a+$".`},
		{"matches", `{"pattern":"(?i)ÄB"}`, "xäbx", ""},
		{"matches", `{"pattern":"^$"}`, "", ""},
		{"matches", `{"pattern":"\\p{Han}{2}"}`, "a漢字", ""},
		{"matches", `{"pattern":"\\p{Han}{2}"}`, "a漢 字", `The answer must match "\\p{Han}{2}".`},
	} {
		if diff := cmp.Diff(tt.want, verdict(t, tt.name, tt.args, Input{Text: tt.text}).Feedback); diff != "" {
			t.Errorf("%s %s of %q (-want +got):\n%s", tt.name, tt.args, tt.text, diff)
		}
	}
}

// Arguments are bounded in number and length, to the last that is allowed.
func TestBoundsOfTexts(t *testing.T) {
	t.Parallel()
	many := func(n int, text string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`"`+text+`",`, n), ",") + "]"
	}
	for _, tt := range []struct {
		name, args, want string
	}{
		{"contains", `{"all":` + many(100, "a") + `}`, ""},
		{"contains", `{"all":` + many(101, "a") + `}`, "/all: must have at most 100 texts"},
		{"contains", `{"any":` + many(101, "a") + `}`, "/any: must have at most 100 texts"},
		{"contains", `{"any":["` + strings.Repeat("a", 1000) + `"]}`, ""},
		{"contains", `{"any":["` + strings.Repeat("a", 1001) + `"]}`, "/any/0: must be a text of 1 to 1,000 bytes"},
		{"contains", `{"all":["\u200b"]}`, "/all/0: must be a text of 1 to 1,000 bytes"}, // nothing is left of it
		{"contains", `{}`, "must have all or any, with a text at least"},
		{"excludes", `{"texts":` + many(101, "a") + `}`, "/texts: must have at most 100 texts"},
		{"excludes", `{"texts":[]}`, "/texts: must have a text at least"},
		{"matches", `{"pattern":"` + strings.Repeat("é", 1000) + `"}`, ""},
		{"matches", `{"pattern":"` + strings.Repeat("é", 1001) + `"}`, "/pattern: must have 1 to 1,000 characters"},
		{"matches", `{"pattern":""}`, "/pattern: must have 1 to 1,000 characters"},
		{"matches", `{"pattern":"(?=a)"}`, "/pattern: is not an expression of RE2"},
		{"numbers_backed", `{"allow":` + many(100, "1") + `}`, ""},
		{"numbers_backed", `{"allow":` + many(101, "1") + `}`, "/allow: must have at most 100 numbers"},
		{"numbers_backed", `{"allow":[true]}`, "/allow/0: must be a number, or a text with one"},
		{"numbers_backed", `{"allow":["1","none"]}`, "/allow/1: must be a number, or a text with one"},
		{"numbers_backed", `{"allow":[1,"1","1.0"]}`, ""}, // one is as good as another
		{"numbers_backed", `{"derived":null,"allow":[1.5,"12 and 13"]}`, ""},
		{"no_pii", `{"allow":` + many(100, "a") + `}`, ""},
		{"no_pii", `{"allow":` + many(101, "a") + `}`, "/allow/0: must be a text, and one of at most 100"},
		{"no_pii", `{"allow":["a",""]}`, "/allow/1: must be a text, and one of at most 100"},
		{"no_pii", `{"kinds":["email","mail"]}`, "/kinds/1: must be one of email, phone, card, iban, ip, token"},
		{"max_length", `{}`, "must have one of chars, words, segments, parts, of 1 or more"},
		{"max_length", `{"parts":0}`, "must have one of chars, words, segments, parts, of 1 or more"},
		{"max_length", `{"words":-1,"chars":5}`, "/words: must be 1 or more"},
		{"max_length", `{"segments":1.5}`, "/segments: has the wrong type"},
		{"max_length", `{"lines":1}`, "/lines: is not known here"},
		{"max_length", `{`, "is not valid JSON"},
		{"required_facts", `{"facts":[` + strings.TrimSuffix(strings.Repeat(`{"tool":"t","pointer":""},`, 100), ",") + `]}`, ""},
		{"required_facts", `{"facts":[` + strings.TrimSuffix(strings.Repeat(`{"tool":"t","pointer":""},`, 101), ",") + `]}`, "/facts: must have 1 to 100 facts"},
		{"required_facts", `{"facts":[{"tool":"","pointer":""}]}`, "/facts/0/tool: must name a tool"},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/a"},{"tool":"t","pointer":"a"}]}`, "/facts/1/pointer: must be a JSON pointer, as /a/0"},
		{"links_backed", `{"hosts":["a.b",""]}`, "/hosts/1: must be a host, without scheme, port and path"},
		{"links_backed", `{"hosts":["a.b/c"]}`, "/hosts/0: must be a host, without scheme, port and path"},
		{"links_backed", `{"hosts":["u@a.b"]}`, "/hosts/0: must be a host, without scheme, port and path"},
		{"links_backed", `{"hosts":["%"]}`, "/hosts/0: must be a host, without scheme, port and path"},
		{"links_backed", `{"hosts":["A.b"]}`, ""},
		{"not_empty", `[]`, "has the wrong type"},
		{"vibes", `{}`, "there is no such check"},
	} {
		got := ""
		if _, err := Compile(tt.name, []byte(tt.args)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s %.60s: %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
}

// Without arguments, and with none in them, those checks compile that need none.
func TestChecksWithoutArguments(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"not_empty": true, "complete": true, "plain_text": true, "numbers_backed": true, "data_used": true, "links_backed": true, "script": true, "no_pii": true,
		"max_length": false, "contains": false, "excludes": false, "matches": false, "required_facts": false, "": false, "Script": false,
	} {
		for _, args := range []string{"", "{}"} {
			if c, err := Compile(name, []byte(args)); (err == nil) != want || (c != nil) != want {
				t.Errorf("Compile(%q, %q): %v", name, args, err)
			}
		}
	}
}
