package limit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// Sharing configures how limits hold beyond this process and its life. With its zero value they do
// not.
type Sharing struct {
	// Store keeps the charges; nil without a store.
	Store store.Rates
	// Holder is this process in the store. Its counts hold as long as it has its lease.
	Holder store.Holder
	// Alone is true if this is the only process that counts. The store then keeps only tokens, over
	// a restart.
	Alone bool
}

// The publisher sends unpublished counts and charges to the store. It does so at once if a stream
// has ended, else after publishEvery, and retries after publishEvery.
const (
	publishEvery = time.Second
	// publishPause is how long it waits for more to say.
	publishPause = 2 * time.Millisecond
	publishMost  = 32 // subjects of one command
	// recount is how often the counts of streams that run are written again, long before
	// store.KeepCount.
	recount = 10 * time.Minute
)

// shared is the part of an entry that a store keeps.
type shared struct {
	name string // of its keys; empty: nothing was asked of the store
	plan *plan  // the last one that tokens were charged by
	// The counts that the store has.
	publishedTurns, publishedWatchers int32
	publishedSeq                      int64
	queued                            bool  // for the publisher
	owed                              int64 // tokens that the store does not know of
	refunded                          int64 // requests that were given back
	ahead                             bool  // something was charged without the store
}

// hasUnpublished reports whether the store does not know all of it.
func (e *entry) hasUnpublished() bool {
	return e.name != "" && (e.owed > 0 || e.refunded > 0 || e.turns != e.publishedTurns || e.watchers != e.publishedWatchers)
}

// markPublished records the counts that the store has now, unless it has learned later ones
// meanwhile.
func (e *entry) markPublished(p published) {
	if p.seq >= e.publishedSeq {
		e.publishedTurns, e.publishedWatchers, e.publishedSeq = p.turns, p.watchers, p.seq
	}
}

// isOverstated reports whether the store has higher counts than the process. A refused stream was
// sent in one command with others. The higher counts keep other requests out until they are
// corrected.
func (e *entry) isOverstated() bool {
	return e.publishedTurns > e.turns || e.publishedWatchers > e.watchers
}

// sharing is the Limiter's part of it.
type sharing struct {
	Sharing
	log zerolog.Logger
	// wake lets the publisher look; done ends it, and ended is closed when it has ended.
	wake, done, ended chan struct{}
	closing           sync.Once

	// The Limiter's lock guards the fields below.
	queue []*entry
	seq   int64 // numbers the counts that are sent
	lost  bool  // the store was unavailable when it was asked last
	retry int64 // when a call of a model asks the store again that was lost
}

// isShared reports whether the store counts for all; hasStore, whether it keeps anything.
func (s *sharing) isShared() bool { return s.Store != nil && !s.Alone }

func (s *sharing) hasStore() bool { return s.Store != nil }

// startPublisher begins the publisher.
func (l *Limiter) startPublisher() {
	s := &l.sharing
	if !s.hasStore() {
		return
	}
	s.wake, s.done, s.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	// Goroutine (publish): writes ended streams and their costs to the store.
	// Ends: `Close`.
	// Waits: `Close`.
	go l.runPublisher()
}

// Close publishes all pending counts and charges, and ends the publisher. It may be called again.
func (l *Limiter) Close() {
	if l == nil || !l.hasStore() {
		return
	}
	l.closing.Do(func() { close(l.done) })
	<-l.ended
}

// runPublisher is the publisher.
func (l *Limiter) runPublisher() {
	defer close(l.ended)
	again, fresh := time.NewTicker(publishEvery), time.NewTicker(recount)
	defer again.Stop()
	defer fresh.Stop()
	for {
		select {
		case <-l.done:
			l.publish(context.Background())
			return
		case <-l.wake:
			pause := time.NewTimer(publishPause)
			select {
			case <-pause.C:
			case <-l.done:
				pause.Stop()
			}
		case <-again.C:
		case <-fresh.C:
			l.recountRunning()
		}
		l.publish(context.Background())
	}
}

// recountRunning queues all that runs, as the store forgets counts that nobody writes.
func (l *Limiter) recountRunning() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.table.entries {
		if e.turns+e.watchers > 0 { // never of one with a class
			l.rewriteCounts(e)
		}
	}
	for _, n := range l.lanes {
		if n.turns > 0 {
			l.rewriteCounts(&n.entry)
		}
	}
}

