package redact

import (
	"net/url"
	"strings"
)

// keyForms lists the prefixes of known services' keys, and the least number of bytes behind the
// prefix.
var keyForms = [...]struct {
	prefix string
	least  int
}{
	{"sk-", 16}, {"sk_live_", 10}, {"sk_test_", 10}, {"rk_live_", 10}, {"pk_live_", 10}, {"ghp_", 20}, {"gho_", 20}, {"ghu_", 20}, {"ghs_", 20}, {"ghr_", 20}, {"github_pat_", 20},
	{"glpat-", 16}, {"xoxb-", 10}, {"xoxp-", 10}, {"xoxa-", 10}, {"xoxs-", 10}, {"xapp-", 10}, {"AKIA", 16}, {"ASIA", 16}, {"AIza", 20}, {"ya29.", 20}, {"whsec_", 16},
	{"SG.", 20}, {"npm_", 20}, {"pypi-", 20}, {"hf_", 20}, {"dop_v1_", 20}, {"shpat_", 20}, {"eyJ", 20},
}

// leastKey is the length of the shortest key in bytes, a word of letters alone too: xoxb- and
// ten more.
const leastKey = 15

// isKeyByte reports whether c can stand in a key: base64 in both alphabets, and points.
func isKeyByte(c byte) bool {
	return classes[c]&(isDigit|isUpper|isLower|isDash|isDot) != 0 || c == '+' || c == '/' || c == '='
}

// tokenEnd returns the end of a key of a known form that begins at at, or at.
func (w *finder) tokenEnd(at, end int) int {
	word := w.text[at:end]
	for _, form := range keyForms {
		if word[0] != form.prefix[0] || !strings.HasPrefix(word, form.prefix) {
			continue
		}
		to := len(form.prefix)
		for to < len(word) && isKeyByte(word[to]) {
			to++
		}
		for to > 0 && (word[to-1] == '.' || word[to-1] == '-') {
			to--
		}
		if to-len(form.prefix) < form.least || form.prefix == "eyJ" && strings.Count(word[:to], ".") < 2 {
			continue
		}
		return at + to
	}
	return w.bearerEnd(at, end)
}

// leastBearer is how long a token in a header is at least, in bytes.
const leastBearer = 12

// followsBearer reports whether the word at the end of text announces a token.
func followsBearer(text string) bool { return endsWithWord(text, "bearer", "basic") }

// bearerEnd returns the end of a token behind Bearer or Basic in a header. It has a digit, or
// capitals within: Basic Understanding is a heading.
func (w *finder) bearerEnd(at, end int) int {
	if end-at < leastBearer || !followsBearer(w.text[:at]) {
		return at
	}
	to, digit, lower, upper := at, false, false, false
	for to < end && isKeyByte(w.text[to]) {
		c := classes[w.text[to]]
		digit, lower = digit || c&isDigit != 0, lower || c&isLower != 0
		upper = upper || c&isUpper != 0 && to > at
		to++
	}
	if to-at < leastBearer || !digit && !(upper && (lower || to-at > 20)) {
		return at
	}
	return to
}

// hideURL hides the user info of a URL, those values of its query and fragment that are secrets,
// and an address as its host. host is where that begins.
func (w *finder) hideURL(start, host, end int) {
	end = host + len(strings.TrimRight(w.text[host:end], ".,;:!)>\"'"))
	path := end
	if i := strings.IndexAny(w.text[host:end], "/?#"); i >= 0 {
		path = host + i
	}
	if at := strings.LastIndexByte(w.text[host:path], '@'); at >= 0 {
		if info := w.text[host : host+at]; w.kinds&Token != 0 && info != "[token]" && info != "" {
			w.hideSpan(host, host+at, "[token]")
		}
		host += at + 1
	}
	if w.kinds&IP != 0 && host < path {
		if d := readNumber(w.text, host); d.count >= 4 && classes[w.text[host]] == isDigit && d.isIPv4(w.text[:path], host) {
			w.hideSpan(host, d.end, "[ip]")
		}
	}
	if query := strings.IndexAny(w.text[path:end], "?#"); w.kinds&Token != 0 && query >= 0 {
		w.hideQuery(path+query+1, end)
	}
}

// hideQuery hides secrets in the values of a query or a fragment.
func (w *finder) hideQuery(at, end int) {
	for at < end {
		to := end
		if i := strings.IndexAny(w.text[at:end], "&#"); i >= 0 {
			to = at + i
		}
		if name, value, _ := strings.Cut(w.text[at:to], "="); value != "" {
			w.hideQueryValue(name, to-len(value), to)
		}
		at = to + 1
	}
}

// hideQueryValue hides a value of a query, if its name is a secret's or it is itself something to
// hide, be it escaped.
func (w *finder) hideQueryValue(name string, from, to int) {
	value := w.text[from:to]
	switch {
	case strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"): // a mark
	case secretInQuery(name):
		w.hideSpan(from, to, "[token]")
	case strings.IndexByte(value, '%') >= 0:
		if plain, err := url.QueryUnescape(value); err == nil && w.kinds.Text(plain) != plain {
			w.hideSpan(from, to, "[token]")
		}
	default:
		w.kinds.Each(value, func(thing, mark string) {
			at := max(from, w.copied)
			if i := strings.Index(w.text[at:to], thing); i >= 0 {
				w.hideSpan(at+i, at+i+len(thing), mark)
			}
		})
	}
}

// ibanLength is the length of a country's IBAN, in upper or lower case, or 0: that of the IBAN registry (SWIFT, release 99, 2024-12).
func ibanLength(country string) int {
	const registry = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"
	for i := 0; i < len(registry); i += 4 {
		if registry[i] == country[0]&^0x20 && registry[i+1] == country[1]&^0x20 {
			return int(registry[i+2]-'0')*10 + int(registry[i+3]-'0')
		}
	}
	return 0
}

// ibanEnd returns the end of an IBAN that begins at at, or at.
func ibanEnd(text string, at int) int {
	if at+15 > len(text) || classes[text[at+2]] != isDigit || classes[text[at+3]] != isDigit {
		return at
	}
	want := ibanLength(text[at : at+2])
	if want == 0 {
		return at
	}
	var of [34]byte
	n, i := 0, at
	for ; i < len(text) && n < want; i++ {
		c := text[i]
		switch {
		case classes[c]&(isDigit|isUpper|isLower) != 0:
			of[n] = c
			n++
		case strings.IndexByte(" -", c) >= 0 && n%4 == 0 && text[i-1] != c:
		default:
			return at
		}
	}
	if n < want || i < len(text) && classes[text[i]]&(isDigit|isUpper|isLower) != 0 || ibanChecksum(of[:want]) != 1 {
		return at
	}
	return i
}

// ibanChecksum is what ISO 7064, mod 97-10, makes of an IBAN, whose first four characters count last.
func ibanChecksum(iban []byte) (rest int) {
	for k := range iban {
		if c := iban[(k+4)%len(iban)]; c >= 'A' {
			rest = (rest*100 + int(c|0x20-'a') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest
}
