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

// Sharing is how limits hold for more than this process and its life. Its zero value is not
// at all.
type Sharing struct {
	// Store keeps what was charged; nil: nothing does.
	Store store.Rates
	// Holder is this process in the store. Its counts hold as long as it has its lease.
	Holder store.Holder
	// Alone says that no other process counts: what is kept are tokens, over a restart.
	Alone bool
}

// The publisher sends what the store does not know yet: at once when a stream has ended, else
// after publishEvery; and again after it if the store was unavailable.
const (
	publishEvery = time.Second
	// publishPause is how long it waits for more to say.
	publishPause = 2 * time.Millisecond
	publishMost  = 32 // subjects of one command
	// recount is how often the counts of streams that run are written again, long before
	// store.KeepCount.
	recount = 10 * time.Minute
)

// shared is what an entry has where a store keeps what it counts.
type shared struct {
	name string // of its keys; empty: nothing was asked of the store
	plan *plan  // the last one that tokens were charged by
	// What the store knows of turns and watchers.
	saidTurns, saidWatchers int32
	saidSeq                 int64
	queued                  bool  // for the publisher
	owed                    int64 // tokens that the store does not know of
	back                    int64 // requests that were given back
	ahead                   bool  // something was charged without the store
}

// unsaid says whether the store does not know all of it.
func (e *entry) unsaid() bool {
	return e.name != "" && (e.owed > 0 || e.back > 0 || e.turns != e.saidTurns || e.watchers != e.saidWatchers)
}

// said notes what the store knows now, unless it has learned something later meanwhile.
func (e *entry) said(p published) {
	if p.seq >= e.saidSeq {
		e.saidTurns, e.saidWatchers, e.saidSeq = p.turns, p.watchers, p.seq
	}
}

// isOversaid says whether the store believes that more runs than does: what was refused was on
// its way together with what was not. That keeps others out until it is put right.
func (e *entry) isOversaid() bool { return e.saidTurns > e.turns || e.saidWatchers > e.watchers }

// sharing is the Limiter's part of it.
type sharing struct {
	Sharing
	log zerolog.Logger
	// wake lets the publisher look; done ends it, and gone is closed when it has ended.
	wake, done, gone chan struct{}
	closing          sync.Once

	// The Limiter's lock guards the fields below.
	queue []*entry
	seq   int64 // counts what is sent of counts
	lost  bool  // the store was unavailable when it was asked last
	retry int64 // when a call of a model asks the store again that was lost
}

// isShared says whether the store counts for all; hasStore, whether it keeps anything.
func (s *sharing) isShared() bool { return s.Store != nil && !s.Alone }

func (s *sharing) hasStore() bool { return s.Store != nil }

// open begins the publisher.
func (l *Limiter) open() {
	s := &l.sharing
	if !s.hasStore() {
		return
	}
	s.wake, s.done, s.gone = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	// Goroutine (publish): writes to the store what has ended and what it has cost.
	// Ends: `Close`.
	// Waits: `Close`.
	go l.publishing()
}

// Close writes what the store does not know yet, and ends. It may be called again.
func (l *Limiter) Close() {
	if l == nil || !l.hasStore() {
		return
	}
	l.closing.Do(func() { close(l.done) })
	<-l.gone
}

// publishing is the publisher.
func (l *Limiter) publishing() {
	defer close(l.gone)
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
			l.recount()
		}
		l.publish(context.Background())
	}
}

// recount queues all that runs, as the store forgets counts that nobody writes.
func (l *Limiter) recount() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.table.entries {
		if e.turns+e.watchers > 0 { // never of one with a class
			l.unsure(e)
		}
	}
	for _, n := range l.lanes {
		if n.turns > 0 {
			l.unsure(&n.entry)
		}
	}
}

// hasClass reports whether the entry is that of a class, whose streams another one counts.
func (e *entry) hasClass() bool { return e.of.slot == userSlot && e.of.class != "" }

// enqueueBoth has the publisher write the entries of a limit. The caller must hold mu.
func (l *Limiter) enqueueBoth(at *touch, atOnce bool) {
	l.enqueue(at.e, atOnce)
	if at.run != at.e {
		l.enqueue(at.run, atOnce)
	}
}

