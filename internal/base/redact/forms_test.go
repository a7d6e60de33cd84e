package redact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/redact"
)

// row is a text, and what becomes of it.
type row struct{ in, want string }

// hides checks a table of one kind: what is hidden, that it is once and for all, and that
// Each gives the same things.
func hides(t *testing.T, kind redact.Kinds, rows []row) {
	t.Helper()
	for _, tt := range rows {
		got := kind.Text(tt.in)
		if got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
		if again := kind.Text(got); again != got {
			t.Errorf("%q, hidden twice, became %q", tt.in, again)
		}
		made := tt.in
		kind.Each(tt.in, func(thing, mark string) { made = strings.Replace(made, thing, mark, 1) })
		if made != got {
			t.Errorf("%q: what is found makes %q, and what is hidden %q", tt.in, made, got)
		}
	}
}

// Kinds go by their names; others count for nothing.
func TestKindsOf(t *testing.T) {
	t.Parallel()
	want := map[string]redact.Kinds{"email": redact.Email, "phone": redact.Phone, "card": redact.Card, "iban": redact.IBAN, "ip": redact.IP, "token": redact.Token}
	for _, name := range redact.KindNames() {
		if got := redact.KindsOf(name); got != want[name] || got == 0 {
			t.Errorf("%s is %b", name, got)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("%v have no names", want)
	}
	if got := redact.KindsOf(redact.KindNames()...); got != redact.AllKinds {
		t.Errorf("all of them are %b", got)
	}
	if got := redact.KindsOf("Email", "name", ""); got != 0 {
		t.Errorf("unknown names are %b", got)
	}
	const all = "a@b.cc, +49 30 123456, 4111111111111111, DE89370400440532013000, 10.1.2.3, sk-abcdefghijklmnop"
	for name, mark := range map[string]string{"email": "[email]", "phone": "[phone]", "card": "[card]", "iban": "[iban]", "ip": "[ip]", "token": "[token]"} {
		got := redact.KindsOf(name).Text(all)
		for _, other := range redact.KindNames() {
			if has := strings.Contains(got, "["+other+"]"); has != (mark == "["+other+"]") {
				t.Errorf("%s alone makes %q", name, got)
			}
		}
	}
}

// A key of each service is one from a length on, with the bytes of base64 and what ends it.
func TestKeyForms(t *testing.T) {
	t.Parallel()
	for prefix, least := range map[string]int{
		"sk-": 16, "sk_live_": 10, "sk_test_": 10, "rk_live_": 10, "pk_live_": 10, "ghp_": 20, "gho_": 20, "ghu_": 20, "ghs_": 20, "ghr_": 20,
		"github_pat_": 20, "glpat-": 16, "xoxb-": 10, "xoxp-": 10, "xoxa-": 10, "xoxs-": 10, "xapp-": 10, "AKIA": 16, "ASIA": 16, "AIza": 20,
		"ya29.": 20, "whsec_": 16, "SG.": 20, "npm_": 20, "pypi-": 20, "hf_": 20, "dop_v1_": 20, "shpat_": 20,
	} {
		key := prefix + strings.Repeat("x", least-1)
		long := strings.Repeat("b+/=_-.Z", 8) + "1"
		hides(t, redact.Token, []row{
			{"a " + key + "x b", "a [token] b"},
			{"a " + key + " b", "a " + key + " b"},
			{"(" + key + "x).", "([token])."},
			{key + "x...", "[token]..."},
			{key + "x, " + prefix + long + "!", "[token], [token]!"},
			{"a" + key + "x", "a" + key + "x"},
			{"a:" + key + "x", "a:[token]"},
		})
	}
	hides(t, redact.Token, []row{
		{"eyJ" + strings.Repeat("x", 30), "eyJ" + strings.Repeat("x", 30)},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[token]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"},
		{"eyJa.b.c", "eyJa.b.c"},
	})
}

// What follows Bearer or Basic is a token if it looks like one.
func TestTokensOfHeaders(t *testing.T) {
	t.Parallel()
	hides(t, redact.Token, []row{
		{"Bearer abcdefghijk1", "Bearer [token]"},
		{"Bearer abcdefghij1", "Bearer abcdefghij1"}, // eleven bytes
		{"bearer: abcdefghijk1", "bearer: [token]"},
		{"BASIC abcdefghijk1,", "BASIC [token],"},
		{"Basic abcdEfghijkl", "Basic [token]"},
		{"Basic Abcdefghijkl", "Basic Abcdefghijkl"},
		{"Basic abcdefghijkl", "Basic abcdefghijkl"},
		{"Basic ABCDEFGHIJKLMNOPQRST", "Basic ABCDEFGHIJKLMNOPQRST"},
		{"Basic ABCDEFGHIJKLMNOPQRSTU", "Basic [token]"},
		{"Forbearer abcdefghijk1", "Forbearer abcdefghijk1"},
		{"a bearer of abcdefghijk1", "a bearer of abcdefghijk1"},
	})
}

// Of a URL the user, the values that are secrets, and an address as its host.
func TestURLs(t *testing.T) {
	t.Parallel()
	hides(t, redact.AllKinds, []row{
		{"https://a.b/c", "https://a.b/c"},
		{"https://user@a.b/c", "https://[token]@a.b/c"},
		{"https://u:p@w@a.b/c", "https://[token]@a.b/c"},
		{"https://@a.b", "https://@a.b"},
		{"https://a.b/@c", "https://a.b/@c"},
		{"http://10.0.0.1/a", "http://[ip]/a"},
		{"http://u:p@10.0.0.1:80", "http://[token]@[ip]:80"},
		{"(http://10.0.0.1).", "(http://[ip])."},
		{"http://10.0.0.1.example/a", "http://[ip].example/a"},
		{"https://a.b/?page=2", "https://a.b/?page=2"},
		{"https://a.b/?key=1&b=2", "https://a.b/?key=[token]&b=2"},
		{"https://a.b/?api-key=1#token=2", "https://a.b/?api-key=[token]#token=[token]"},
		{"https://a.b/?code=1&auth=2&session=3&sid=4&jwt=5&ticket=6", "https://a.b/?code=[token]&auth=[token]&session=[token]&sid=[token]&jwt=[token]&ticket=[token]"},
		{"https://a.b/?X-Amz-Signature=1&sig=2&PHPSESSIONID=3", "https://a.b/?X-Amz-Signature=[token]&sig=[token]&PHPSESSIONID=[token]"},
		{"https://a.b/?key=&code", "https://a.b/?key=&code"},
		{"https://a.b/?codes=1&monkeys=2", "https://a.b/?codes=1&monkeys=2"},
		{"https://a.b/?to=x@y.zz&n=1", "https://a.b/?to=[email]&n=1"},
		{"https://a.b/?to=x%40y.zz", "https://a.b/?to=[token]"},
		{"https://a.b/?to=x%20y", "https://a.b/?to=x%20y"},
		{"https://a.b/?to=%zz", "https://a.b/?to=%zz"},
		{"https://a.b/?key=1.", "https://a.b/?key=[token]."},
	})
	const secret = "https://u:p@10.0.0.1/?key=1"
	hides(t, redact.Email, []row{{secret, secret}})
	hides(t, redact.IP, []row{{secret, "https://u:p@[ip]/?key=1"}})
}

// Addresses of people, with a domain that there can be.
func TestEmails(t *testing.T) {
	t.Parallel()
	hides(t, redact.Email, []row{
		{"ann@example.com", "[email]"},
		{"Ann.O'Neil+tag@mail.example.co.uk", "[email]"},
		{"ünï@exämple.de and 用户@例子.中国", "[email] and [email]"},
		{"a@xn--bcher-kva.example", "[email]"},
		{"a@b.xn--p1ai", "[email]"},
		{"'a@b.cc'", "'[email]'"},
		{"..a@b.cc..", "..[email].."},
		{"a@b.cc,c@d.ee", "[email],[email]"},
		{"a@b", "a@b"},
		{"a@b.", "a@b."},
		{"@b.cc", "@b.cc"},
		{"a@.b.cc", "a@.b.cc"},
		{"a@-b.cc", "a@-b.cc"},
		{"a@b-c.dd", "[email]"},
		{"pkg@1.2.3", "pkg@1.2.3"},
		{"a@b.c1", "a@b.c1"},
		{"a@b..cc", "a@b..cc"},
		{"a@b.cc@d.ee", "[email]@d.ee"},
	})
}

// Accounts of each country, with its length and check digits.
func TestIBANs(t *testing.T) {
	t.Parallel()
	lengths := map[string]int{"DE": 22, "GB": 22, "FR": 27, "NO": 15, "NL": 18, "BE": 16, "ES": 24, "IT": 27, "CH": 21, "AT": 20, "PL": 28, "PT": 25, "SE": 24, "MT": 31, "LC": 32, "RU": 33, "SA": 24, "AE": 23, "AD": 24, "YE": 30}
	for country, length := range lengths {
		body := strings.Repeat("0123456789", 4)[:length-4]
		number := ibanEnd(country, body)
		spaced := ""
		for i := 0; i < len(number); i += 4 {
			spaced += number[i:min(i+4, len(number))] + " "
		}
		spaced = strings.TrimSpace(spaced)
		wrong := number[:len(number)-1] + string('0'+(number[len(number)-1]-'0'+1)%10)
		short := ibanEnd(country, body[1:])
		hides(t, redact.IBAN, []row{
			{"pay " + number + ".", "pay [iban]."},
			{"pay " + spaced + " now", "pay [iban] now"},
			{strings.ToLower(number), "[iban]"},
			{strings.ReplaceAll(spaced, " ", "-"), "[iban]"},
			{wrong, wrong},
			{short, short},
			{number + "0", number + "0"},
			{"x" + number, "x" + number},
			{strings.ReplaceAll(spaced, " ", "  "), strings.ReplaceAll(spaced, " ", "  ")},
			{number[:5] + " " + number[5:], number[:5] + " " + number[5:]},
		})
	}
	for _, country := range []string{"US", "ZZ", "D1", "JP"} {
		number := ibanEnd(country, "370400440532013000")
		hides(t, redact.IBAN, []row{{number, number}})
	}
}

// ibanEnd is a country's number with valid check digits (ISO 13616).
func ibanEnd(country, body string) string {
	rest := 0
	for _, c := range body + country + "00" {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return country + fmt.Sprintf("%02d", 98-rest) + body
}

// Addresses of both versions, and what looks like them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	hides(t, redact.IP, []row{
		{"10.0.0.1", "[ip]"},
		{"(10.0.0.1), 192.168.1.255:80", "([ip]), [ip]:80"},
		{"10.0.0.1/8", "[ip]/8"},
		{"ends with 10.0.0.1.", "ends with [ip]."},
		{"256.0.0.1", "256.0.0.1"},
		{"1.2.3", "1.2.3"},
		{"1.2.3.4.5", "1.2.3.4.5"},
		{"01.2.3.4", "01.2.3.4"},
		{"1.2.3.4-beta", "1.2.3.4-beta"},
		{"1.2.3.4rc", "1.2.3.4rc"},
		{"v 1.2.3.4", "v 1.2.3.4"},
		{"release: 1.2.3.4", "release: 1.2.3.4"},
		{"Firmware 1.2.3.4", "Firmware 1.2.3.4"},
		{"section 1.2.3.4", "section 1.2.3.4"},
		{"conversion 1.2.3.4", "conversion [ip]"},
		{"see § 1.2.3.4", "see § 1.2.3.4"},
		{"VER=1.2.3.4", "VER=1.2.3.4"},
		{"versions of 1.2.3.4", "versions of [ip]"},
		{"10.0.0.1 10.0.0.2", "[ip] [ip]"},
		{"10.0.0.1 - 10.0.0.9", "[ip] - [ip]"},
		{"10.0.0.1-10.0.0.9", "10.0.0.1-10.0.0.9"},
		{"it was 10.0.0.1. 5 hops", "it was [ip]. 5 hops"},
		{"::1", "::1"}, // too short to be of anybody
		{"fe80::1", "[ip]"},
		{"[2001:db8::1]:80", "[[ip]]:80"},
		{"2001:DB8:0:0:1:2:3:4", "[ip]"},
		{"::ffff:10.0.0.1", "[ip]"},
		{"2001:db8::", "[ip]"},
		{"2001:db8::1.", "[ip]."},
		{"2001:db8::1::2", "2001:db8::1::2"},
		{"2001:db8::g", "2001:db8::g"},
		{"12:30:45", "12:30:45"},
		{"dead::beef", "dead::beef"},
		{"ab:cd:ef:01:23:45", "ab:cd:ef:01:23:45"},
	})
}

