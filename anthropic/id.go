package anthropic

import (
	"math/rand/v2"
	"strings"
)

// maxID is the longest id of a call that is taken as it is, in bytes. The API's have
// some thirty.
const maxID = 64

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// newID returns an id of nine letters and digits, which fits every protocol.
func newID() string {
	b := make([]byte, 9)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// fits says whether s has nothing but what the API takes in ids and names.
func fits(s string, longest int) bool {
	return s != "" && len(s) <= longest && strings.Trim(s, letters+"_-") == ""
}
