package file

import (
	"slices"
	"strings"

	"sluice/config"
)

// unknownKey says that a key is not known, with the nearest that is.
func unknownKey(name string, known []string) string { return Unknown("key", name, known) }

// Unknown says that there is no thing of that name, such as a key, with the nearest that
// there is, or all.
func Unknown(thing, name string, known []string) string {
	text := "there is no such " + thing
	slices.Sort(known)
	if best, ok := config.Nearest(name, known); ok {
		return text + "; did you mean " + best + "?"
	}
	if len(known) == 0 {
		return text
	}
	return text + "; there are " + strings.Join(known, ", ")
}
