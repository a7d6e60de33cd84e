package file

import (
	"slices"
	"strings"
)

// unknownKey says that a key is not known, with the nearest that is.
func unknownKey(name string, known []string) string {
	const text = "there is no such key"
	slices.Sort(known)
	best, least := "", 1+max(1, (len(name)+1)/3) // more changes than that are another word
	for _, k := range known {
		if d := distance(fold(name), fold(k)); d < least {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return text + "; did you mean " + best + "?"
	case len(known) == 0:
		return text
	}
	return text + "; there are " + strings.Join(known, ", ")
}

// fold drops what people mix up: upper case, _ and -.
func fold(name string) string {
	name = name[:min(len(name), 64)]
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// distance is how many bytes must be added, dropped or replaced to get b out of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
