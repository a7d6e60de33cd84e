package geminisim

import (
	"encoding/base64"
	"strings"
	"testing"

	"sluice/internal/sim/geminisim/simtest"
)

// A signature comes back in any spelling of base64, with arguments in any order of members.
func TestSignaturesInOtherSpellings(t *testing.T) {
	t.Parallel()
	sum := signWords("f")
	raw, err := base64.StdEncoding.DecodeString(sum)
	if err != nil || !strings.HasPrefix(string(raw), "\x12\x22\x0a\x20") || len(raw) != 36 {
		t.Fatalf("%q does not look like a real one: %v", sum, err)
	}
	for _, tt := range []struct {
		got      string
		same, ok bool
	}{
		{sum, true, true},
		{strings.TrimRight(sum, "="), true, true},
		{base64.URLEncoding.EncodeToString(raw), true, true},
		{base64.RawURLEncoding.EncodeToString(raw), true, true},
		{base64.StdEncoding.EncodeToString(raw[:35]), false, true},
		{"", false, true},
		{"%", false, false},
	} {
		if same, ok := sameSignature(sum, tt.got); same != tt.same || ok != tt.ok {
			t.Errorf("%q: same %t, base64 %t", tt.got, same, ok)
		}
	}
	key := func(name, id, args string) string {
		return callKey(&functionCall{Name: name, ID: id, Args: []byte(args)})
	}
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"order and blanks", key("f", "1", `{"a":1,"b":[2]}`), key("f", "1", `{ "b": [2], "a": 1.0 }`), true},
		{"no arguments", key("f", "1", ``), key("f", "1", `{}`), true},
		{"another value", key("f", "1", `{"a":1}`), key("f", "1", `{"a":2}`), false},
		{"another name", key("f", "1", `{}`), key("g", "1", `{}`), false},
		{"another id", key("f", "1", `{}`), key("f", "2", `{}`), false},
		{"names and ids apart", key("f1", "", `{}`), key("f", "1", `{}`), false},
		{"what is no JSON", key("f", "1", `{`), key("f", "1", `{`), true},
	} {
		if (tt.a == tt.b) != tt.same {
			t.Errorf("%s: %q and %q", tt.name, tt.a, tt.b)
		}
	}
}

// Calls of other models are taken only where that is allowed, with the value that stands in, as the
// first of a turn.
func TestForeignCalls(t *testing.T) {
	t.Parallel()
	hi := simtest.Text("user", "hi")
	with := func(part, signature string) string {
		return part[:len(part)-1] + `,"thoughtSignature":"` + signature + `"}`
	}
	foreign := with(unsigned("f", "c1", `{}`), standIn)
	both := simtest.UserTurn(answered("f", "c1"), answered("g", "c2"))
	for _, tt := range []struct {
		name    string
		allowed bool
		calls   []string
		want    string
	}{
		{"allowed", true, []string{foreign, unsigned("g", "c2", `{}`)}, ""},
		{"not allowed", false, []string{foreign, unsigned("g", "c2", `{}`)}, "Corrupted thought signature"},
		{"on the second", true, []string{foreign, with(unsigned("g", "c2", `{}`), standIn)}, "Corrupted thought signature"},
		{"nothing stands in", true, []string{unsigned("f", "c1", `{}`), unsigned("g", "c2", `{}`)}, "missing a thought_signature"},
		{"our own as well", true, []string{signed("f", "c1", `{}`), unsigned("g", "c2", `{}`)}, ""},
		{"another value", true, []string{with(unsigned("f", "c1", `{}`), "AAAA"), unsigned("g", "c2", `{}`)}, "Corrupted thought signature"},
	} {
		_, url := serve(t, Config{Foreign: tt.allowed})
		resp, body := simtest.Post(t, url+streamPath, simtest.Request(hi, simtest.ModelTurn(tt.calls...), both))
		if (resp.StatusCode == 200) != (tt.want == "") || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, body)
		}
	}
}

// Ids follow from the request, and differ by the number of a call.
func TestIDs(t *testing.T) {
	t.Parallel()
	one, other := digest([]byte("one")), digest([]byte("other"))
	first, again := callID(one, 0), callID(one, 0)
	if first == callID(one, 1) || first == callID(other, 0) || first != again || len(first) != 8 {
		t.Errorf("ids %s, %s, %s", callID(one, 0), callID(one, 1), callID(other, 0))
	}
	if responseID(one) == responseID(other) || len(responseID(one)) != 23 || strings.Trim(responseID(one), "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		t.Errorf("ids %s, %s", responseID(one), responseID(other))
	}
}
