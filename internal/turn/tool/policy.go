package tool

import (
	"maps"
	"slices"
	"time"
)

// Policy holds the operator's settings for a server's tools. It names tools as the server gives
// them. The zero value believes the server; no value is invalid. Tags are the keys of a
// configuration that says it.
type Policy struct {
	// ReadOnly, Idempotent and Destructive name tools that are so, whatever the
	// server's own annotations say. A tool that is read-only is not destructive, and
	// the other way round; one that is in both lists is destructive.
	ReadOnly    []string `key:"readOnly"`
	Idempotent  []string `key:"idempotent"`
	Destructive []string `key:"destructive"`
	// Untrusted ignores the server's own annotations. A tool that no list names gets the defaults
	// of MCP for tools without annotations.
	Untrusted bool `key:"trust" is:"false"`
	// Fallback lists, by tool, the tools to call if this server is unavailable, in the order of the
	// attempts. An entry is "<server>/<tool>", or "<tool>" for the first other server that offers
	// it, or else this one. An empty name stands for no fallback.
	Fallback map[string][]string `key:"fallback"`
	// Cache says, by tool, for how long results are kept, of tools that are read-only;
	// CacheShared that those of one user serve all.
	Cache       map[string]time.Duration
	CacheShared bool `key:"cache_shared"`
	// Confirm says of tools, whatever they do, whether a person must allow their calls.
	Confirm map[string]Confirm `key:"confirm"`
}

// Override changes the server's annotations a of the named tool to those that the policy sets.
func (p Policy) Override(name string, a *Annotations) {
	if slices.Contains(p.ReadOnly, name) {
		a.ReadOnly, a.Destructive = true, false
	}
	if slices.Contains(p.Destructive, name) {
		a.ReadOnly, a.Destructive = false, true
	}
	if slices.Contains(p.Idempotent, name) {
		a.Idempotent = true
	}
}

// Named returns the tools that p says something of, by the key of the configuration
// that does so. Whether its server has them, the policy does not know.
func (p Policy) Named() map[string][]string {
	return map[string][]string{
		"readOnly": p.ReadOnly, "idempotent": p.Idempotent, "destructive": p.Destructive,
		"fallback": slices.Sorted(maps.Keys(p.Fallback)), "cache": slices.Sorted(maps.Keys(p.Cache)),
		"confirm": slices.Sorted(maps.Keys(p.Confirm)),
	}
}
