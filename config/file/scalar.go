package file

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The forms of YAML 1.2.2, section 10.3.2. What looks like none of them is a string,
// 1_000, yes and off among them, which older versions read otherwise.
var (
	integerForm = regexp.MustCompile(`^[-+]?[0-9]+$`)
	basedForm   = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	floatForm   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	endlessForm = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// resolve says what a scalar without quotes is. value is the JSON text of a number or a
// boolean.
func resolve(text string) (k kind, value, fault string) {
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
	case integerForm.MatchString(text), basedForm.MatchString(text), floatForm.MatchString(text):
		if len(text) > maxNumber {
			return numberKind, "0", "is a number of too many digits"
		}
		return number(text)
	case endlessForm.MatchString(text):
		return numberKind, "0", "must be a finite number"
	}
	return stringKind, text, ""
}

// number reads what YAML's core schema takes for a number, and makes JSON of
// it. fault says what is wrong with one that JSON has no form for.
func number(text string) (k kind, value, fault string) {
	switch {
	case basedForm.MatchString(text):
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return numberKind, "0", "is a number of too many digits"
		}
		return numberKind, strconv.FormatUint(n, 10), ""
	case integerForm.MatchString(text):
		sign := ""
		if text[0] == '-' {
			sign = "-"
		}
		digits := strings.TrimLeft(text, "+-0")
		if digits == "" {
			return numberKind, "0", ""
		}
		return numberKind, sign + digits, ""
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return numberKind, "0", "must be a finite number"
	}
	return numberKind, strconv.FormatFloat(f, 'g', -1, 64), ""
}
