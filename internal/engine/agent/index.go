package agent

// fewKeys is up to how many keys an index is looked through. Most turns have a call or two, and a
// map would cost more than it saves.
const fewKeys = 32

// index finds values by their keys. The zero value is empty.
type index[T any] struct {
	entries []entry[T]
	at      map[string]int // where each key is; nil while there are few
}

// entry is a value under its key. Keys are compared one by one, as a turn has few: that is faster
// than a map.
type entry[T any] struct {
	value T // first, as a value without size would cost space at the end
	key   string
}

// find returns the value of key, or nil. It is valid until the next add.
func (x *index[T]) find(key string) *T {
	if x.at != nil {
		if i, ok := x.at[key]; ok {
			return &x.entries[i].value
		}
		return nil
	}
	for i := range x.entries {
		if x.entries[i].key == key {
			return &x.entries[i].value
		}
	}
	return nil
}

// add returns a new value for a key that is not there yet.
func (x *index[T]) add(key string) *T {
	x.entries = append(x.entries, entry[T]{key: key})
	n := len(x.entries)
	switch {
	case x.at != nil:
		x.at[key] = n - 1
	case n > fewKeys:
		x.at = make(map[string]int, 2*n)
		for i := range x.entries {
			x.at[x.entries[i].key] = i
		}
	}
	return &x.entries[n-1].value
}
