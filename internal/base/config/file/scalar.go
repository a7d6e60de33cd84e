package file

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The forms are those of YAML 1.2.2, section 10.3.2. Any other text is a string, also 1_000, yes
// and off, which older versions read otherwise.

// floatForm matches a decimal number, whole ones included.
var floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// isInteger reports whether a text is digits, after a sign or none.
func isInteger(text string) bool {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// isBased reports whether a text is an octal number, 0o17, or a hexadecimal one, 0xff. Both are
// without a sign.
func isBased(text string) bool {
	if digits, ok := strings.CutPrefix(text, "0o"); ok {
		return digits != "" && strings.Trim(digits, "01234567") == ""
	}
	digits, ok := strings.CutPrefix(text, "0x")
	return ok && digits != "" && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

// isEndless reports whether a text is infinity or no number (NaN), which JSON cannot hold.
func isEndless(text string) bool {
	switch strings.TrimLeft(text, "+-") {
	case ".inf", ".Inf", ".INF":
		return len(text) <= len("-.inf")
	}
	return text == ".nan" || text == ".NaN" || text == ".NAN"
}

// resolveScalar returns the kind of a scalar without quotes. value is the JSON text of a number or
// a boolean.
func resolveScalar(text string) (k kind, value, fault string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nullKind, "", ""
	case "true", "True", "TRUE":
		return boolKind, "true", ""
	case "false", "False", "FALSE":
		return boolKind, "false", ""
	}
	if c := text[0]; c != '.' && c != '-' && c != '+' && (c < '0' || c > '9') {
		return stringKind, text, ""
	}
	switch {
	case isBased(text), floatForm.MatchString(text):
		if len(text) > maxNumber {
			return numberKind, "0", "is a number of too many digits"
		}
		return parseNumber(text)
	case isEndless(text):
		return numberKind, "0", "must be a finite number"
	}
	return stringKind, text, ""
}

// decimalText writes an integer as JSON does: without a plus and leading zeros.
func decimalText(text string) string {
	digits := strings.TrimLeft(text, "+-0")
	switch {
	case digits == "":
		return "0"
	case text[0] == '-':
		return "-" + digits
	}
	return digits
}

// parseNumber reads a number of YAML's core schema and makes JSON of it. fault describes a number
// that JSON cannot express.
func parseNumber(text string) (k kind, value, fault string) {
	switch {
	case isBased(text):
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return numberKind, "0", "is a number of too many digits"
		}
		return numberKind, strconv.FormatUint(n, 10), ""
	case isInteger(text):
		return numberKind, decimalText(text), ""
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return numberKind, "0", "must be a finite number"
	}
	return numberKind, strconv.FormatFloat(f, 'g', -1, 64), ""
}
