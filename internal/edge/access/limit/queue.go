package limit

import (
	"context"
	"math"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// lanes are the queues of calls of models, by key of the model. The Limiter's lock guards them.
type lanes map[string]*lane

// lane is the queue of one model. Tenants take turns in it, or users without a tenant.
type lane struct {
	// entry counts the running calls, as turns, and the tokens.
	entry
	model     string
	quota     *quota // nil: a model without a quota
	sent      window
	elsewhere otherGateways
	parties   []*party // that wait, the next one first
	timer     *time.Timer
}

// party are the waiting calls of one tenant or user, in their order.
type party struct {
	key   key
	calls []*waiting
}

// waiting is one call.
type waiting struct {
	*Admission // nil: nobody's
	// ready is closed when the call may be made.
	ready chan struct{}
	admit bool
	at    int64 // when it was let go
	// wasRefused says that it was let go once, and refused by the store: it is the next of its party.
	wasRefused bool
}

// quota is a ModelQuota made ready.
type quota struct {
	calls int
	// unit is the unit of calls; period is a little longer, and calls are counted in it here.
	unit, period time.Duration
	concurrent   int
	*plan        // of the tokens
}

// slack is the divisor for the extra length of a window over the provider's. Calls do not arrive as
// they were sent, and the provider's windows begin at unknown times.
const slack = 20 // a twentieth

// newQuota makes a quota ready. Its calls hold in any window of its period, since the provider's
// windows are unknown. A window never has more calls than the burst.
func newQuota(q ModelQuota, reserve int) *quota {
	made := &quota{concurrent: q.Concurrent, plan: newPlan(&Limit{Tokens: q.Tokens}, reserve)}
	if rate := q.Calls; rate.Quota.N > 0 {
		g := newGCRA(rate, false)
		made.calls, made.unit = g.burst, time.Duration(g.window)
		made.period = made.unit + made.unit/slack
	}
	return made
}

// window has the times of the last calls.
type window struct{ times []int64 }

// countWithin returns how many calls there were in the last period.
func (w *window) countWithin(period time.Duration, now int64) int {
	for len(w.times) > 0 && w.times[0] <= now-int64(period) {
		w.times = w.times[1:]
	}
	return len(w.times)
}

// waitBelow returns how long it takes until there were fewer than n calls in a period.
func (w *window) waitBelow(n int, period time.Duration, now int64) time.Duration {
	if w.countWithin(period, now) < n {
		return 0
	}
	return time.Duration(w.times[len(w.times)-n] + int64(period) - now)
}

// drop takes out a call that was not made.
func (w *window) drop(at int64) {
	if i := slices.Index(w.times, at); i >= 0 {
		w.times = slices.Delete(w.times, i, i+1)
	}
}

// forever is a wait until some call ends.
const forever = time.Duration(math.MaxInt64)

// limitWait returns how long the lane itself makes a call wait.
func (n *lane) limitWait(now int64) (wait time.Duration) {
	q := n.quota
	if q == nil {
		return 0
	}
	if q.concurrent > 0 && int(n.turns) >= n.elsewhere.localPart(q.concurrent, int(n.elsewhere.others.Turns)) {
		return forever
	}
	if q.calls > 0 {
		wait = n.sent.waitBelow(n.elsewhere.localPart(q.calls, n.elsewhere.calls), q.period, now)
	}
	for w := tokens; w < levels; w++ {
		g := &q.rates[w]
		if !g.isSet() {
			continue
		}
		own := max(q.reserve[w], 1)
		need := own * int64(n.turns+1)
		if need > g.window {
			return forever
		}
		wait = max(wait, time.Duration(max(n.level(g, w, now)+need-g.window, 0)))
	}
	return max(wait, n.elsewhere.waitToAsk(now))
}

// waitOf returns how long the limits on calls of its subject make a call wait.
func waitOf(a *Admission, now int64) (wait time.Duration) {
	a.eachCallLimit(func(at *appliedLimit, g *gcra) {
		wait = max(wait, g.waitFor(at.e.level(g, modelCalls, now), g.one))
	})
	return wait
}

// chargeCall charges a call, at now.
func (n *lane) chargeCall(a *Admission, now int64) {
	n.turns++
	n.elsewhere.countAsked()
	if n.quota != nil && n.quota.calls > 0 {
		n.sent.times = append(n.sent.times, now)
	}
	a.eachCallLimit(func(at *appliedLimit, g *gcra) {
		at.e.tats[modelCalls] = g.charge(at.e.level(g, modelCalls, now), g.one, now)
	})
}

// refundCall takes back the charge of chargeCall at a time.
func (n *lane) refundCall(a *Admission, at int64) {
	n.turns--
	n.sent.drop(at)
	a.eachCallLimit(func(at *appliedLimit, g *gcra) { at.e.tats[modelCalls] -= g.one })
}

// eachCallLimit calls f for each limit on the model calls of a's subject. It works on nil.
func (a *Admission) eachCallLimit(f func(at *appliedLimit, g *gcra)) {
	for i := 0; a != nil && i < a.n; i++ {
		at := &a.list[i]
		if g := &at.rates[modelCalls]; g.isSet() {
			f(at, g)
		}
	}
}

// laneOf returns the queue of a model; nil if its calls are not counted. The caller must hold mu.
func (l *Limiter) laneOf(r *rules, model string) *lane {
	q := r.models[model]
	if q == nil && !r.calls {
		return nil
	}
	n := l.lanes[model]
	if n == nil {
		n = &lane{model: model}
		l.lanes[model] = n
	}
	n.quota = q
	l.refreshStoreUse(n)
	return n
}

// Enter waits until the model with a key may be called for the turn of ctx. The caller calls leave
// when the call is over, with the tokens that it has used. The error is that of a call which its
// provider has limited.
func (l *Limiter) Enter(ctx context.Context, model string) (leave func(tokens int), err error) {
	a, _ := chat.TurnOf(ctx).Admission.(*Admission)
	r := l.rulesNow()
	if r == nil && a == nil {
		return endUnlimited, nil
	}
	if r == nil {
		return a.Tokens, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.laneOf(r, model)
	if n == nil {
		return a.Tokens, nil
	}
	l.recallTokens(ctx, n)
	if err := l.awaitCall(ctx, r, n, a); err != nil {
		return nil, err
	}
	return func(tokens int) {
		a.Tokens(tokens)
		l.endCall(n, tokens)
	}, nil
}

// awaitCall waits until this process may make a call, and then asks the store, which also counts
// the calls of other gateways. The caller must hold mu. awaitCall unlocks it while it waits.
func (l *Limiter) awaitCall(ctx context.Context, r *rules, n *lane, a *Admission) error {
	began, again, waited := time.Now(), false, false
	defer func() {
		if waited {
			l.waits.Observe(time.Since(began).Seconds(), n.model)
		}
	}()
	for {
		at := l.now()
		if again || len(n.parties) > 0 || n.limitWait(at) > 0 || waitOf(a, at) > 0 {
			var err error
			waited = true
			if at, err = l.awaitTurn(ctx, n, &waiting{Admission: a, wasRefused: again}, r.wait-time.Since(began)); err != nil {
				return err
			}
		} else {
			n.chargeCall(a, at)
		}
		if admitted, err := l.askCall(ctx, n, a, at); admitted || err != nil {
			return err
		}
		again = true
	}
}

// endUnlimited is the end of a call that nothing limits.
func endUnlimited(int) {}

// endCall ends a call.
func (l *Limiter) endCall(n *lane, used int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.turns--
	now := l.now()
	if q := n.quota; q != nil && used > 0 && q.plan.tokens {
		for w := tokens; w < levels; w++ {
			if g := &q.rates[w]; g.isSet() {
				n.tats[w] = g.charge(n.level(g, w, now), g.cost(used), now)
			}
		}
		if l.hasStore() {
			n.plan, n.owed = q.plan, n.owed+int64(used)
		}
	}
	l.enqueue(&n.entry, true)
	n.elsewhere.poll = 0
	l.serveQueue(n)
}

// awaitTurn waits at most so long for the turn of a call, and returns when it was let go. The
// caller must hold mu. awaitTurn unlocks it while it waits.
func (l *Limiter) awaitTurn(ctx context.Context, n *lane, w *waiting, most time.Duration) (at int64, err error) {
	l.refreshStoreUse(n)
	if known := max(knownWait(n.limitWait(l.now())), waitOf(w.Admission, l.now())); known > max(most, 0) {
		l.serveQueue(n)
		return 0, limitedError(known) // waiting does not help
	}
	if n.elsewhere.asksStore && n.elsewhere.asking > 0 {
		most = max(most, pollEvery) // an answer is on its way
	}
	w.ready = make(chan struct{})
	n.addCall(l.partyOf(w.Admission), w)
	l.serveQueue(n)
	l.mu.Unlock()
	limit := time.NewTimer(most)
	select {
	case <-w.ready:
	case <-limit.C:
	case <-ctx.Done():
	}
	limit.Stop()
	l.mu.Lock()
	if w.admit {
		return w.at, nil
	}
	n.removeCall(w)
	l.serveQueue(n)
	if ctx.Err() != nil {
		return 0, fault.Cause(ctx)
	}
	now := l.now()
	return 0, limitedError(max(knownWait(n.limitWait(now)), waitOf(w.Admission, now), time.Second))
}

// knownWait returns a wait, 0 if nobody knows how long it is.
func knownWait(wait time.Duration) time.Duration {
	if wait == forever {
		return 0
	}
	return wait
}

// limitedError is the error of a call that was not made.
func limitedError(wait time.Duration) error {
	return &fault.Error{Type: fault.ModelRateLimited, Message: "AI service is busy, please try again later", Service: "limits", RetryAfter: wait}
}

// partyOf returns the key of the party that a call waits in.
func (l *Limiter) partyOf(a *Admission) key {
	if a == nil {
		return key{}
	}
	s := sharingSlot(&a.subject)
	if s == slots {
		s = addressSlot
	}
	return l.table.keyOf(s, &a.subject)
}

// addCall puts a call at the end of its party, and its party at the end of all; a call that the
// store has refused once comes first.
func (n *lane) addCall(of key, w *waiting) {
	i := slices.IndexFunc(n.parties, func(p *party) bool { return p.key == of })
	p := &party{key: of}
	switch {
	case i < 0 && w.wasRefused:
		n.parties = slices.Insert(n.parties, 0, p)
	case i < 0:
		n.parties = append(n.parties, p)
	default:
		p = n.parties[i]
	}
	if !w.wasRefused {
		p.calls = append(p.calls, w)
		return
	}
	behind := 0
	for behind < len(p.calls) && p.calls[behind].wasRefused {
		behind++
	}
	p.calls = slices.Insert(p.calls, behind, w)
}

// removeCall takes out a call that does not wait any more.
func (n *lane) removeCall(w *waiting) {
	for i, p := range n.parties {
		if j := slices.Index(p.calls, w); j >= 0 {
			if p.calls = slices.Delete(p.calls, j, j+1); len(p.calls) == 0 {
				n.parties = slices.Delete(n.parties, i, i+1)
			}
			return
		}
	}
}

// serveQueue lets calls go that may, and looks again when the next one may. The caller must hold
// mu.
func (l *Limiter) serveQueue(n *lane) {
	l.refreshStoreUse(n)
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	for {
		wait := n.chargeNext(l.now())
		if wait == 0 {
			continue
		}
		if wait != forever {
			// Timer (next call): lets the next calls of a model go that wait for their limits.
			// Ends: it has fired, or nothing waits any more.
			// Waits: nobody: it works under the Limiter's lock.
			n.timer = time.AfterFunc(wait, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.serveQueue(n)
			})
		}
		return
	}
}

// chargeNext lets one call go, of the party that has waited longest for a turn, and returns 0; or how
// long it takes until one may.
func (n *lane) chargeNext(now int64) (wait time.Duration) {
	if len(n.parties) == 0 {
		return forever
	}
	if wait = n.limitWait(now); wait > 0 {
		return wait
	}
	wait = forever
	for i, p := range n.parties {
		w := p.calls[0]
		if own := waitOf(w.Admission, now); own > 0 {
			wait = min(wait, own)
			continue
		}
		n.chargeCall(w.Admission, now)
		w.admit, w.at = true, now
		close(w.ready)
		p.calls = p.calls[1:]
		n.parties = slices.Delete(n.parties, i, i+1)
		if len(p.calls) > 0 {
			n.parties = append(n.parties, p) // behind the others
		}
		return 0
	}
	return wait
}
