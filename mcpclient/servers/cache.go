package servers

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// How long the results of a tool may be kept.
const (
	minCache = time.Second
	maxCache = 5 * time.Minute
)

// cache reads an object of durations, by tool.
func (f *reader) cache(at jsontext.Pointer, v jsontext.Value) map[string]time.Duration {
	if v.Kind() != '{' {
		f.fault(at, `must be an object of durations, such as {"search": "1m"}`)
		return nil
	}
	all := make(map[string]time.Duration)
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		if m.name == "" {
			f.fault(at, "must not be empty")
		}
		d := f.timeout(at, m.value) // 0: it was refused
		if d != 0 && (d < minCache || d > maxCache) {
			f.fault(at, "must be from 1s to 5m")
		}
		all[m.name] = d
	}
	return all
}
