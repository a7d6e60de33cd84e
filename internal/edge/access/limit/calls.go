package limit

import (
	"context"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// pollEvery is the pause before a queue asks the store again for calls of other gateways: they do
// not report their end. A single call of the queue asks, and the others wait for its answer.
const pollEvery = 100 * time.Millisecond

// otherGateways is the knowledge of a queue about the calls of other gateways. The zero value
// stands for a model without calls elsewhere.
type otherGateways struct {
	// asksStore says that the store is asked before each call. Without it the process keeps to the
	// part that others did not use when it was asked last.
	asksStore bool
	// asking counts the calls whose answers are on their way. By the last answer, room further
	// calls may be asked for at once; if room is 0, one call at a time.
	asking, room int
	// free is when there is room again, by the last answer, and poll when it is worth asking.
	free, poll int64
	// others run elsewhere, and calls were made elsewhere in the last period.
	others store.Running
	calls  int
	alone  int // calls that were made without the store
}

// localPart returns the part of a quota that this process may use: all of it if the store is asked
// for each call.
func (f *otherGateways) localPart(most, others int) int {
	if f.asksStore {
		return most
	}
	return max(1, most-others)
}

// waitToAsk returns how long it takes until the store may be asked for a call.
func (f *otherGateways) waitToAsk(now int64) time.Duration {
	switch {
	case !f.asksStore:
		return 0
	case f.room == 0 && f.asking > 0:
		return forever // until that answer
	}
	return time.Duration(max(f.free-now, f.poll-now, 0))
}

// countAsked records that a call will be asked for.
func (f *otherGateways) countAsked() { f.asking, f.room = f.asking+1, max(f.room-1, 0) }

// isUnavailable reports whether the store was unavailable a moment ago. The caller must hold mu.
func (l *Limiter) isUnavailable() bool { return l.lost && l.now() < l.retry }

// refreshStoreUse records whether the store is asked for a queue. The caller must hold mu.
func (l *Limiter) refreshStoreUse(n *lane) {
	n.elsewhere.asksStore = n.quota != nil && l.isShared() && !l.isUnavailable()
}

// askCall asks the store for a call that this process has let go at a time. If it is not admitted,
// the call is as if it had not been let go. The caller must hold mu. askCall unlocks it while it
// waits.
func (l *Limiter) askCall(ctx context.Context, n *lane, a *Admission, at int64) (admitted bool, err error) {
	q := n.quota // a reload may change it before the answer comes
	over := false
	end := func(admitted bool) {
		if over {
			return
		}
		over, n.elsewhere.asking = true, n.elsewhere.asking-1
		if !admitted {
			n.refundCall(a, at)
		}
	}
	defer end(false)
	c := l.callOf(n, q, a)
	if len(c.Levels)+len(c.Counts)+len(c.Windows) == 0 {
		end(true)
		return true, nil
	}
	if l.isUnavailable() {
		end(true)
		n.elsewhere.alone++
		return true, nil
	}
	l.retry = l.now() + int64(publishEvery) // if it is lost, one asks whether it is back
	answer, err := l.askBoth(ctx, n.claimOwed(q, &c, l.now()), c)
	end(err == nil && answer.OK)
	if err != nil {
		return false, l.callWithoutStore(ctx, n, err)
	}
	l.recordStoreState(nil)
	l.learnCall(n, q, a, &c, &answer)
	l.serveQueue(n)
	return answer.OK, nil
}

// askBoth asks the store for a call, after it has charged the calls that are owed, if any. The
// caller must hold mu. askBoth unlocks it while it waits.
func (l *Limiter) askBoth(ctx context.Context, owed *store.Charge, c store.Charge) (answer store.Charged, err error) {
	l.withoutLock(func() {
		if owed != nil {
			_, err = l.Store.ChargeRates(ctx, *owed)
		}
		if err == nil {
			answer, err = l.Store.ChargeRates(ctx, c)
		}
	})
	return answer, err
}

// callWithoutStore records that the store has not answered. It returns an error only if the call's
// turn has ended meanwhile.
func (l *Limiter) callWithoutStore(ctx context.Context, n *lane, err error) error {
	l.rewriteCounts(&n.entry)
	if ctx.Err() == nil {
		l.recordStoreState(err)
		l.retry = l.now() + int64(publishEvery)
		return nil
	}
	l.serveQueue(n)
	return fault.Cause(ctx)
}

// rewriteCounts queues the counts of an entry again, because the store may or may not have them.
// The caller must hold mu.
func (l *Limiter) rewriteCounts(e *entry) {
	e.publishedTurns = -1
	l.enqueue(e, false)
}

// modelName returns the beginning of a model's keys in the store.
func modelName(model string) string { return store.RateKey("", "model", model) }

// countsRunning reports whether the store counts the calls that run.
func (q *quota) countsRunning() bool { return q.concurrent > 0 || q.plan.tokens }

// callOf returns the charge of a call for the store. The quota q may be nil. The call is counted
// already. The caller must hold mu.
func (l *Limiter) callOf(n *lane, q *quota, a *Admission) (c store.Charge) {
	if !l.isShared() {
		return c
	}
	c.Holder = l.Holder
	a.eachCallLimit(func(at *appliedLimit, g *gcra) {
		at.nameEntries(&a.subject)
		level := g.storedLevel(levelKey(at.e.name, modelCalls))
		level.Cost, level.Need = time.Duration(g.one), time.Duration(g.one)
		c.Levels = append(c.Levels, level)
	})
	if q == nil {
		return c
	}
	if q.calls > 0 {
		c.Windows = []store.Window{{Key: modelName(n.model) + "calls-" + q.unit.String(), Period: q.unit, Most: q.calls, Cost: 1}}
	}
	if q.countsRunning() {
		n.name = modelName(n.model)
		count := l.countOf(&n.entry)
		count.Most = q.concurrent
		c.Counts = []store.Count{count}
		c.Levels = q.appendReserves(c.Levels, n.name)
	}
	return c
}

// appendReserves appends the quotas of tokens that must have room for the reserve of one call.
func (q *quota) appendReserves(list []store.Level, name string) []store.Level {
	for w := tokens; w < levels; w++ {
		if g := &q.rates[w]; g.isSet() {
			level := g.storedLevel(levelKey(name, w))
			level.Need, level.Of = time.Duration(max(q.reserve[w], 1)), 1
			list = append(list, level)
		}
	}
	return list
}

// claimOwed returns the charge for the calls that were made without the store, or nil. If the store
// never learned of them, all gateways together would exceed the provider's quota.
func (n *lane) claimOwed(q *quota, c *store.Charge, now int64) *store.Charge {
	alone := n.elsewhere.alone
	n.elsewhere.alone = 0
	if alone == 0 || len(c.Windows) == 0 {
		return nil
	}
	w := c.Windows[0]
	w.Cost = min(alone, n.sent.countWithin(q.period, now)-1)
	if w.Cost <= 0 {
		return nil
	}
	return &store.Charge{Holder: c.Holder, Owed: true, Windows: []store.Window{w}}
}

// learnCall takes over the store's answer to the charge of callOf. The quota q may be nil. The
// caller must hold mu.
func (l *Limiter) learnCall(n *lane, q *quota, a *Admission, c *store.Charge, r *store.Charged) {
	now, levelsOf := l.now(), r.Levels
	a.eachCallLimit(func(at *appliedLimit, _ *gcra) {
		at.e.tats[modelCalls] = max(at.e.tats[modelCalls], now+int64(levelsOf[0]))
		levelsOf = levelsOf[1:]
	})
	f := &n.elsewhere
	if q == nil {
		return
	}
	f.room, f.free, f.poll = 1<<30, 0, 0
	if len(c.Windows) > 0 {
		used := r.Windows[0]
		f.room, f.free = q.calls-used.N, now+int64(used.Wait)
		f.calls = max(0, used.N-n.sent.countWithin(q.period, now))
	}
	if len(c.Counts) > 0 {
		own, sum := &c.Counts[0], r.Counts[0]
		f.others.Turns = sum.Turns - own.Turns
		if r.OK {
			n.markPublished(published{&n.entry, int32(own.Turns), 0, own.Seq})
		}
		l.enqueue(&n.entry, n.isOverstated())
		if q.concurrent > 0 {
			f.room = min(f.room, q.concurrent-sum.Turns)
		}
		if !r.OK && q.concurrent > 0 && sum.Turns > q.concurrent {
			f.poll = now + int64(pollEvery)
		}
		n.learnTokens(q, levelsOf, r, now)
	}
	f.room = max(0, f.room-f.asking)
}

// learnTokens takes over the levels of the model's tokens, in the order of appendReserves.
func (n *lane) learnTokens(q *quota, levelsOf []time.Duration, r *store.Charged, now int64) {
	for w := tokens; w < levels; w++ {
		g := &q.rates[w]
		if !g.isSet() {
			continue
		}
		level, own := int64(levelsOf[0]), max(q.reserve[w], 1)
		n.tats[w], levelsOf = max(n.tats[w], now+level), levelsOf[1:]
		if !r.OK && level+own*int64(r.Counts[0].Turns) > g.window {
			n.elsewhere.poll = max(n.elsewhere.poll, now+max(int64(pollEvery), level+own-g.window))
		}
	}
}

// limitsTokens reports whether the tokens of the lane's model are limited.
func (n *lane) limitsTokens() bool { return n.quota != nil && n.quota.plan.tokens }

// recallTokens fetches the levels of a model's tokens from a store that survives a restart. The
// caller must hold mu. recallTokens unlocks it while it waits. If the store fails, the levels stay
// as they are.
func (l *Limiter) recallTokens(ctx context.Context, n *lane) {
	if n.name != "" || !l.Alone || !n.limitsTokens() {
		return
	}
	n.name = modelName(n.model)
	p := n.quota.plan
	c := store.Charge{Levels: p.levelsOf(n.name, 0)}
	answer, err := l.askStore(ctx, c, func() {})
	if l.recordStoreState(err); err != nil {
		return
	}
	now, all := l.now(), answer.Levels
	for w := tokens; w < levels; w++ {
		if p.rates[w].isSet() {
			n.tats[w], all = max(n.tats[w], now+int64(all[0])), all[1:]
		}
	}
}
