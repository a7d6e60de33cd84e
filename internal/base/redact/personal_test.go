package redact_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/redact"
)

// labelled returns the set: a text for each line, with what is to be hidden between ⟦ and ⟧.
func labelled(t *testing.T) (lines [][]string) {
	t.Helper()
	b, err := os.ReadFile("testdata/personal.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		lines = append(lines, strings.SplitN(line, "\t", 4))
	}
	return lines
}

// Of 300 texts in ten locales that hold something, and 300 that look as if they did.
func TestRecallAndPrecision(t *testing.T) {
	t.Parallel()
	found, missed, wrong := 0, 0, 0
	for _, l := range labelled(t) {
		sign, kind, text := l[0], l[2], l[3]
		plain := strings.NewReplacer("⟦", "", "⟧", "").Replace(text)
		got := redact.AllKinds.Text(plain)
		switch {
		case sign == "-" && got != plain:
			wrong++
			t.Logf("%s %s: %q became %q", l[1], kind, plain, got)
		case sign == "+":
			before, rest, _ := strings.Cut(text, "⟦")
			_, after, _ := strings.Cut(rest, "⟧")
			if got == before+"["+kind+"]"+after {
				found++
				continue
			}
			missed++
			t.Logf("%s %s: %q became %q", l[1], kind, plain, got)
		}
	}
	recall, precision := float64(found)/float64(found+missed), float64(found)/float64(found+wrong)
	t.Logf("figures: recall %.3f (%d of %d), precision %.3f (%d wrong)", recall, found, found+missed, precision, wrong)
	if recall < 0.98 || precision < 0.97 {
		t.Errorf("recall %.3f, precision %.3f", recall, precision)
	}
}