// Numbers to call: with a prefix, in the groups of a country, or where a word asks for it.
func TestPhones(t *testing.T) {
	t.Parallel()
	hides(t, redact.Phone, []row{
		{"+49 - 30 123456", "[phone]"}, // three separators
		{"+49 -- 30 123456", "+49 -- 30 123456"},
		{"+49 30 123456", "[phone]"},
		{"+4930123456", "[phone]"},
		{"+49 30 1", "+49 30 1"},
		{"+1234567", "+1234567"},
		{"+12345678", "[phone]"},
		{"+123456789012345", "[phone]"},
		{"+1234567890123456", "+1234567890123456"},
		{"+01234567890", "+[phone]"},
		{"0049 30 123456", "[phone]"},
		{"00 1234567", "00 1234567"},
		{"030 1234567", "[phone]"},
		{"030 12345", "030 12345"},
		{"0123456789012", "0123456789012"},
		{"01 23 45 67 89", "[phone]"},
		{"01.23.45.67.89", "[phone]"},
		{"0123.456.78", "0123.456.78"},
		{"(415) 555-2671", "[phone]"},
		{"(4155552671)", "(4155552671)"},
		{"415-555-2671", "[phone]"},
		{"415 555 26 71", "415 555 26 71"},
		{"1-415-555-2671", "[phone]"},
		{"2-415-555-2671", "2-415-555-2671"},
		{"138 1234 5678", "[phone]"},
		{"13812345678", "[phone]"},
		{"12812345678", "12812345678"},
		{"98765 43210", "[phone]"},
		{"98765-43210", "98765-43210"},
		{"612 34 56 78", "[phone]"},
		{"68 5324-2039", "[phone]"},
		{"68 95324-2039", "[phone]"},
		{"call 1234567", "call [phone]"},
		{"Tel.: 123 4567", "Tel.: [phone]"},
		{"call 123456", "call 123456"},
		{"recall 1234567", "recall 1234567"},
		{"order 030 1234567", "order 030 1234567"},
		{"Nr. 030 1234567", "Nr. 030 1234567"},
		{"415-555-2671x12", "[phone]"},
		{"415-555-2671x12a", "[phone]x12a"},
		{"415-555-2671x", "[phone]x"},
		{"415-555-2671x1234567", "[phone]x1234567"},
		{"+49 30 123456%", "+49 30 123456%"},
		{"+49 30 123456:7", "+49 30 123456:7"},
		{"+49 30 123456: x", "[phone]: x"},
		{"+49 30 123456, x", "[phone], x"},
		{"+49 30 123456_", "+49 30 123456_"},
		{"+49 30 123456a", "+49 30 123456a"},
		{"+49\u00a030\u00a0123456", "[phone]"},
		{"call 2026-11-26", "call 2026-11-26"},
		{"call 26.11.2026", "call 26.11.2026"},
		{"call 1999-2026", "call 1999-2026"},
	})
}

