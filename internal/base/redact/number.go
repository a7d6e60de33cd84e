package redact

import (
	"net/netip"
	"slices"
	"strings"
)

// findNumber hides a card, an address of IPv4 or a phone number, which begin with a digit, a +
// or a parenthesis.
func (w *finder) findNumber(at int) (to int, mark string) {
	if w.kinds&Card != 0 && classes[w.text[at]] == isDigit {
		if to := cardEnd(w.text, at); to > at {
			return to, "[card]"
		}
	}
	// A number behind a hidden one begins by itself, because the hidden one has ended.
	if at-2 >= w.copied && w.text[at] != '+' && separatorOf(w.text[at-1])&(bySpace|byDash) != 0 && classes[w.text[at-2]] == isDigit {
		return at, "" // it began before
	}
	n := readNumber(w.text, at)
	switch {
	case n.count < 4:
	case w.kinds&IP != 0 && n.isIPv4(w.text, at):
		return n.end, "[ip]"
	case w.kinds&Phone != 0 && n.isPhone(w.text, at):
		return withExtension(w.text, n.end), "[phone]"
	}
	return at, ""
}

// withExtension returns the end of a phone number with its extension: x123.
func withExtension(text string, end int) int {
	to := end
	if to < len(text) && text[to] == 'x' {
		for to++; to < len(text) && classes[text[to]] == isDigit && to-end < 7; to++ {
		}
		if to-end > 1 && (to == len(text) || classes[text[to]]&(isDigit|isUpper|isLower) == 0) {
			return to
		}
	}
	return end
}

// maxDigits is the length of the longest card.
const maxDigits = 19

// digits is a number with what separates its groups.
type digits struct {
	end    int
	count  int
	value  [maxDigits + 1]byte
	groups [maxDigits + 1]uint8 // digits of each
	n      int                  // groups
	seps   uint16               // what separates them
	cut    bool                 // it continues as something else
}

// Separators.
const (
	bySpace = 1 << iota
	byDash
	byDot
	bySlash
	byParen
)

// separatorOf returns the separator that c is between groups of digits, or 0.
func separatorOf(c byte) uint16 {
	switch c {
	case ' ':
		return bySpace
	case '-':
		return byDash
	case '.':
		return byDot
	case '/':
		return bySlash
	case '(', ')':
		return byParen
	}
	return 0
}

// readNumber reads digits in groups; between two groups are at most three separators. It stops
// behind maxDigits+1 digits, and the number is then cut: no rule here hides a longer one.
func readNumber(text string, at int) (d digits) {
	i, gap := at, 0
	between := uint16(0) // separators behind the last digit so far; they count once another digit follows
	if text[i] == '+' {
		i++
	}
	d.end = at
	for ; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			if !d.addDigit(c-'0', gap > 0) {
				d.cut = true
				return d
			}
			d.seps |= between
			gap, between, d.end = 0, 0, i+1
			continue
		}
		if c == 0xc2 && i+1 < len(text) && text[i+1] == 0xa0 { // no-break space
			i++
			c = ' '
		}
		sep := separatorOf(c)
		if gap++; sep == 0 || gap > 3 || !goesOn(text[i+1:]) {
			break
		}
		between |= sep
	}
	d.cut = isCut(text[d.end:])
	return d
}

// addDigit adds one more digit, which begins a group if apart is true. It returns false if there is
// not enough room for it.
func (d *digits) addDigit(value byte, apart bool) bool {
	if d.count == len(d.value) {
		return false
	}
	if apart || d.n == 0 {
		d.n++ // at most as many as there are digits
	}
	d.value[d.count] = value
	d.count++
	d.groups[d.n-1]++
	return true
}

// goesOn reports whether the text behind a separator can belong to the same number.
func goesOn(text string) bool {
	return text != "" && (classes[text[0]] == isDigit || separatorOf(text[0])&(byParen|bySpace|byDash) != 0)
}

// isCut reports whether text continues the number before it to a word, an address, a share, a time
// or a longer number. An x begins an extension.
func isCut(text string) bool {
	if text == "" {
		return false
	}
	next := uint16(0)
	if len(text) > 1 {
		next = classes[text[1]]
	}
	switch text[0] {
	case '_', '@', '%':
		return true
	case ':':
		return next == isDigit
	case '-', ',', '.':
		return next&(isDigit|isUpper|isLower) != 0
	}
	return classes[text[0]]&(isUpper|isLower) != 0 && text[0] != 'x'
}

