package redact

import (
	"net/netip"
	"strings"
)

// number hides a card, an address of IPv4 or a phone number, which begin with a digit, a +
// or a parenthesis.
func (w *finder) number(at int) (to int, mark string) {
	if at > 1 && w.text[at] != '+' && separator(w.text[at-1])&(bySpace|byDash) != 0 && classes[w.text[at-2]] == isDigit {
		return at, "" // it began before
	}
	n := readNumber(w.text, at)
	switch {
	case n.count < 4:
	case w.kinds&IP != 0 && n.isIPv4(w.text, at):
		return n.end, "[ip]"
	case w.kinds&Card != 0 && n.isCard(w.text, at):
		return n.end, "[card]"
	case w.kinds&Phone != 0 && n.isPhone(w.text, at):
		return extended(w.text, n.end), "[phone]"
	}
	return at, ""
}

// extended returns the end of a phone number with its extension: x123.
func extended(text string, end int) int {
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
	cut    bool                 // it goes on as something else
}

// Separators.
const (
	bySpace = 1 << iota
	byDash
	byDot
	bySlash
	byParen
)

func separator(c byte) uint16 {
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

// readNumber reads digits in groups; between two groups are at most three separators.
func readNumber(text string, at int) (d digits) {
	i := at
	if text[i] == '+' {
		i++
	}
	gap := 0
	d.end = at
	for ; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			if d.count == maxDigits+1 {
				d.cut = true
				return d
			}
			if gap > 0 || d.n == 0 {
				if d.n == len(d.groups) {
					d.cut = true
					return d
				}
				d.n++
				gap = 0
			}
			d.value[d.count] = c - '0'
			d.count++
			d.groups[d.n-1]++
			d.end = i + 1
			continue
		}
		if c == 0xc2 && i+1 < len(text) && text[i+1] == 0xa0 { // no-break space
			i++
			c = ' '
		}
		sep := separator(c)
		if gap++; sep == 0 || gap > 3 {
			break
		}
		if next := i + 1; next < len(text) && (text[next] >= '0' && text[next] <= '9' || separator(text[next])&(byParen|bySpace|byDash) != 0) {
			d.seps |= sep
			continue
		}
		break
	}
	if d.end < len(text) {
		c := text[d.end]
		d.cut = classes[c]&(isUpper|isLower) != 0 && c != 'x' || c == '_' || c == '@' || c == '%' || c == ':' && d.end+1 < len(text) && classes[text[d.end+1]] == isDigit ||
			(c == '-' || c == ',' || c == '.') && d.end+1 < len(text) && classes[text[d.end+1]]&(isDigit|isUpper|isLower) != 0
	}
	return d
}

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

// isVersion says whether what comes next is called a version.
func isVersion(before string) bool {
	return endsWithWord(before, "version", "versions", "release", "build", "firmware", "v", "ver", "section", "chapter", "clause", "§")
}

// endsWithWord says whether the last word of text is one of words, in any case.
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