// The word before a number says what it is, in each language: one to call, which is hidden without
// the form of one, or something else, which stays although it has that form.
func TestWordsBeforeNumbers(t *testing.T) {
	t.Parallel()
	var phones, addresses []row
	for _, words := range []string{
		"Phone number:|my mobile number|cell number|fax number|Telephone|mobile|cell|fax|WhatsApp|SMS|call me at|Call me on|you can reach me at|reach me on|ring us on|talk to us at|dial|ring|contact|My number is",
		"Telefon:|Mobil|Handy|Fon.|Rufnummer|Kontakt|Meine Nummer ist|Bitte anrufen:",
		"Téléphone :|portable|Mon numéro est le|Appelez|joignez-nous au", "teléfono|móvil|celular|contacto|Mi número es|llame al",
		"telefono|cellulare|contatto|Il mio numero è|chiami il", "telefone|contato|Meu número é|ligue para", "komórka|numer|Mój numer to|dzwonić", "電話|电话|फ़ोन|फोन",
	} {
		for word := range strings.SplitSeq(words, "|") {
			phones = append(phones, row{word + " 1234567", word + " [phone]"})
		}
	}
	for _, words := range []string{
		"Invoice|ticket|ISBN|SKU|id|ref|reference|account|case|parcel|tracking|serial|timestamp|part|article|item|No.|number|EUR|usd|total:",
		"Bestellung|Rechnung|Commande|Facture|pedido|ordine|fattura|zamówienie|faktura|注文|订单",
	} {
		for word := range strings.SplitSeq(words, "|") {
			phones = append(phones, row{word + " 030 1234567", word + " 030 1234567"})
		}
	}
	for word := range strings.SplitSeq("versions|Build|chapter|Clause", "|") {
		addresses = append(addresses, row{word + " 1.2.3.4", word + " 1.2.3.4"})
	}
	hides(t, redact.Phone, phones)
	hides(t, redact.IP, addresses)
}

