package access

// Recent is a map of bounded size. The entry that was used last is forgotten last, within one half
// of the size. It is not safe for concurrent use; NewRecent makes one.
type Recent[K comparable, V any] struct {
	half       int
	young, old map[K]V
}

// NewRecent returns a map of at most so many entries. most must be 2 or more.
func NewRecent[K comparable, V any](most int) *Recent[K, V] {
	return &Recent[K, V]{half: most / 2, young: map[K]V{}}
}

// Get returns a value, which counts as used.
func (r *Recent[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = r.young[key]; ok {
		return value, true
	}
	if value, ok = r.old[key]; ok {
		delete(r.old, key)
		r.Put(key, value)
	}
	return value, ok
}

// Put sets a value. If the map is full, Put drops the half that was used least recently.
func (r *Recent[K, V]) Put(key K, value V) {
	delete(r.old, key)
	if _, ok := r.young[key]; !ok && len(r.young) >= r.half {
		r.old, r.young = r.young, make(map[K]V, r.half)
	}
	r.young[key] = value
}

// Delete removes a value.
func (r *Recent[K, V]) Delete(key K) {
	delete(r.young, key)
	delete(r.old, key)
}

// Len returns how many entries there are.
func (r *Recent[K, V]) Len() int { return len(r.young) + len(r.old) }
