package config

import (
	"slices"
	"strings"
)

// variablePrefix begins the name of each variable that is ours alone.
const variablePrefix = "SLUICE_"

// reportUnknown reports the variables of environ that look like ours but that no setting reads.
// Otherwise a mistyped one would be ignored silently, and some of them, such as SLUICE_CONFIRM,
// guard writes. No value is repeated.
func (r *reader) reportUnknown(environ []string, settings []Setting, c *Config) {
	known := r.secretNames(settings)
	for _, s := range settings {
		known = append(known, s.Variable, s.second)
	}
	for _, name := range unknownIn(environ, known) {
		message := "there is no such variable"
		if best, ok := Nearest(name, known); ok {
			message += "; did you mean " + best + "?"
		}
		if c.Strict {
			r.addFault(name, message)
		} else {
			c.Warnings = append(c.Warnings, name+": "+message)
		}
	}
}

// Nearest returns the one of known names that name most likely means. Upper case, _ and - do not
// count, and up to a third of its letters may be wrong. ok is false if no name is near.
func Nearest(name string, known []string) (best string, ok bool) {
	least := 1 + max(1, (min(len(name), 64)+1)/3) // more changes than that are another word
	for _, k := range known {
		if d := editDistance(foldName(name), foldName(k)); d < least {
			best, least = k, d
		}
	}
	return best, best != ""
}

// foldName drops upper case, _ and -, which people mix up.
func foldName(name string) string {
	name = name[:min(len(name), 64)]
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// unknownIn returns the names of environ that look like ours and are not known, sorted.
func unknownIn(environ, known []string) (unknown []string) {
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// editDistance is how many bytes must be added, dropped, replaced, or exchanged with their
// neighbor to get b out of a (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
