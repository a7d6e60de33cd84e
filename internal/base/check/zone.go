package check

import (
	"strings"
	"time"
	_ "time/tzdata" // time zones by name must not depend on the machine's files
)

// maxZone is above the length of every name that IANA gave (32 characters).
const maxZone = 64

// Location returns the time zone of an IANA name. It refuses names that differ between machines
// (Local, localtime, posixrules), and the trees that a system's copy adds to IANA's (posix/, right/
// with leap seconds). It also refuses paths that only happen to lead to a zone's file, such as
// ./UTC.
func Location(name string) (*time.Location, bool) {
	area, _, _ := strings.Cut(name, "/")
	switch area {
	case "Local", "localtime", "posixrules", "posix", "right":
		return nil, false
	}
	if len(name) > maxZone || !isZoneName(name) {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// isZoneName reports whether a text has the form of IANA's names: parts of letters, digits, "_",
// "+" and "-" with a slash between two, and a letter at the beginning. A path with points never has
// it.
func isZoneName(text string) bool {
	if text == "" || !isAlphanumeric(rune(text[0])) || text[0] <= '9' {
		return false
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("_+-", c) }) {
			return false
		}
	}
	return true
}