// The value behind the name of a secret goes, to its end.
func TestValuesOfNames(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, name := range []string{"password", "PASSWD", "passphrase", "client-secret", "cookie", "authorization", "apiKey", "private_key", "AccessKey", "credentials", "pwd", "cvv", "cvc", "pin", "otp", "refresh_token", "Token"} {
		rows = append(rows, row{name + "=abc def", name + "=[redacted] def"}, row{"x " + name + " = 'a b' y", "x " + name + " = '[redacted]' y"}, row{`"` + name + `": "a\"b", "c"`, `"` + name + `": "[redacted]", "c"`})
	}
	for _, name := range []string{"user", "tokens", "pins", "spin", "keys", "otpx", "max_tokens"} {
		rows = append(rows, row{name + "=abc def", name + "=abc def"})
	}
	hides(t, redact.Token, append(rows, []row{
		{"Cookie: a=b; c=d", "Cookie: [redacted]"},
		{"set-cookie: a=b\r\nDate: c", "set-cookie: [redacted]\r\nDate: c"},
		{"X-Api-Key: abc", "X-Api-Key: [redacted]"},
		{"Proxy-Authorization: Digest abc", "Proxy-Authorization: [redacted]"},
		{"Authorization: basic x", "Authorization: basic x"},
		{"password: abc", "password: abc"},
		{"password=", "password="},
		{"password=&a=b", "password=&a=b"},
		{"password=`abc`", "password=`abc`"},
		{"(password=abc)", "(password=[redacted])"},
		{`password="abc`, `password="[redacted]`},
		{`password='a"b'c`, `password='[redacted]'c`},
		{`{\"pin\":\"1\",\"b\":2}`, `{\"pin\":\"[redacted]\",\"b\":2}`},
		{`pin=a\ b c`, `pin=[redacted] c`},
		{"password=[token]", "password=[token]"},
	}...))
}

