package redact_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/base/redact"
)

// A card is found however its digits are set apart, by up to two characters.
func TestCardsApart(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "4111.1111.1111.1111", "4111 1111\n1111 1111", "4111\r\n1111 1111 1111",
		"４１１１ 1111 1111 1111", "４１１１１１１１１１１１１１１１", "４０１２８８８８８８８８１８８１", "4111\u00a01111\u00a01111\u00a01111", "4111\u200b1111\u200b1111\u200b1111", "**4111** 1111 1111 1111",
		"4111*1111**1111*1111", "4111 - 1111", "4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", "41 11 11 11 11 11 11 11", "3782 822463 10005", "5 4111 1111 1111 1111", "4111 1111 1111 1111. 5 pieces",
	} {
		got := redact.AllKinds.Text("pay <" + text + "> end")
		if isCard := text != "4111 - 1111"; strings.Contains(got, "[card]") != isCard {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"4111 1111 1111 1112", "2026-11-22 12:00:00.123456", "1.2.3.4.5.6.7.8.9.10.11.12.13", "41111111111111111111111111", "0.4111111111111111"} {
		if got := redact.AllKinds.Text(text); strings.Contains(got, "[card]") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Secrets are found by the names that stand before them, and blocks of PEM by their frame.
// What is only spoken of stays.
func TestNamedSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"password=hunter2hunter2":                                        "password=[redacted]",
		"export DB_PASSWORD = 'hunter two' ok":                           "export DB_PASSWORD = '[redacted]' ok",
		"a=1&client_secret=abc&b=2":                                      "a=1&client_secret=[redacted]&b=2",
		"api_key=sk-abcdefghijklmnop1234 x":                              "api_key=[token] x",
		`cut: "password": "hunter\"two", "a": 1`:                         `cut: "password": "[redacted]", "a": 1`,
		`text {\"cookie\":\"sid=1; b=2\",\"a\":1}`:                       `text {\"cookie\":\"[redacted]\",\"a\":1}`,
		"Cookie: sid=abc; theme=dark\nHost: x":                           "Cookie: [redacted]\nHost: x",
		"max_tokens=5 monkey=1 secretless":                               "max_tokens=5 monkey=1 secretless",
		"Your password: see the manual":                                  "Your password: see the manual",
		"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----":   "[redacted]",
		"x \"-----BEGIN RSA PRIVATE KEY-----\nMII E+/=\nAbc\" then text": "x \"[redacted]\" then text",
		"password=[redacted] and [token]":                                "password=[redacted] and [token]",
		"react@18.2.0, @types/node@20.1.0, a@b.example":                  "react@18.2.0, @types/node@20.1.0, [email]",
		"https://x.test/a?page=2&q=a@b.example&sig=abc&to=%2B4930901820": "https://x.test/a?page=2&q=[email]&sig=[token]&to=[token]",
		"https://x.test/#access_token=abc&state=1":                       "https://x.test/#access_token=[token]&state=1",
		"call 1-800-FLOWERS":                                             "call 1-800-FLOWERS",
	} {
		got := redact.AllKinds.Text(text)
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if again := redact.AllKinds.Text(got); again != got {
			t.Errorf("%q, hidden twice, became %q", text, again)
		}
	}
}

// A text that is JSON is redacted as JSON: whole, cut anywhere, and within strings of JSON.
func TestPayload(t *testing.T) {
	t.Parallel()
	const inner = `{"user":"ann","password":"hunter2hunter2","Cookie":"sid=s3cret","n":{"api_key":["k3y"]},"ok":true}`
	got := redact.AllKinds.Payload(inner)
	if want := `{"user":"ann","password":"[redacted]","Cookie":"[redacted]","n":{"api_key":"[redacted]"},"ok":true}`; got != want {
		t.Errorf("became %s", got)
	}
	outer := redact.AllKinds.Payload(`{"content":[{"type":"text","text":"{\"password\":\"hunter2hunter2\",\"a\":\"[{\\\"otp\\\":\\\"123\\\"}]\"}"}]}`)
	if strings.Contains(outer, "hunter") || strings.Contains(outer, "123") || !strings.Contains(outer, `{\"password\":\"[redacted]\"`) {
		t.Errorf("became %s", outer)
	}
	for cut := range inner {
		got := redact.AllKinds.Payload(inner[:cut])
		if strings.Contains(got, "hunter") || strings.Contains(got, "s3c") || strings.Contains(got, "k3y") {
			t.Errorf("cut at %d: %s", cut, got)
		}
	}
	if got := redact.AllKinds.Payload("[Note] password=abcdef"); got != "[Note] password=[redacted]" {
		t.Errorf("became %s", got)
	}
}

// What costs the square of a text takes minutes here.
func TestTimeOfPayloadsIsInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, unit := range []string{
		"-----BEGIN ", "-----BEGIN X-----\n", "-----END ", "Cookie:", "Cookie: [redacted] ", `password="`, `password=\"`, "password=", "4 ", "4.", "４", "4111 ", "=", ":", `{"password":`, `["{`, "[", "https://x?a=%", "a@1.",
	} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			redact.AllKinds.Payload(strings.Repeat(unit, size/len(unit)))
			if elapsed := time.Since(begin); elapsed > 30*time.Second {
				t.Errorf("%v", elapsed)
			}
		})
	}
}
