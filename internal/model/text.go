package model

import (
	"strings"
	"unicode/utf8"
)

// maxMessage is how much of a provider's own text an error shows, in bytes.
const maxMessage = 200

// Shorten cuts s to 200 bytes, at a code point, with a mark if that is not all.
func Shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Word returns s if it looks like a word of a protocol, such as an error's code, else
// "". Only such words are logged.
func Word(s string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	if len(s) > 64 || strings.Trim(s, letters) != "" {
		return ""
	}
	return s
}

// estimateTokens returns about how many tokens n bytes of a request or an answer are, where
// nobody has counted them.
func estimateTokens(n int) int { return (n + 3) / 4 }