func TestPersonal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"mail a.b+c@example.co.uk, please", "mail [email], please"},
		{"<ann@example.com>;bob@example.org", "<[email]>;[email]"},
		{"an @handle, a@b and me@localhost", "an @handle, a@b and me@localhost"},
		{"mailto:ann@example.com", "mailto:[email]"},
		{"https://ann:pw@example.com/a?token=abc&x=&y=1#z", "https://[token]@example.com/a?token=[token]&x=&y=1#z"},
		{"see https://10.1.2.3:8080/x.", "see https://[ip]:8080/x."},
		{"from 192.168.0.1, and 2001:db8::1.", "from [ip], and [ip]."},
		{"version 1.2.3.4, at 12:30:45, std::vector, a::b", "version 1.2.3.4, at 12:30:45, std::vector, a::b"},
		{"4111 1111 1111 1111 and 4111111111111112", "[card] and 4111111111111112"},
		{"DE89 3704 0044 0532 0130 00 and DE89 3704 0044 0532 0130 01", "[iban] and DE89 3704 0044 0532 0130 01"},
		{"Authorization: Bearer abcdef0123456789", "Authorization: Bearer [token]"},
		{"Authorization: Basic dXNlcjpwYXNz, Basic Understanding, BASIC UNDERSTANDING, Understanding", "Authorization: Basic [token], Basic Understanding, BASIC UNDERSTANDING, Understanding"},
		{"Basic: ABCDEFGHIJKLMNOPQRSTUVWX", "Basic: [token]"},
		{"iban:DE89370400440532013000 card:4111111111111111 tel:03012345678 key:sk-abcdefghijklmnopqrst (4111111111111111) +a4111111111111111", "iban:[iban] card:[card] tel:[phone] key:[token] ([card]) +a4111111111111111"},
		{"(4111111111111111) or 4111 1111 1111 1111 (Visa), (10.1.2.3) (1)", "([card]) or [card] (Visa), ([ip]) (1)"},
		{"ref:0301234567, 12:34:56:78:9a:bc, a:1234567, 10:15:2026, urn:isbn:9783161484100", "ref:0301234567, 12:34:56:78:9a:bc, a:1234567, 10:15:2026, urn:isbn:9783161484100"},
		{"on 2026-11-22 14:30, 22.11.2026, 11/22/2026, 2024-2026", "on 2026-11-22 14:30, 22.11.2026, 11/22/2026, 2024-2026"},
		{"+49 (30) 1234-5678, 030/1234567, (415) 555-2671", "[phone], [phone], [phone]"},
		{"1,234,567.89 and 1 234 567 and order 1234567890", "1,234,567.89 and 1 234 567 and order 1234567890"},
		{"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
	} {
		got := redact.AllKinds.Text(tt.in)
		if got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
		if again := redact.AllKinds.Text(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
	if got := redact.Email.Text("a@b.cc 192.168.0.1"); got != "[email] 192.168.0.1" {
		t.Errorf("one kind alone: %q", got)
	}
}

func TestPersonalJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{"a": "x@y.zz", "n": 4111111111111111}`, `{"a": "[email]", "n": "[card]"}`},
		{`{"password":"p","Set-Cookie":["a"],"api_key":{"b":1},"x":null,"secret":null,"input_tokens":12,"access_token":""}`, `{"password":"[redacted]","Set-Cookie":"[redacted]","api_key":"[redacted]","x":null,"secret":null,"input_tokens":12,"access_token":""}`},
		{`{"x@y.zz":1}`, `{"x@y.zz":1}`},
		{`{"a":"\u0078@y.zz"}`, `{"a":"[email]"}`},
		{`no JSON x@y.zz`, `no JSON [email]`},
		{`{"password":`, `{"password":`},
	} {
		got := redact.AllKinds.JSON([]byte(tt.in))
		if string(got) != tt.want {
			t.Errorf("%s became %s, want %s", tt.in, got, tt.want)
		}
		if again := redact.AllKinds.JSON(got); !bytes.Equal(again, got) {
			t.Errorf("%s became %s the second time", got, again)
		}
	}
}

// What grows with the square takes minutes here.
func TestPersonalTimeIsInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, unit := range []string{"a@", "@", "a.b@", "1", "1 ", "+1 ", "(", "1.", "1-", "::", "a:", "DE89 ", "DE", "eyJ", "sk-", "http://", "http://a@", "?a=b&", "é", "x", "Bearer ", "1.1.1.1", "4111 1111 ", "a@b.c"} {
		began := time.Now()
		redact.AllKinds.Text(strings.Repeat(unit, size/len(unit)))
		if elapsed := time.Since(began); elapsed > 20*time.Second {
			t.Errorf("%q: %v", unit, elapsed)
		}
	}
}

func FuzzPersonal(f *testing.F) {
	for _, s := range []string{"a@b.cc", "+49 30 123456", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "https://a:b@c.d/?e=f", "192.168.0.1", "2001:db8::1", "sk-0123456789abcdef", `{"password":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := redact.AllKinds.Text(text)
		if again := redact.AllKinds.Text(got); again != got {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
		if json.Valid([]byte(text)) {
			clean := redact.AllKinds.JSON([]byte(text))
			if !json.Valid(clean) {
				t.Errorf("%q became %q", text, clean)
			}
		}
	})
}

func BenchmarkPersonal(b *testing.B) {
	text := strings.Repeat("The report for Ann is due on 2026-11-24 at 14:30; see req_0123456789ab. Call +49 30 123456 or write to ann@example.com about order 1234567890. ", 60)[:8<<10]
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		redact.AllKinds.Text(text)
	}
}

// A number with a valid check digit is a card's only where an issuer gives cards that begin so
// and have this length.
func TestCardsOfIssuers(t *testing.T) {
	t.Parallel()
	for first, lengths := range map[string][]int{
		"4000": {13, 16, 19}, "4999": {13, 16, 19}, "5099": nil, "5100": {16}, "5599": {16}, "5600": nil, "2220": nil, "2221": {16}, "2720": {16}, "2721": nil,
		"3400": {15}, "3799": {15}, "3500": nil, "3000": {14, 16}, "3059": {14, 16}, "3060": nil, "3600": {14, 16}, "3899": {14, 16}, "3900": {14, 16},
		"3527": nil, "3528": {16}, "3589": {16}, "3590": nil, "6011": {16}, "6439": nil, "6440": {16}, "6500": {16}, "6599": {16}, "6600": nil,
		"6200": {16, 17, 18, 19}, "6299": {16, 17, 18, 19}, "5018": {13, 14, 15, 16, 17, 18, 19}, "5019": nil, "6304": {13, 14, 15, 16, 17, 18, 19},
		"6759": {13, 14, 15, 16, 17, 18, 19}, "6760": nil, "6761": {13, 14, 15, 16, 17, 18, 19}, "6763": {13, 14, 15, 16, 17, 18, 19}, "6764": nil,
	} {
		for n := 13; n <= 19; n++ {
			digits := []byte(first + strings.Repeat("0", n-4))
			sum := 0 // of Luhn: every second digit from behind counts twice
			for i, c := range digits {
				d := int(c - '0')
				if (n-i)%2 == 0 {
					d = d*2/10 + d*2%10
				}
				sum += d
			}
			digits[n-1] = '0' + byte((10-sum%10)%10)
			if got, want := redact.Card.Text(string(digits)) == "[card]", slices.Contains(lengths, n); got != want {
				t.Errorf("%s, %d digits: a card is %v, want %v", digits, n, got, want)
			}
		}
	}
}
