package model

import (
	"slices"
	"strings"

	"sluice/config/file"
)

// fallback reads the keys of the models that answer in this one's place, and
// for which classes of failures. Whether the keys exist is checked once all
// models were read (checkFallbacks).
func (r *reader) fallback() {
	s := &r.spec
	s.Fallback = texts(r.node.Get("fallback"))
	s.FallbackOn = texts(r.node.Get("fallback_on"))
	if len(s.FallbackOn) == 0 {
		s.FallbackOn = DefaultFallbackOn()
	}
}

// texts returns the strings of a list. What is no string has been reported by
// the schema.
func texts(list *file.Node) (all []string) {
	for item := range list.Members() {
		if s, ok := item.Text(); ok {
			all = append(all, s)
		}
	}
	return all
}

// checkFallbacks reports names of models that are not there, and cycles, each once.
func checkFallbacks(models *file.Node) {
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
	told := map[string]bool{}
	for m := range models.Members() {
		if told[m.Name()] {
			continue
		}
		if cycle := way(next, m.Name(), m.Name(), map[string]bool{}); cycle != nil {
			for _, key := range cycle {
				told[key] = true
			}
			m.FaultKey("its fallbacks lead back to it: " + strings.Join(append(cycle, m.Name()), " → "))
		}
	}
}

// way returns the keys from from to before to, or nil if no way leads there.
func way(next map[string][]string, from, to string, seen map[string]bool) []string {
	if seen[from] {
		return nil
	}
	seen[from] = true
	if slices.Contains(next[from], to) {
		return []string{from}
	}
	for _, key := range next[from] {
		if rest := way(next, key, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}