// isCard asks for the check digit (ISO/IEC 7812-1, annex B) and for an issuer: one number
// in ten has a valid check digit by chance.
func (d *digits) isCard(text string, at int) bool {
	if text[at] == '+' || d.cut || d.seps&^(bySpace|byDash) != 0 || !issued(d.value[:d.count]) {
		return false
	}
	if d.n > 1 && (d.groups[0] != 4 || d.n > 5) {
		return false
	}
	sum := 0
	for i := range d.count {
		v := int(d.value[d.count-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// issued says whether a card of an issuer begins so and has this length.
func issued(v []byte) bool {
	if len(v) < 13 || len(v) > maxDigits {
		return false
	}
	two, four := int(v[0])*10+int(v[1]), 0
	for _, d := range v[:4] {
		four = four*10 + int(d)
	}
	switch n := len(v); {
	case v[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34, two == 37: // American Express
		return n == 15
	case two == 36, two == 38, two == 39, four >= 3000 && four <= 3059: // Diners Club
		return n == 14 || n == 16
	case four >= 3528 && four <= 3589: // JCB
		return n == 16
	case four == 6011, two == 65, four >= 6440 && four <= 6499: // Discover
		return n == 16
	case two == 62: // UnionPay
		return n >= 16
	case four == 5018, four == 5020, four == 5038, four == 5893, four == 6304, four == 6759, four >= 6761 && four <= 6763: // Maestro
		return n >= 13
	}
	return false
}

// isPhone says whether a number is written as phone numbers are (ITU-T E.164 has at most
// 15 digits), and not as dates, amounts or versions.
func (d *digits) isPhone(text string, at int) bool {
	if d.cut || d.count < 7 || d.count > 15 || text[at] != '+' && d.isDate() {
		return false
	}
	first := text[at]
	if first == '+' {
		return d.count >= 8 && d.value[0] != 0
	}
	if isOrdered(text[:at]) {
		return false
	}
	if asked := isAsked(text[:at]); asked {
		return true
	}
	switch {
	case first == '(':
		return d.count >= 8 && d.n > 1
	case d.value[0] == 0 && d.value[1] == 0:
		return d.count >= 10
	case d.value[0] == 0:
		return d.count >= 9 && d.count <= 12 && d.seps&byDot == 0 || d.count >= 10 && d.count <= 11 && d.n >= 4
	case d.count == 10 && d.n == 3 && d.groups[0] == 3 && d.groups[1] == 3: // 415-555-2671
		return true
	case d.count == 11 && d.value[0] == 1 && d.n == 4 && d.groups[0] == 1 && d.groups[1] == 3: // 1-415-555-2671
		return true
	case d.count == 10 && d.n == 2 && d.groups[0] == 5 && d.seps == bySpace: // 98765 43210
		return true
	case d.count == 11 && d.value[0] == 1 && d.value[1] >= 3 && (d.n == 1 || d.n == 3 && d.groups[0] == 3 && d.groups[1] == 4): // 138 1234 5678
		return true
	case d.count >= 10 && d.n == 3 && d.groups[0] == 2 && d.groups[1] >= 4 && d.groups[2] == 4 && d.seps&byDash != 0 && d.seps&byDot == 0: // 68 5324-2039
		return true
	case d.count == 9 && d.n == 4 && d.groups[0] == 3 && d.groups[1] == 2: // 612 34 56 78
		return true
	case d.n >= 2 && d.n <= 3 && d.seps&byParen != 0:
		return d.count >= 9
	}
	return false
}

// isDate says whether a number is a date, a range of years, or one of them with a time.
func (d *digits) isDate() bool {
	g := d.groups
	switch {
	case d.n >= 3 && g[0] == 4 && g[1] <= 2 && g[2] <= 2 && d.seps&byParen == 0 && d.value[0] <= 2 && d.value[0] >= 1:
		return true
	case d.n >= 3 && g[0] <= 2 && g[1] <= 2 && g[2] == 4 && d.seps&byParen == 0 && d.n <= 5 && d.seps != bySpace:
		return true
	case d.n == 2 && g[0] == 4 && g[1] == 4 && d.value[0] <= 2:
		return true
	}
	return false
}

// isAsked says whether the text before a number says that it is one to call.
func isAsked(before string) bool {
	return endsWithWord(before, "tel", "telefon", "phone", "telephone", "call", "mobile", "mobil", "handy", "cell", "fax", "whatsapp", "sms", "fon", "rufnummer", "téléphone", "teléfono", "telefono", "cellulare", "móvil", "portable", "telefone", "celular", "komórka", "numer", "電話", "电话", "फ़ोन", "फोन", "phone number", "call me at", "call me on", "reach me at", "reach me on", "us on", "us at", "dial", "ring", "contact", "kontakt", "contacto", "contatto", "contato",
		"number is", "nummer ist", "numéro est le", "número es", "numero è", "número é", "numer to", "anrufen", "appelez", "joignez-nous au", "llame al", "chiami il", "ligue para", "dzwonić")
}

// isOrdered says whether the text before a number says that it is something else.
func isOrdered(before string) bool {
	return endsWithWord(before, "order", "invoice", "ticket", "isbn", "sku", "id", "ref", "reference", "account", "case", "parcel", "tracking", "bestellung", "rechnung", "serial", "timestamp", "part", "article", "item", "no", "nr", "number", "order number", "commande", "facture", "pedido", "ordine", "fattura", "zamówienie", "faktura", "注文", "订单", "eur", "usd", "total")
}

// ipv6 returns the end of an address that begins at at, or at.
func (w *finder) ipv6(at, end int) int {
	to, colons, some := at, 0, false
	for to < end && to-at < 46 {
		c := w.text[to]
		switch {
		case c == ':':
			colons++
		case c >= '0' && c <= '9':
			some = true
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		case c == '.' && colons > 1:
		default:
			goto read
		}
		to++
	}
read:
	for to > at && (w.text[to-1] == '.' || w.text[to-1] == ':' && !strings.HasSuffix(w.text[at:to], "::")) {
		to--
	}
	if colons < 2 || !some || to-at < 4 || to < end && (classes[w.text[to]]&(isUpper|isLower|isDigit|isDash) != 0) {
		return at
	}
	if a, err := netip.ParseAddr(w.text[at:to]); err != nil || !a.Is6() {
		return at
	}
	return to
}
