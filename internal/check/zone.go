package check

import (
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones by name must not depend on the machine's files
)

// maxZone is above the length of every name that IANA gave (32 characters).
const maxZone = 64

var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// Location returns the time zone of an IANA name. Refused are the names that mean
// another thing on each machine (Local, localtime, posixrules), the trees that a
// system's copy adds to IANA's (posix/, right/ with leap seconds), and paths that
// only happen to lead to a zone's file, such as ./UTC.
func Location(name string) (*time.Location, bool) {
	area, _, _ := strings.Cut(name, "/")
	switch area {
	case "Local", "localtime", "posixrules", "posix", "right":
		return nil, false
	}
	if len(name) > maxZone || !zoneName.MatchString(name) {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}
