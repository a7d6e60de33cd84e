package chat

// Bounds limit a history by the number of its messages and by a length, whose unit the caller
// chooses.
type Bounds struct{ Messages, Length int }

// First returns the index of the first turn that stays, of n turns of these sizes, oldest first.
// Turns leave in blocks, so that the remaining history begins with the same bytes in turn after
// turn, as providers' caches need. The walk begins at the first turn. Whenever a bound is exceeded,
// the oldest turns leave until half of each bound holds. The walk depends on the turns alone. So a
// conversation with one more turn is cut at the same place, unless that turn exceeds a bound. The
// newest turn never leaves.
func (b Bounds) First(n int, size func(i int) (messages, length int)) (first int) {
	messages, length := 0, 0
	for i := range n {
		m, l := size(i)
		if messages, length = messages+m, length+l; messages <= b.Messages && length <= b.Length {
			continue
		}
		for first < i && (messages > b.Messages/2 || length > b.Length/2) {
			m, l := size(first)
			messages, length = messages-m, length-l
			first++
		}
	}
	return first
}
