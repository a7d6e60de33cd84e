package redact

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// maxWithin is how deep JSON is looked for in strings of JSON.
const maxWithin = 4

// Payload is Text for a text that may be JSON, whole or cut: then it is JSON.
func (k Kinds) Payload(text string) string { return k.hidePayload(text, maxWithin) }

// hidePayload is Payload down to a depth.
func (k Kinds) hidePayload(text string, depth int) string {
	begin := strings.TrimLeft(text, " \t\r\n")
	if depth == 0 || begin == "" || begin[0] != '{' && begin[0] != '[' {
		return k.Text(text)
	}
	return string(k.hideJSON([]byte(text), depth))
}

// JSON is Text for the strings and numbers of JSON texts, and JSON for strings that are JSON
// themselves. The value of a member such as password or cookie becomes a Mark, whatever its kind
// is. Names of members stay. JSON remains JSON. From the first byte that is not JSON on, the rest
// is a Text.
func (k Kinds) JSON(text []byte) []byte { return k.hideJSON(text, maxWithin) }

// hideJSON is JSON down to a depth.
func (k Kinds) hideJSON(text []byte, depth int) []byte {
	clean, read, secret, err := k.rewriteJSON(text, depth)
	if err == nil {
		return clean
	}
	rest := string(text[read:])
	if secret && strings.Trim(rest, ": \"") != "" { // the value is cut
		return append(clean, `:"`+Mark+`"`...)
	}
	return append(clean, k.Text(rest)...)
}

// rewriteJSON copies text with the personal data in its strings and names replaced. An error means
// that text is not JSON from read on. clean is the rewritten text before that. secret is true if
// the value of a secret would have come next.
func (k Kinds) rewriteJSON(text []byte, depth int) (clean []byte, read int, secret bool, err error) {
	r := rewriter{kinds: k, depth: depth, text: text, dec: jsontext.NewDecoder(bytes.NewReader(text), lenient)}
	for err == nil {
		err = r.rewriteNext()
	}
	switch read = int(r.dec.InputOffset()); {
	case !errors.Is(err, io.EOF):
		return append(r.out, text[r.copied:read]...), read, r.secret, err
	case r.copied == 0:
		return text, len(text), false, nil
	}
	return append(r.out, text[r.copied:]...), len(text), false, nil
}

// rewriter copies a text of JSON into out, as far as copied.
type rewriter struct {
	kinds  Kinds
	depth  int
	dec    *jsontext.Decoder
	text   []byte
	out    []byte
	copied int
	secret bool // the name before was that of a secret
}

// rewriteNext reads a string, a number or the value of a secret, or a token of any other kind.
func (r *rewriter) rewriteNext() error {
	kind := r.dec.PeekKind()
	hidden := r.secret && kind != 'n' && kind != '}'
	if kind != '"' && kind != '0' && !hidden {
		_, err := r.dec.ReadToken()
		r.secret = r.secret && err != nil
		return err
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	plain := string(value)
	if kind == '"' {
		b, _ := jsontext.AppendUnquote(nil, value) // the decoder has checked it
		plain = string(b)
	}
	if isName(r.dec) {
		r.secret = secretMember(plain)
		return nil
	}
	clean := Mark
	if !hidden || plain == "" {
		clean = r.kinds.hidePayload(plain, r.depth-1)
	}
	if r.secret = false; clean != plain {
		end := int(r.dec.InputOffset())
		r.out, _ = jsontext.AppendQuote(append(r.out, r.text[r.copied:end-len(value)]...), clean) // it is UTF-8
		r.copied = end
	}
	return nil
}

// plainLetter returns the letter by which names are compared, or -1 for a character that does not
// count.
func plainLetter(r rune) rune {
	if r == '-' || r == '_' {
		return -1
	}
	return unicode.ToLower(r)
}

// secretMember reports whether the member of an object is a secret by its name. A number of tokens
// is not a secret.
func secretMember(name string) bool {
	name = strings.Map(plainLetter, name) // a Replacer costs more than all else that is looked for
	for _, word := range [...]string{"password", "passwd", "passphrase", "secret", "cookie", "authorization", "apikey", "privatekey", "accesskey", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	switch name {
	case "pwd", "cvv", "cvc", "pin", "otp":
		return true
	}
	return strings.HasSuffix(name, "token")
}