// hasClass reports whether the entry is that of a class, whose streams another one counts.
func (e *entry) hasClass() bool { return e.of.slot == userSlot && e.of.class != "" }

// enqueueBoth has the publisher write the entries of a limit. The caller must hold mu.
func (l *Limiter) enqueueBoth(at *appliedLimit, atOnce bool) {
	l.enqueue(at.e, atOnce)
	if at.run != at.e {
		l.enqueue(at.run, atOnce)
	}
}

// enqueue has the publisher write an entry. The caller must hold mu.
func (l *Limiter) enqueue(e *entry, atOnce bool) {
	if !e.hasUnpublished() {
		return
	}
	if !e.queued {
		e.queued, l.queue = true, append(l.queue, e)
	}
	if atOnce {
		select {
		case l.wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// published is the state of an entry in a command to the store.
type published struct {
	e               *entry
	turns, watchers int32
	seq             int64 // of its count
}

// publish sends the queued entries. A charge is sent once: if the answer is lost, the charge may
// have arrived, and this process still counts it. Counts are true whenever they arrive, so they are
// sent until they have.
func (l *Limiter) publish(ctx context.Context) {
	for {
		c, sent, more := l.nextCommand()
		if len(sent) == 0 {
			if more {
				continue
			}
			return
		}
		var err error
		if len(c.Levels)+len(c.Counts) > 0 {
			_, err = l.Store.ChargeRates(ctx, c)
		}
		l.finishPublish(sent, err)
		if err != nil {
			return
		}
	}
}

// collectDebts appends the tokens that the entry owes the store, and the requests that it gets back.
func (e *entry) collectDebts(list []store.Level) []store.Level {
	if e.owed > 0 && e.plan != nil {
		list = append(list, e.plan.levelsOf(e.name, int(e.owed))...)
		e.owed = 0
	}
	if p := e.plan; e.refunded > 0 && p != nil && p.rates[requests].isSet() {
		level := p.rates[requests].storedLevel(levelKey(e.name, requests))
		level.Cost = -time.Duration(e.refunded * p.rates[requests].one)
		list = append(list, level)
	}
	e.refunded = 0
	return list
}

// nextCommand returns the next command of the publisher, the state that it publishes, and whether
// more entries are queued.
func (l *Limiter) nextCommand() (c store.Charge, sent []published, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c = store.Charge{Holder: l.Holder, Owed: true}
	n := min(len(l.queue), publishMost)
	for _, e := range l.queue[:n] {
		if e.queued = false; !e.hasUnpublished() {
			continue // another command has published it
		}
		c.Levels = e.collectDebts(c.Levels)
		if !l.Alone && !e.hasClass() {
			c.Counts = append(c.Counts, l.countOf(e))
		}
		sent = append(sent, published{e, e.turns, e.watchers, l.seq})
	}
	l.queue = slices.Delete(l.queue, 0, n)
	return c, sent, len(l.queue) > 0
}

// finishPublish records how a command of the publisher ended.
func (l *Limiter) finishPublish(sent []published, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recordStoreState(err)
	for _, p := range sent {
		if err == nil || l.Alone {
			p.e.markPublished(p)
			continue
		}
		l.rewriteCounts(p.e)
	}
}

// recordStoreState records whether the store answers. The caller must hold mu.
func (l *Limiter) recordStoreState(err error) {
	lost := err != nil
	if lost && !l.lost && l.isShared() {
		l.log.Warn().Dict("details", zerolog.Dict().AnErr("error", err)).Msg("limits_local")
	}
	l.lost = lost
}

// countOf returns the running streams of an entry, with the next sequence number. The caller must
// hold mu.
func (l *Limiter) countOf(e *entry) store.Count {
	l.seq++
	return store.Count{Key: countKey(e.name), Turns: int(e.turns), Watchers: int(e.watchers), Seq: l.seq}
}

// levelsOf returns the charges of n tokens.
func (p *plan) levelsOf(name string, n int) (all []store.Level) {
	for w := tokens; w < levels; w++ {
		if g := &p.rates[w]; g.isSet() {
			l := g.storedLevel(levelKey(name, w))
			if n > 0 {
				l.Cost = time.Duration(g.cost(n))
			}
			all = append(all, l)
		}
	}
	return all
}

// storedLevel returns a rate as a store keeps it, of which nothing is asked.
func (g *gcra) storedLevel(key string) store.Level {
	return store.Level{Key: key, Window: time.Duration(g.window), Debt: time.Duration(g.debt)}
}

// Keys of a subject in the store, whose name is a hash.
func levelKey(name string, w resource) string { return name + resourceNames[w][1:] }
func countKey(name string) string             { return name + "running" }

// storeName returns the beginning of a subject's keys in the store, by the plan of a class.
func (t *appliedLimit) storeName(who *Subject, class string) string {
	switch {
	case class != "":
		address := ""
		if isAnybody(t.slot, who) {
			address = who.Address.String()
		}
		return store.RateKey("", slotNames[t.slot], who.Tenant, who.User, address, class)
	case isAnybody(t.slot, who):
		return store.RateKey("", slotNames[t.slot], who.Tenant, "", who.Address.String())
	case t.slot == userSlot:
		return store.RateKey("", slotNames[t.slot], who.Tenant, who.User)
	case t.slot == tenantSlot:
		return store.RateKey("", slotNames[t.slot], who.Tenant)
	}
	return store.RateKey("", slotNames[t.slot])
}

// chargeFor returns the charge of a request for the store, and the counts in it. The caller must
// hold mu: the counts include the request already.
func (l *Limiter) chargeFor(t *appliedLimits, kind Kind) (c store.Charge, counted []published) {
	c.Holder = l.Holder
	for i := range t.n {
		at := &t.list[i]
		e, run, of := at.e, at.run, 0
		if at.countsStreams(kind) {
			count := l.countOf(run)
			count.Most = int(at.streams)
			c.Counts = append(c.Counts, count)
			counted = append(counted, published{run, run.turns, run.watchers, count.Seq})
			of = len(c.Counts)
		}
		w := rateOf(kind)
		if g := at.rateFor(w); g != nil {
			level := g.storedLevel(levelKey(e.name, w))
			level.Cost, level.Need = time.Duration(g.one), time.Duration(g.one)
			c.Levels = append(c.Levels, level)
		}
		if kind&Running == 0 {
			continue
		}
		for w := tokens; w < levels; w++ {
			if g := &at.rates[w]; g.isSet() {
				level := g.storedLevel(levelKey(e.name, w))
				level.Need, level.Of = time.Duration(max(at.reserve[w], 1)), of
				c.Levels = append(c.Levels, level)
			}
		}
	}
	return c, counted
}

// countsStreams reports whether the store counts the stream of a request.
func (at *appliedLimit) countsStreams(kind Kind) bool {
	return kind&(Running|Watching) != 0 && (at.streams > 0 || at.plan.tokens)
}

// learnCharge takes over the store's answer to the charge of chargeFor. Charges that this process
// made without the store stay, and the request's charge is added to them. Tokens on their way to
// the store stay as well. The caller must hold mu.
func (l *Limiter) learnCharge(t *appliedLimits, kind Kind, c *store.Charge, r *store.Charged, now int64) {
	levelsOf, countsOf := r.Levels, r.Counts
	grow := func(e *entry, w resource) {
		e.tats[w] = max(e.tats[w], now+int64(levelsOf[0]))
		levelsOf = levelsOf[1:]
	}
	for i := range t.n {
		at := &t.list[i]
		if at.countsStreams(kind) {
			own := &c.Counts[len(c.Counts)-len(countsOf)]
			at.others = store.Running{Turns: countsOf[0].Turns - own.Turns, Watchers: countsOf[0].Watchers - own.Watchers}
			countsOf = countsOf[1:]
		}
		if w := rateOf(kind); at.rateFor(w) != nil {
			g, said := at.rateFor(w), now+int64(levelsOf[0])
			if r.OK {
				at.e.tats[w] = g.charge(at.e.level(g, w, now), g.one, now)
			}
			if !at.e.ahead || said >= at.e.tats[w] {
				at.e.tats[w], at.e.ahead = said-at.e.refunded*g.one, false
			}
			levelsOf = levelsOf[1:]
		}
		for w := tokens; w < levels && kind&Running != 0; w++ {
			if at.rates[w].isSet() {
				grow(at.e, w)
			}
		}
	}
}

// nameAll gives the entries their names in the store. The caller must hold mu.
func (t *appliedLimits) nameAll(who *Subject) {
	for i := range t.n {
		t.list[i].nameEntries(who)
	}
}

// nameEntries gives the entries of a limit their names in the store. It reports whether the entry
// of the levels is named for the first time. The caller must hold mu.
func (at *appliedLimit) nameEntries(who *Subject) (fresh bool) {
	if at.run.name == "" {
		at.run.name = at.storeName(who, "")
		fresh = at.run == at.e
	}
	if at.e.name == "" {
		at.e.name, fresh = at.storeName(who, at.e.of.class), true
	}
	return fresh
}

// admitShared asks the store for a request that this process would admit. The caller must hold mu.
// admitShared unlocks it while it waits.
func (l *Limiter) admitShared(ctx context.Context, r *rules, who *Subject, t *appliedLimits, kind Kind) error {
	t.nameAll(who)
	t.countStreams(kind, 1)
	c, counted := l.chargeFor(t, kind)
	if len(c.Levels)+len(c.Counts) == 0 {
		return nil
	}
	t.pinEntries(1) // also a read, which countStreams does not pin
	defer t.pinEntries(-1)
	answer, err := l.askStore(ctx, c, func() { t.countStreams(kind, -1) })
	now := l.now()
	if err != nil {
		err = l.withoutStore(ctx, r, t, kind, err, now)
		for _, p := range counted {
			l.rewriteCounts(p.e)
		}
		return err
	}
	l.recordStoreState(nil)
	l.learnCharge(t, kind, &c, &answer, now)
	if answer.OK {
		for _, p := range counted {
			p.e.markPublished(p)
			l.enqueue(p.e, p.e.isOverstated())
		}
		return nil
	}
	t.countStreams(kind, -1)
	for _, p := range counted {
		l.enqueue(p.e, p.e.isOverstated())
	}
	v := t.findViolations(r, who, kind, now)
	if v == nil { // it has become free since
		v = []violation{{nameOf(t.list[0].slot, min(rateOf(kind), streams)), time.Millisecond}}
	}
	return l.newRefusal(who, t, kind, v, now)
}

// askStore asks the store with mu unlocked. The caller must hold mu. If the store panics, undo
// reverts the counts that the caller has made for the question.
func (l *Limiter) askStore(ctx context.Context, c store.Charge, undo func()) (answer store.Charged, err error) {
	answered := false
	defer func() {
		if !answered {
			undo()
		}
	}()
	l.withoutLock(func() { answer, err = l.Store.ChargeRates(ctx, c) })
	answered = true
	return answer, err
}

// withoutStore admits or refuses a request while the store is unavailable. The caller must hold mu.
func (l *Limiter) withoutStore(ctx context.Context, r *rules, t *appliedLimits, kind Kind, err error, now int64) error {
	if ctx.Err() != nil {
		t.countStreams(kind, -1)
		return fault.Cause(ctx)
	}
	l.recordStoreState(err)
	if r.refuse {
		t.countStreams(kind, -1)
		return &fault.Error{Type: fault.StoreUnavailable, Message: "The gateway cannot count now what is used; try again in a moment", Err: err}
	}
	t.chargeRate(kind, now)
	for i := range t.n {
		t.list[i].e.ahead = true
	}
	return nil
}

// recallSubjects fetches the token levels of subjects that are new to this process. The caller must
// hold mu. recallSubjects unlocks it while it waits. If the store fails, the levels stay as they
// are.
func (l *Limiter) recallSubjects(ctx context.Context, who *Subject, t *appliedLimits) {
	var c store.Charge
	for i := range t.n {
		if at := &t.list[i]; at.plan.tokens && at.nameEntries(who) {
			c.Levels = append(c.Levels, at.levelsOf(at.e.name, 0)...)
		}
	}
	if len(c.Levels) == 0 {
		return
	}
	// The entries are not counted yet. If the table dropped an entry now, its charges would be
	// lost.
	t.pinEntries(1)
	defer t.pinEntries(-1)
	answer, err := l.askStore(ctx, c, func() {})
	if l.recordStoreState(err); err != nil {
		return
	}
	t.raiseLevels(c.Levels, answer.Levels, l.now())
}

// raiseLevels takes over the store's token levels for the levels of the question.
func (t *appliedLimits) raiseLevels(asked []store.Level, known []time.Duration, now int64) {
	for i := range t.n {
		at := &t.list[i]
		for w := tokens; w < levels && at.plan.tokens; w++ {
			for j := range asked {
				if at.rates[w].isSet() && asked[j].Key == levelKey(at.e.name, w) {
					at.e.tats[w] = max(at.e.tats[w], now+int64(known[j]))
				}
			}
		}
	}
}
