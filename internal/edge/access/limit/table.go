package limit

import "hash/maphash"

// key is a hash of a subject's names, with secrets of the process: a client cannot choose names
// that collide.
type key [2]uint64

// entry is the state of one subject. The lock of its Limiter guards it.
type entry struct {
	tats [levels]int64 // by gcra
	key  key
	of   rated
	// anybody is true for a subject without a credential.
	anybody bool
	// lastRest is the result of restsAt at the last look. The entry is never at rest before that.
	lastRest int64
	// turns and watchers run now. An entry of a class has zeros: the entry without a class counts
	// its streams, so that a second credential does not double them.
	turns, watchers int32
	// pins counts the requests that hold the entry, with or without a running stream.
	pins int32
	shared
}

// rated says by which plan the levels of an entry are counted.
type rated struct {
	slot   slot
	tenant string
	class  string // of the plan; empty: that of everybody in the slot
}

// busyFor is how long an entry with running streams counts as in use before it is looked at
// again.
const busyFor = int64(60e9)

// restsAt returns the time at which all charges have drained and no stream runs, as an estimate.
func (e *entry) restsAt(now int64) (at int64) {
	for _, tat := range e.tats {
		at = max(at, tat)
	}
	if e.inUse() {
		at = max(at, now+busyFor)
	}
	return at
}

// level returns the current level of a resource. It changes nothing. It works on nil.
func (e *entry) level(g *gcra, w resource, now int64) int64 {
	if e == nil {
		return 0
	}
	return g.levelAt(e.tats[w], now)
}

// cutLevels lowers levels to the highest that a plan can make. p may be nil. It is for rules that
// have changed, and for nothing else: two plans at a time would give each other's levels back.
func (e *entry) cutLevels(p *plan, now int64) {
	for w := range e.tats {
		if p != nil && p.rates[w].isSet() {
			e.tats[w] = min(e.tats[w], now+p.rates[w].window+p.rates[w].debt)
		}
	}
}

// inUse reports whether forgetting the entry would lose more than levels.
func (e *entry) inUse() bool {
	return e.turns > 0 || e.watchers > 0 || e.pins > 0 || e.hasUnpublished()
}

// table has the entries, few more than most. It forgets entries at rest first, which loses nothing.
// Next are addresses, since a client can have many, and then users and tenants. Each time the entry
// nearest to rest goes.
type table struct {
	most    int
	entries map[key]*entry
	seeds   [2]maphash.Seed
	// queues are heaps by rest: of addresses, and of all others.
	queues [2]queue
}

func newTable(most int) table {
	return table{most: most, entries: map[key]*entry{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// keyOf returns the key of a subject in a slot, without a class.
func (t *table) keyOf(s slot, who *Subject) key { return t.keyIn(s, who, "") }

// keyIn returns the key of a subject in a slot, by the plan of a class.
func (t *table) keyIn(s slot, who *Subject, class string) (k key) {
	for i, seed := range t.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		_ = h.WriteByte(byte(s))
		if s != addressSlot {
			_ = h.WriteByte(byte(len(who.Tenant)))
			_, _ = h.WriteString(who.Tenant)
		}
		switch {
		case isAnybody(s, who):
			address := who.Address.Addr().As16()
			_, _ = h.Write(address[:])
		case s == userSlot:
			_ = h.WriteByte(1)
			_, _ = h.WriteString(who.User)
		}
		if class != "" {
			_ = h.WriteByte(0) // a byte that user names never contain
			_, _ = h.WriteString(class)
		}
		k[i] = h.Sum64()
	}
	return k
}

// isAnybody reports whether a subject counts as its address in a slot.
func isAnybody(s slot, who *Subject) bool {
	return s == addressSlot || s == userSlot && who.User == ""
}

// findEntry returns the entry by the plan of a class, or nil.
func (t *table) findEntry(s slot, who *Subject, class string) *entry {
	return t.entries[t.keyIn(s, who, class)]
}

// findOrMake returns an entry by the plan of a class, a new one if need be.
func (t *table) findOrMake(s slot, who *Subject, class string, now int64) (e *entry, fresh bool) {
	k := t.keyIn(s, who, class)
	if e := t.entries[k]; e != nil {
		return e, false
	}
	if len(t.entries) >= t.most {
		t.forgetOne(now)
	}
	e = &entry{key: k, of: rated{s, who.Tenant, class}, anybody: isAnybody(s, who), lastRest: now}
	t.entries[k] = e
	t.queueOf(e).add(e)
	return e, true
}

func (t *table) queueOf(e *entry) *queue {
	if e.anybody {
		return &t.queues[0]
	}
	return &t.queues[1]
}

// forgetOne removes one entry, if there is one that may be removed.
func (t *table) forgetOne(now int64) {
	var next [2]*entry
	for i := range t.queues {
		if next[i] = t.queues[i].next(now); next[i] != nil && next[i].lastRest <= now {
			t.dropTop(next[i])
			return
		}
	}
	for _, e := range next {
		if e != nil && !e.inUse() {
			t.dropTop(e)
			return
		}
	}
}

// dropTop removes the entry that is the next of its queue.
func (t *table) dropTop(e *entry) {
	t.queueOf(e).remove()
	delete(t.entries, e.key)
}

// queue is a heap of entries, the one that is at rest first on top.
type queue []*entry

func (q *queue) add(e *entry) {
	*q = append(*q, e)
	for i := len(*q) - 1; i > 0; {
		parent := (i - 1) / 2
		if (*q)[parent].lastRest <= (*q)[i].lastRest {
			return
		}
		(*q)[parent], (*q)[i] = (*q)[i], (*q)[parent]
		i = parent
	}
}

// remove removes the top.
func (q *queue) remove() {
	last := len(*q) - 1
	(*q)[0] = (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	q.sink()
}

// sink moves the top to its place.
func (q *queue) sink() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(*q); child++ {
			if (*q)[child].lastRest < (*q)[least].lastRest {
				least = child
			}
		}
		if least == i {
			return
		}
		(*q)[i], (*q)[least] = (*q)[least], (*q)[i]
		i = least
	}
}

// next returns the entry that is at rest first, or nil from an empty queue. Charges since the last
// look move an entry only now: charging itself does not touch the queue.
func (q *queue) next(now int64) *entry {
	for len(*q) > 0 {
		top := (*q)[0]
		rest := top.restsAt(now)
		if rest <= top.lastRest {
			return top
		}
		top.lastRest = rest
		q.sink()
		if (*q)[0] == top {
			return top
		}
	}
	return nil
}
