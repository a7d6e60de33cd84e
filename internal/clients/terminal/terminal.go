// Package terminal helps commands to print for a person: it detects a terminal, and has colours,
// texts that cannot steer a terminal, and figures in words.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Style holds the escape sequences of a terminal; all empty without one.
type Style struct{ Dim, Bold, Italic, Red, Green, Yellow, Struck, Reset string }

// StyleFor follows no-color.org.
//
// NO_COLOR counts with any value but the empty one.
func StyleFor(out io.Writer, lookup func(string) (string, bool)) Style {
	if !IsTerminal(out) {
		return Style{}
	}
	if v, _ := lookup("NO_COLOR"); v != "" {
		return Style{}
	}
	return Style{Dim: "\x1b[2m", Bold: "\x1b[1m", Italic: "\x1b[3m", Red: "\x1b[31m", Green: "\x1b[32m", Yellow: "\x1b[33m", Struck: "\x1b[9m", Reset: "\x1b[0m"}
}

// IsTerminal reports whether a reader or writer is a character device, most likely a terminal.
//
// /dev/null is a character device too and counts as one, without harm.
func IsTerminal(stream any) bool {
	if t, ok := stream.(interface{ IsTerminal() bool }); ok { // of a test
		return t.IsTerminal()
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Columns returns the number of characters for a line on out: the terminal's, from 40 to 120, since
// longer lines are hard to read. It is otherwise without a terminal.
func Columns(out io.Writer, otherwise int) int {
	f, ok := out.(*os.File)
	if !ok {
		return otherwise
	}
	if n := columnsOf(f); n > 0 {
		return min(max(n, 40), 120)
	}
	return otherwise
}

const zeroWidthJoiner = '\u200d' // holds emoji together

// Printable keeps the texts of others from steering the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if isHarmless(r) {
			return r
		}
		return -1
	}, s)
}

// isHarmless reports whether a terminal shows r and does not obey it.
//
// The joiner is let through for the sake of emojis; marks that turn the direction of text
// are not printable and go.
func isHarmless(r rune) bool {
	return r == '\n' || r == '\t' || r == zeroWidthJoiner || unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
}

// PrintableJSON is Printable for a JSON value without a loss: characters that steer a terminal can
// only be in a string, and are escaped.
func PrintableJSON(value []byte) []byte {
	dst := make([]byte, 0, len(value)+1)
	for _, r := range string(value) {
		if isHarmless(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}

// Millis writes milliseconds as a duration.
func Millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// SMSFigures returns the size of an SMS in words.
func SMSFigures(encoding string, units, segments int) string {
	noun := "segments"
	if segments == 1 {
		noun = "segment"
	}
	return fmt.Sprintf("%s, %d units, %d %s", encoding, units, segments, noun)
}
