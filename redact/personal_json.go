package redact

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is Text for the strings and numbers of JSON texts. What the value of a member like
// password or cookie is becomes a Mark, whatever it is. Names of members stay. What was
// JSON is JSON afterwards; what was none is treated as a Text.
func (k Kinds) JSON(text []byte) []byte {
	clean, err := k.rewrite(text)
	if err != nil {
		return []byte(k.Text(string(text)))
	}
	return clean
}

// rewrite copies text with what is personal in its strings and names replaced.
// An error means that text was no JSON.
func (k Kinds) rewrite(text []byte) ([]byte, error) {
	var out []byte
	copied := 0 // how much of text is in out
	replace := func(dec *jsontext.Decoder, old jsontext.Value, with string) {
		end := int(dec.InputOffset())
		out, _ = jsontext.AppendQuote(append(out, text[copied:end-len(old)]...), with) // it is UTF-8
		copied = end
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text), lenient)
	secret := false // the value that comes next is one
	for {
		kind := dec.PeekKind()
		hidden := secret && kind != 'n' && kind != '}'
		if kind != '"' && kind != '0' && !hidden {
			_, err := dec.ReadToken()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			secret = false
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		plain := string(value)
		if kind == '"' {
			b, _ := jsontext.AppendUnquote(nil, value) // the decoder has checked it
			plain = string(b)
		}
		switch {
		case isName(dec):
			secret = secretMember(plain)
			continue
		case hidden && plain != "" && plain != Mark:
			replace(dec, value, Mark)
		default:
			if clean := k.Text(plain); clean != plain {
				replace(dec, value, clean)
			}
		}
		secret = false
	}
	if copied == 0 {
		return text, nil
	}
	return append(out, text[copied:]...), nil
}

// plainLetter returns the letter by which names are compared, -1 for what is left out of them.
func plainLetter(r rune) rune {
	if r == '-' || r == '_' {
		return -1
	}
	return unicode.ToLower(r)
}

// secretMember says whether the member of an object is a secret by its name. A number of
// tokens is none.
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
