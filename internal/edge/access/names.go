package access

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxUser is the length of a user in code points.
const maxUser = 256

// IsUser reports whether a credential may name this user: 1 to 256 code points without controls. A
// name of another form is refused and never cleaned, so that two names cannot become one.
func IsUser(s string) bool {
	return s != "" && len(s) <= maxUser*utf8.UTFMax && utf8.ValidString(s) &&
		utf8.RuneCountInString(s) <= maxUser && strings.IndexFunc(s, unicode.IsControl) < 0
}

// idChars are the characters of ids. An id does not begin with a mark.
const idChars = "abcdefghijklmnopqrstuvwxyz0123456789_-"

// IsID reports whether s can be the id of a tenant or of a class of limits.
func IsID(s string) bool {
	return s != "" && len(s) <= 64 && s[0] != '_' && s[0] != '-' && strings.Trim(s, idChars) == ""
}