// enqueue has the publisher write an entry. It needs mu.
func (l *Limiter) enqueue(e *entry, atOnce bool) {
	if !e.unsaid() {
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

// published is what was sent of an entry.
type published struct {
	e               *entry
	turns, watchers int32
	seq             int64 // of its count
}

// publish writes what is queued. What was charged is sent once: when the answer is lost,
// nobody knows whether it arrived, and this process knows it all the same. Counts are true
// whenever they arrive, so they are sent until they have.
func (l *Limiter) publish(ctx context.Context) {
	for {
		c, sent, more := l.next()
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
		l.settle(sent, err)
		if err != nil {
			return
		}
	}
}

// settle appends the tokens that the entry owes the store, and the requests that it gets back.
func (e *entry) settle(list []store.Level) []store.Level {
	if e.owed > 0 && e.plan != nil {
		list = append(list, e.plan.levelsOf(e.name, int(e.owed))...)
		e.owed = 0
	}
	if p := e.plan; e.back > 0 && p != nil && p.rates[requests].on() {
		level := p.rates[requests].kept(levelKey(e.name, requests))
		level.Cost = -time.Duration(e.back * p.rates[requests].one)
		list = append(list, level)
	}
	e.back = 0
	return list
}

// next returns the next command of the publisher, what it says, and whether there are more.
func (l *Limiter) next() (c store.Charge, sent []published, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c = store.Charge{Holder: l.Holder, Owed: true}
	n := min(len(l.queue), publishMost)
	for _, e := range l.queue[:n] {
		if e.queued = false; !e.unsaid() {
			continue // something else has said it
		}
		c.Levels = e.settle(c.Levels)
		if !l.Alone && !e.hasClass() {
			c.Counts = append(c.Counts, l.countOf(e))
		}
		sent = append(sent, published{e, e.turns, e.watchers, l.seq})
	}
	l.queue = slices.Delete(l.queue, 0, n)
	return c, sent, len(l.queue) > 0
}

// settle notes how a command of the publisher ended.
func (l *Limiter) settle(sent []published, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(err)
	for _, p := range sent {
		if err == nil || l.Alone {
			p.e.said(p)
			continue
		}
		l.unsure(p.e)
	}
}

// note notes whether the store answers. It needs mu.
func (l *Limiter) note(err error) {
	lost := err != nil
	if lost && !l.lost && l.isShared() {
		l.log.Warn().Dict("details", zerolog.Dict().AnErr("error", err)).Msg("limits_local")
	}
	l.lost = lost
}

// countOf returns what runs of an entry. It needs mu.
func (l *Limiter) countOf(e *entry) store.Count {
	l.seq++
	return store.Count{Key: countKey(e.name), Turns: int(e.turns), Watchers: int(e.watchers), Seq: l.seq}
}

// levelsOf returns the charges of n tokens.
func (p *plan) levelsOf(name string, n int) (all []store.Level) {
	for w := tokens; w < levels; w++ {
		if g := &p.rates[w]; g.on() {
			l := g.kept(levelKey(name, w))
			if n > 0 {
				l.Cost = time.Duration(g.cost(n))
			}
			all = append(all, l)
		}
	}
	return all
}

// kept returns a rate as a store keeps it, of which nothing is asked.
func (g *gcra) kept(key string) store.Level {
	return store.Level{Key: key, Window: time.Duration(g.window), Debt: time.Duration(g.debt)}
}

// Keys of a subject in the store, whose name is a hash.
func levelKey(name string, w what) string { return name + whatNames[w][1:] }
func countKey(name string) string         { return name + "running" }

// storeName returns what the keys of a subject begin with, by the plan of a class.
func (t *touch) storeName(who *Subject, class string) string {
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

// ask returns what is asked of the store for a request. It needs mu: the counts include the
// request already.
func (l *Limiter) ask(t *touches, kind Kind) (c store.Charge, counted []published) {
	c.Holder = l.Holder
	for i := range t.n {
		at := &t.list[i]
		e, run, of := at.e, at.run, 0
		if at.counts(kind) {
			count := l.countOf(run)
			count.Most = int(at.streams)
			c.Counts = append(c.Counts, count)
			counted = append(counted, published{run, run.turns, run.watchers, count.Seq})
			of = len(c.Counts)
		}
		w := rateOf(kind)
		if g := at.rate(w); g != nil {
			level := g.kept(levelKey(e.name, w))
			level.Cost, level.Need = time.Duration(g.one), time.Duration(g.one)
			c.Levels = append(c.Levels, level)
		}
		if kind&Running == 0 {
			continue
		}
		for w := tokens; w < levels; w++ {
			if g := &at.rates[w]; g.on() {
				level := g.kept(levelKey(e.name, w))
				level.Need, level.Of = time.Duration(max(at.reserve[w], 1)), of
				c.Levels = append(c.Levels, level)
			}
		}
	}
	return c, counted
}

// counts says whether the store counts the stream of a request.
func (at *touch) counts(kind Kind) bool {
	return kind&(Running|Watching) != 0 && (at.streams > 0 || at.plan.tokens)
}

// learn takes over the answer to what ask has asked. What this process has charged without the
// store stays, and what is charged now is added to it; tokens on their way stay as well. It needs
// mu.
func (l *Limiter) learn(t *touches, kind Kind, c *store.Charge, r *store.Charged, now int64) {
	levelsOf, countsOf := r.Levels, r.Counts
	grow := func(e *entry, w what) {
		e.tats[w] = max(e.tats[w], now+int64(levelsOf[0]))
		levelsOf = levelsOf[1:]
	}
	for i := range t.n {
		at := &t.list[i]
		if at.counts(kind) {
			own := &c.Counts[len(c.Counts)-len(countsOf)]
			at.others = store.Running{Turns: countsOf[0].Turns - own.Turns, Watchers: countsOf[0].Watchers - own.Watchers}
			countsOf = countsOf[1:]
		}
		if w := rateOf(kind); at.rate(w) != nil {
			g, said := at.rate(w), now+int64(levelsOf[0])
			if r.OK {
				at.e.tats[w] = g.charge(at.e.level(g, w, now), g.one, now)
			}
			if !at.e.ahead || said >= at.e.tats[w] {
				at.e.tats[w], at.e.ahead = said-at.e.back*g.one, false
			}
			levelsOf = levelsOf[1:]
		}
		for w := tokens; w < levels && kind&Running != 0; w++ {
			if at.rates[w].on() {
				grow(at.e, w)
			}
		}
	}
}

// named gives the entries their names in the store. It needs mu.
func (t *touches) named(who *Subject) {
	for i := range t.n {
		t.list[i].name(who)
	}
}

// name gives the entries of a limit their names in the store. It reports whether the entry of the
// levels had none. The caller must hold mu.
func (at *touch) name(who *Subject) (fresh bool) {
	if at.run.name == "" {
		at.run.name = at.storeName(who, "")
		fresh = at.run == at.e
	}
	if at.e.name == "" {
		at.e.name, fresh = at.storeName(who, at.e.of.class), true
	}
	return fresh
}

// admitShared asks the store for what this process would allow. It needs mu, which it gives
// back while it waits.
func (l *Limiter) admitShared(ctx context.Context, r *rules, who *Subject, t *touches, kind Kind) error {
	t.named(who)
	t.count(kind, 1)
	c, counted := l.ask(t, kind)
	if len(c.Levels)+len(c.Counts) == 0 {
		return nil
	}
	t.pin(1) // also a read, which count does not pin
	defer t.pin(-1)
	answer, err := l.askStore(ctx, c, func() { t.count(kind, -1) })
	now := l.now()
	if err != nil {
		err = l.withoutStore(ctx, r, t, kind, err, now)
		for _, p := range counted {
			l.unsure(p.e)
		}
		return err
	}
	l.note(nil)
	l.learn(t, kind, &c, &answer, now)
	if answer.OK {
		for _, p := range counted {
			p.e.said(p)
			l.enqueue(p.e, p.e.isOversaid())
		}
		return nil
	}
	t.count(kind, -1)
	for _, p := range counted {
		l.enqueue(p.e, p.e.isOversaid())
	}
	v := t.violations(r, who, kind, now)
	if v == nil { // it has become free since
		v = []violation{{nameOf(t.list[0].slot, min(rateOf(kind), streams)), time.Millisecond}}
	}
	return l.refuse(who, t, kind, v, now)
}

// askStore asks the store without mu, which the caller must hold. undo takes back what the caller
// has counted for the question; only a panic of the store calls it.
func (l *Limiter) askStore(ctx context.Context, c store.Charge, undo func()) (answer store.Charged, err error) {
	answered := false
	defer func() {
		if !answered {
			undo()
		}
	}()
	l.unlocked(func() { answer, err = l.Store.ChargeRates(ctx, c) })
	answered = true
	return answer, err
}

// withoutStore decides what the store cannot. It needs mu.
func (l *Limiter) withoutStore(ctx context.Context, r *rules, t *touches, kind Kind, err error, now int64) error {
	if ctx.Err() != nil {
		t.count(kind, -1)
		return fault.Cause(ctx)
	}
	l.note(err)
	if r.refuse {
		t.count(kind, -1)
		return &fault.Error{Type: fault.StoreUnavailable, Message: "The gateway cannot count now what is used; try again in a moment", Err: err}
	}
	t.chargeRate(kind, now)
	for i := range t.n {
		t.list[i].e.ahead = true
	}
	return nil
}

// remember fetches what the store knows of the tokens of subjects that this process does not
// know. It needs mu, which it gives back while it waits. A store that does not answer knows
// nothing.
func (l *Limiter) remember(ctx context.Context, who *Subject, t *touches) {
	var c store.Charge
	for i := range t.n {
		if at := &t.list[i]; at.plan.tokens && at.name(who) {
			c.Levels = append(c.Levels, at.levelsOf(at.e.name, 0)...)
		}
	}
	if len(c.Levels) == 0 {
		return
	}
	// Nothing counts the entries yet. One that is dropped now would be charged for nothing.
	t.pin(1)
	defer t.pin(-1)
	answer, err := l.askStore(ctx, c, func() {})
	if l.note(err); err != nil {
		return
	}
	t.raise(c.Levels, answer.Levels, l.now())
}

// raise takes over what the store knows of the tokens of the levels that it was asked for.
func (t *touches) raise(asked []store.Level, known []time.Duration, now int64) {
	for i := range t.n {
		at := &t.list[i]
		for w := tokens; w < levels && at.plan.tokens; w++ {
			for j := range asked {
				if at.rates[w].on() && asked[j].Key == levelKey(at.e.name, w) {
					at.e.tats[w] = max(at.e.tats[w], now+int64(known[j]))
				}
			}
		}
	}
}