// A block of PEM goes from its first line to its last, or as far as there is base64.
func TestBlocksOfPEM(t *testing.T) {
	t.Parallel()
	const begin, end = "-----BEGIN KEY-----\n", "-----END KEY-----"
	hides(t, redact.Token, []row{
		{"a\n" + begin + "QUJD\nREVG\n" + end + "\nb", "a\n[redacted]\nb"},
		{begin + "QUJD\n" + end + begin + "QUJD\n" + end, "[redacted][redacted]"},
		{"x" + begin + "QUJD\n" + end + "y", "x[redacted]y"},
		{begin + "QUJD\nREVG", "[redacted]"},
		{begin + "QUJD (cut)", "[redacted] (cut)"},
		{"-----BEGIN KEY-----\\nQUJD\\n-----END KEY-----", "[redacted]"},
		{"-----BEGINNING", "-----BEGINNING"},
		{"----BEGIN KEY----", "----BEGIN KEY----"},
		{end, end},
		{begin + "QUJD\n-----END K", "[redacted]"},
	})
	hides(t, redact.Email, []row{{begin + "QUJD\n" + end, begin + "QUJD\n" + end}})
}

// Members are hidden by their names at any depth, with whatever they hold; what is cut is
// hidden as far as it goes.
func TestMembersOfJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []row{
		{`{"pin":1,"a":{"otp":[1,{"b":2}]},"c":[{"token":true}]}`, `{"pin":"[redacted]","a":{"otp":"[redacted]"},"c":[{"token":"[redacted]"}]}`},
		{`{"pin":null,"b":"a@b.cc"}`, `{"pin":null,"b":"[email]"}`},
		{`{"pin":"","b":1}`, `{"pin":"","b":1}`},
		{`{"tokens":5,"token_count":6}`, `{"tokens":5,"token_count":6}`},
		{`{ "a" : "x" , "b":1.50 }`, `{ "a" : "x" , "b":1.50 }`},
		{`"a@b.cc" 4111111111111111 [10]`, `"[email]" "[card]" [10]`},
		{`{"a":"{\"pin\":\"1\"}"}`, `{"a":"{\"pin\":\"[redacted]\"}"}`},
		{`{"pin":"1`, `{"pin":"[redacted]"`},
		{`{"pin":tru`, `{"pin":"[redacted]"`},
		{`{"a":"x","b":"a@b.c`, `{"a":"x","b":"[email]`},
		{`{"a":"a@b.cc"} and a@b.cc`, `{"a":"[email]"} and [email]`},
		{`[1,2`, `[1,2`},
		{``, ``},
	} {
		if diff := cmp.Diff(tt.want, string(redact.AllKinds.JSON([]byte(tt.in)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, diff)
		}
	}
	deep := `{"pin":"1"}`
	var found []int
	for depth := range 8 {
		if !strings.Contains(redact.AllKinds.Payload(deep), "[redacted]") {
			found = append(found, depth)
		}
		deep = fmt.Sprintf(`{"a":%q}`, deep)
	}
	if slices.Contains(found, 0) || slices.Contains(found, 3) {
		t.Errorf("nothing is found at the depths %d", found)
	}
	for _, text := range []string{"", " ", "a@b.cc", "\n {\"a\":\"a@b.cc\"}", "[a@b.cc"} {
		if got := redact.Email.Payload(text); strings.Contains(got, "a@b") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A scrubber of no secrets, or of such as are too short, changes nothing.
func TestScrubberOfNothing(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{nil, {""}, {"1234567", "info"}} {
		s := redact.New(secrets)
		for _, text := range []string{"", "1234567 info", `{"a":"1234567\u0041"}`} {
			if s.Text(text) != text || string(s.JSON([]byte(text))) != text || string(s.JSONNames([]byte(text))) != text {
				t.Errorf("%q changes %q", secrets, text)
			}
		}
	}
	if got := redact.New([]string{"12345678"}).Text("a12345678"); got != "a[redacted]" {
		t.Errorf("eight bytes: %q", got)
	}
}