// isIPv4 reports whether the number is an address, and sets its end, because an address may
// continue where a number does not. A number behind a word such as "version" is not an address.
func (d *digits) isIPv4(text string, at int) bool {
	if d.n < 4 || d.seps&byDot == 0 {
		return false
	}
	end := at
	for end < d.end && (classes[text[end]]&(isDigit|isDot) != 0) {
		end++
	}
	if end < len(text) && (text[end] == '-' || classes[text[end]]&(isUpper|isLower) != 0) {
		return false
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	a, err := netip.ParseAddr(text[at:end])
	if err != nil || !a.Is4() || isVersion(text[:at]) {
		return false
	}
	d.end = end
	return true
}

// isVersion reports whether the text before a number calls it a version.
func isVersion(before string) bool {
	return endsWithWord(before, "version", "versions", "release", "build", "firmware", "v", "ver", "section", "chapter", "clause", "§")
}

// endsWithWord reports whether the last word of text is one of words, in any case.
func endsWithWord(text string, words ...string) bool {
	text = strings.TrimRight(text[max(0, len(text)-24):], " :.#=\"'(")
	for _, word := range words {
		if len(text) < len(word) || !strings.EqualFold(text[len(text)-len(word):], word) {
			continue
		}
		if rest := text[:len(text)-len(word)]; rest == "" || classes[rest[len(rest)-1]]&(isUpper|isLower|isDigit) == 0 {
			return true
		}
	}
	return false
}

// issuers are the first four digits that an issuer's cards begin with, and a bit for each length
// that these have.
var issuers = [...]struct{ first, last, lengths int }{
	// Visa
	{4000, 4999, 1<<13 | 1<<16 | 1<<19},
	// Mastercard
	{5100, 5599, 1 << 16}, {2221, 2720, 1 << 16},
	// American Express
	{3400, 3499, 1 << 15}, {3700, 3799, 1 << 15},
	// Diners Club
	{3000, 3059, 1<<14 | 1<<16}, {3600, 3699, 1<<14 | 1<<16}, {3800, 3999, 1<<14 | 1<<16},
	// JCB
	{3528, 3589, 1 << 16},
	// Discover
	{6011, 6011, 1 << 16}, {6440, 6599, 1 << 16},
	// UnionPay: 16 to 19
	{6200, 6299, 1<<20 - 1<<16},
	// Maestro: 13 to 19
	{5018, 5018, 1<<20 - 1<<13}, {5020, 5020, 1<<20 - 1<<13}, {5038, 5038, 1<<20 - 1<<13}, {5893, 5893, 1<<20 - 1<<13},
	{6304, 6304, 1<<20 - 1<<13}, {6759, 6759, 1<<20 - 1<<13}, {6761, 6763, 1<<20 - 1<<13},
}

// hasIssuer reports whether a card of an issuer begins so and has this length: one number in ten
// has a valid check digit by chance.
func hasIssuer(v []byte) bool {
	four := 0
	for _, d := range v[:4] {
		four = four*10 + int(d)
	}
	for _, of := range issuers {
		if four >= of.first && four <= of.last {
			return of.lengths>>len(v)&1 != 0
		}
	}
	return false
}

// isPhone reports whether a number is written as phone numbers are (ITU-T E.164 has at most 15
// digits), and not as dates, amounts or versions.
func (d *digits) isPhone(text string, at int) bool {
	first := text[at]
	switch {
	case d.cut || d.count < 7 || d.count > 15:
		return false
	case first == '+':
		return d.count >= 8 && d.value[0] != 0
	case d.isDate(), isOrdered(text[:at]):
		return false
	case isAsked(text[:at]):
		return true
	case first == '(':
		return d.count >= 8 && d.n > 1
	case d.value[0] == 0:
		return d.hasPrefix()
	}
	return d.isNational() || d.n >= 2 && d.n <= 3 && d.seps&byParen != 0 && d.count >= 9
}

// hasPrefix reports whether a number that begins with 0 can be dialled: 00 leads abroad, a single 0
// to another place of the same country.
func (d *digits) hasPrefix() bool {
	if d.value[1] == 0 {
		return d.count >= 10
	}
	return d.count >= 9 && d.count <= 12 && d.seps&byDot == 0 || d.count >= 10 && d.count <= 11 && d.n >= 4
}

// isNational reports whether a number without any prefix has the length and the groups that one
// country gives its numbers. A form that other numbers have as often is not listed.
func (d *digits) isNational() bool {
	switch d.count {
	case 9: // Spain: 612 34 56 78
		return d.isGrouped(4, 3, 2)
	case 10: // North America: 415-555-2671; India: 98765 43210
		return d.isGrouped(3, 3, 3) || d.isGrouped(2, 5) && d.seps == bySpace || d.isBrazilian()
	case 11: // North America: 1-415-555-2671; China: 138 1234 5678
		return d.value[0] == 1 && (d.isGrouped(4, 1, 3) || d.value[1] >= 3 && (d.n == 1 || d.isGrouped(3, 3, 4))) || d.isBrazilian()
	}
	return d.isBrazilian()
}

// isBrazilian knows 68 5324-2039 and 68 95324-2039.
func (d *digits) isBrazilian() bool {
	return d.n == 3 && d.groups[0] == 2 && d.groups[1] >= 4 && d.groups[2] == 4 && d.seps&byDash != 0 && d.seps&byDot == 0
}

// isGrouped reports whether the number has n groups, the first of which have these lengths.
func (d *digits) isGrouped(n int, first ...uint8) bool {
	return d.n == n && slices.Equal(d.groups[:len(first)], first)
}

// isDate reports whether a number is a date, a range of years, or one of them with a time.
func (d *digits) isDate() bool {
	g := d.groups
	switch {
	case d.n == 2:
		return g[0] == 4 && g[1] == 4 && d.value[0] <= 2
	case d.n < 3 || d.seps&byParen != 0 || g[1] > 2:
		return false
	case g[0] == 4: // of one of the last three thousand years
		return g[2] <= 2 && (d.value[0] == 1 || d.value[0] == 2)
	}
	return g[0] <= 2 && g[2] == 4 && d.n <= 5 && d.seps != bySpace
}

// isAsked reports whether the text before a number says that it is one to call.
func isAsked(before string) bool {
	return endsWithWord(before, "tel", "telefon", "phone", "telephone", "call", "mobile", "mobil", "handy", "cell", "fax", "whatsapp", "sms", "fon", "rufnummer", "téléphone", "teléfono", "telefono", "cellulare", "móvil", "portable", "telefone", "celular", "komórka", "numer", "電話", "电话", "फ़ोन", "फोन", "call me at", "call me on", "reach me at", "reach me on", "us on", "us at", "dial", "ring", "contact", "kontakt", "contacto", "contatto", "contato",
		"number is", "nummer ist", "numéro est le", "número es", "numero è", "número é", "numer to", "anrufen", "appelez", "joignez-nous au", "llame al", "chiami il", "ligue para", "dzwonić") || isCalled(before)
}

// isCalled reports whether the text before a number calls it the number of a telephone.
func isCalled(before string) bool {
	return endsWithWord(before, "phone number", "telephone number", "mobile number", "cell number", "fax number", "whatsapp number", "contact number")
}

// isOrdered reports whether the text before a number says that it is something else.
func isOrdered(before string) bool {
	return !isCalled(before) && endsWithWord(before, "order", "invoice", "ticket", "isbn", "sku", "id", "ref", "reference", "account", "case", "parcel", "tracking", "bestellung", "rechnung", "serial", "timestamp", "part", "article", "item", "no", "nr", "number", "commande", "facture", "pedido", "ordine", "fattura", "zamówienie", "faktura", "注文", "订单", "eur", "usd", "total")
}

// ipv6End returns the end of an address that begins at at, or at. Text right behind :: is part of a
// longer text, so no address starts there. A text with two :: is not an address, and neither is its
// end.
func (w *finder) ipv6End(at, end int) int {
	if strings.HasSuffix(w.text[:at], "::") {
		return at
	}
	to := at
	for to < min(end, at+46) && (strings.IndexByte("0123456789abcdefABCDEF:", w.text[to]) >= 0 || w.text[to] == '.' && strings.Count(w.text[at:to], ":") > 1) {
		to++
	}
	for to > at && (w.text[to-1] == '.' || w.text[to-1] == ':' && !strings.HasSuffix(w.text[at:to], "::")) {
		to--
	}
	if to < end && classes[w.text[to]]&(isUpper|isLower|isDigit|isDash) != 0 || !isIPv6(w.text[at:to]) {
		return at
	}
	return to
}

// isIPv6 reports whether a text is an address with a digit and at least four characters. So ::1
// is not hidden.
func isIPv6(text string) bool {
	if len(text) < 4 || strings.Count(text, ":") < 2 || !strings.ContainsAny(text, "0123456789") {
		return false
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}
