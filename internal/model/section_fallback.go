package model

import (
	"slices"
	"strings"

	"sluice/internal/base/config/file"
)

// checkFallbacks reports names of missing models, and cycles, each once.
func checkFallbacks(models *file.Node) {
	next := readFallbacks(models)
	reported := map[string]bool{}
	for m := range models.Members() {
		if reported[m.Name()] {
			continue
		}
		if cycle := findPath(next, m.Name(), m.Name(), map[string]bool{}); cycle != nil {
			for _, key := range cycle {
				reported[key] = true
			}
			m.FaultKey("its fallbacks lead back to it: " + strings.Join(append(cycle, m.Name()), " → "))
		}
	}
}

// findPath returns the keys on a path from from to to, without to, or nil.
func findPath(next map[string][]string, from, to string, seen map[string]bool) []string {
	if seen[from] {
		return nil
	}
	seen[from] = true
	if slices.Contains(next[from], to) {
		return []string{from}
	}
	for _, key := range next[from] {
		if rest := findPath(next, key, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// readFallbacks returns the fallbacks of each model. It reports those that do not exist and leaves
// them out.
func readFallbacks(models *file.Node) map[string][]string {
	next := map[string][]string{}
	for m := range models.Members() {
		for item := range m.Get("fallback").Members() {
			key, ok := item.Text()
			switch {
			case !ok:
			case key != DefaultKey && !models.Has(key): // default is always there
				item.Fault("there is no such model")
			default:
				next[m.Name()] = append(next[m.Name()], key)
			}
		}
	}
	return next
}
