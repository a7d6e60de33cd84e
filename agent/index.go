package agent

import "slices"

// fewKeys is up to how many keys an index is looked through. Most turns have a call
// or two, for which a map costs more to keep than it saves.
const fewKeys = 32

// index numbers different strings from 0, in the order in which they were added.
// The zero value is empty.
type index struct {
	keys []string
	at   map[string]int // where each key is; nil while there are few
}

// find returns the number of key, or -1.
func (x *index) find(key string) int {
	if x.at == nil {
		return slices.Index(x.keys, key)
	}
	if i, ok := x.at[key]; ok {
		return i
	}
	return -1
}

// add adds a key that is not there yet and returns its number.
func (x *index) add(key string) int {
	x.keys = append(x.keys, key)
	n := len(x.keys)
	switch {
	case x.at != nil:
		x.at[key] = n - 1
	case n > fewKeys:
		x.at = make(map[string]int, 2*n)
		for i, k := range x.keys {
			x.at[k] = i
		}
	}
	return n - 1
}
