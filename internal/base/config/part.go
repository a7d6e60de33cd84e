package config

import (
	"fmt"
	"maps"
	"reflect"
)

// Parts holds the settings of packages by their types. A setting that only one package knows is a
// field and a row there and needs no code here.
type Parts map[reflect.Type]any

// Format writes the number of parts, whatever the verb is. Their values may be secret, and with a
// wrong verb fmt would print them.
func (p Parts) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "[%d parts]", len(p)) }

// Bind returns c's part of type T, for a section to point into. The first call makes its
// zero value, every later one returns the same. T is a package's own Config, or a part
// of one. Copies of c share their parts: nothing may be written once Load has returned.
// It is not safe for concurrent use.
func Bind[T any](c *Config) *T {
	t := reflect.TypeFor[T]()
	if part, ok := c.Parts[t].(*T); ok {
		return part
	}
	if c.Parts == nil {
		c.Parts = Parts{}
	}
	part := new(T)
	c.Parts[t] = part
	return part
}

// Change gives c a part of type T as change leaves a copy of it. Copies of c keep theirs.
func Change[T any](c *Config, change func(*T)) {
	part := Of[T](c)
	change(&part)
	c.Parts = maps.Clone(c.Parts)
	if c.Parts == nil {
		c.Parts = Parts{}
	}
	c.Parts[reflect.TypeFor[T]()] = &part
}

// Of returns a copy of c's part of type T, which the program completes and passes to the package.
// Without a section that binds it, it is the zero value. It is safe for concurrent use once Load
// has returned.
func Of[T any](c *Config) (part T) {
	if p, ok := c.Parts[reflect.TypeFor[T]()].(*T); ok {
		part = *p
	}
	return part
}
