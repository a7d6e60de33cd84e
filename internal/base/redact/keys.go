package redact

import (
	"regexp"
	"strings"
)

// certain matches the form of Google's keys, and a key in a URL's query.
var certain = regexp.MustCompile(`AIza[0-9A-Za-z_-]{20,}|([?&]key=)[^&\s"]+`)

// Keys hides keys by their form: those of Google, and key= in the query of a URL. It is for a text
// in which ordinary words must stay.
func Keys(text string) string { return certain.ReplaceAllString(text, "${1}"+Mark) }

// likely matches a possible key or token: by the word before it, by the form of Google's keys, or
// by its length.
var likely = regexp.MustCompile(`(?i)((?:key|token|secret|password)["']?\s*[:=]\s*["']?|bearer\s+)[^\s"',;]{4,}|AIza[\w-]+|[\w-]{32,}`)

// KeyLike hides possible keys and tokens, and some harmless words with them. It is for a text of an
// upstream's, of which little is shown. A long word without a digit is a name, and stays.
func KeyLike(text string) string {
	return likely.ReplaceAllStringFunc(text, func(match string) string {
		if words := likely.FindStringSubmatch(match); words[1] != "" || strings.ContainsAny(match, "0123456789") {
			return words[1] + Mark
		}
		return match
	})
}

// secretName is a part of the names that secrets usually have.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth|private`)

// SecretName reports whether a header or variable of that name holds a secret. Others hold such
// things as a time zone or a level.
func SecretName(name string) bool { return secretName.MatchString(name) }
