package limit

import (
	"context"
	"math"
	"slices"
	"time"

	"sluice/chat"
	"sluice/fault"
)

// lanes are the queues of calls of models, by key of the model. The Limiter's lock guards them.
type lanes map[string]*lane

// lane is the queue of one model: of those that wait, tenants are served by turns, and users
// where there are no tenants.
type lane struct {
	quota   *quota // nil: the model has none
	sent    window
	tats    [levels]int64 // of tokens
	running int
	parties []*party // that wait, the next one first
	timer   *time.Timer
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
}

// quota is a ModelQuota made ready.
type quota struct {
	calls      int
	period     time.Duration
	concurrent int
	tokens     [levels]gcra
	reserve    [levels]int64
}

// slack is by how much a window is longer than the provider's: calls do not arrive as they were
// sent, and windows of providers begin when they please.
const slack = 20 // a twentieth

// newQuota makes a quota ready. Of calls it holds in any window of its time, since nobody knows
// which windows the provider counts by; a burst is all that a window may have.
func newQuota(q ModelQuota, reserve int) *quota {
	made := &quota{concurrent: q.Concurrent}
	if rate := q.Calls; rate.Quota.N > 0 {
		g := compile(rate, false)
		made.calls, made.period = g.burst, time.Duration(g.window)+time.Duration(g.window)/slack
	}
	p := newPlan(&Limit{Tokens: q.Tokens}, reserve)
	made.tokens, made.reserve = p.rates, p.reserve
	return made
}

// window has the times of the last calls.
type window struct{ times []int64 }

// wait returns how long it takes until there were fewer than n calls in a period.
func (w *window) wait(n int, period time.Duration, now int64) time.Duration {
	for len(w.times) > 0 && w.times[0] <= now-int64(period) {
		w.times = w.times[1:]
	}
	if len(w.times) < n {
		return 0
	}
	return time.Duration(w.times[len(w.times)-n] + int64(period) - now)
}

// forever is a wait until some call ends.
const forever = time.Duration(math.MaxInt64)

// wait returns how long the lane itself makes a call wait.
func (n *lane) wait(now int64) (wait time.Duration) {
	q := n.quota
	if q == nil {
		return 0
	}
	if q.concurrent > 0 && n.running >= q.concurrent {
		return forever
	}
	if q.calls > 0 {
		wait = n.sent.wait(q.calls, q.period, now)
	}
	for w := tokens; w < levels; w++ {
		g := &q.tokens[w]
		if !g.on() {
			continue
		}
		own := max(q.reserve[w], 1)
		need := own * int64(n.running+1)
		if need > g.window {
			return forever
		}
		wait = max(wait, time.Duration(max(g.level(n.tats[w], now)+need-g.window, 0)))
	}
	return wait
}

// waitOf returns how long the limits on calls of its subject make a call wait.
func waitOf(a *Admission, now int64) (wait time.Duration) {
	for i := 0; a != nil && i < a.n; i++ {
		at := &a.list[i]
		if g := &at.rates[modelCalls]; g.on() {
			wait = max(wait, g.wait(at.e.level(g, modelCalls, now), g.one))
		}
	}
	return wait
}

// begin charges a call.
func (n *lane) begin(a *Admission, now int64) {
	n.running++
	if n.quota != nil && n.quota.calls > 0 {
		n.sent.times = append(n.sent.times, now)
	}
	for i := 0; a != nil && i < a.n; i++ {
		at := &a.list[i]
		if g := &at.rates[modelCalls]; g.on() {
			at.e.tats[modelCalls] = g.charge(at.e.level(g, modelCalls, now), g.one, now)
		}
	}
}

// lane returns the queue of a model; nil if its calls are not counted. It needs mu.
func (l *Limiter) lane(r *rules, model string) *lane {
	q := r.models[model]
	if q == nil && !r.calls {
		return nil
	}
	n := l.lanes[model]
	if n == nil {
		n = &lane{}
		l.lanes[model] = n
	}
	n.quota = q
	return n
}

// Enter waits until the model with a key may be called for the turn of ctx. The caller calls
// leave when the call is over, with the tokens that it has used. The error is that of a call
// which was limited, as if its provider had said so.
func (l *Limiter) Enter(ctx context.Context, model string) (leave func(tokens int), err error) {
	a, _ := chat.TurnOf(ctx).Admission.(*Admission)
	r := l.rulesNow()
	if r == nil && a == nil {
		return free, nil
	}
	if r == nil {
		return a.Tokens, nil
	}
	l.mu.Lock()
	n := l.lane(r, model)
	if n == nil {
		l.mu.Unlock()
		return a.Tokens, nil
	}
	defer l.mu.Unlock()
	if now := l.now(); len(n.parties) > 0 || n.wait(now) > 0 || waitOf(a, now) > 0 {
		if err := l.await(ctx, r, n, model, a); err != nil {
			return nil, err
		}
	} else {
		n.begin(a, now)
	}
	return func(tokens int) {
		a.Tokens(tokens)
		l.leave(n, tokens)
	}, nil
}

// free is the end of a call that nothing limits.
func free(int) {}

// leave ends a call.
func (l *Limiter) leave(n *lane, used int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.running--
	now := l.now()
	for w := tokens; n.quota != nil && used > 0 && w < levels; w++ {
		if g := &n.quota.tokens[w]; g.on() {
			n.tats[w] = g.charge(g.level(n.tats[w], now), g.cost(used), now)
		}
	}
	l.serve(n)
}

// await waits for the turn of a call. It needs mu, which it gives back meanwhile.
func (l *Limiter) await(ctx context.Context, r *rules, n *lane, model string, a *Admission) error {
	if known := max(known(n.wait(l.now())), waitOf(a, l.now())); known > r.wait {
		return limited(known) // waiting does not help
	}
	began := time.Now()
	w := &waiting{Admission: a, ready: make(chan struct{})}
	n.add(l.partyOf(a), w)
	l.serve(n)
	l.mu.Unlock()
	limit := time.NewTimer(r.wait)
	select {
	case <-w.ready:
	case <-limit.C:
	case <-ctx.Done():
	}
	limit.Stop()
	l.mu.Lock()
	l.waits.Observe(time.Since(began).Seconds(), model)
	if w.admit {
		return nil
	}
	n.remove(w)
	l.serve(n)
	if ctx.Err() != nil {
		return fault.Cause(ctx)
	}
	now := l.now()
	return limited(max(known(n.wait(now)), waitOf(a, now), time.Second))
}

// known returns a wait, 0 if nobody knows how long it is.
func known(wait time.Duration) time.Duration {
	if wait == forever {
		return 0
	}
	return wait
}

// limited is the error of a call that was not made.
func limited(wait time.Duration) error {
	return &fault.Error{Type: fault.ModelRateLimited, Message: "AI service is busy, please try again later", Service: "limits", RetryAfter: wait}
}

// partyOf returns who waits.
func (l *Limiter) partyOf(a *Admission) key {
	if a == nil {
		return key{}
	}
	s := shares(&a.who)
	if s == slots {
		s = addressSlot
	}
	return l.table.keyOf(s, &a.who)
}

// add puts a call at the end of its party.
func (n *lane) add(of key, w *waiting) {
	for _, p := range n.parties {
		if p.key == of {
			p.calls = append(p.calls, w)
			return
		}
	}
	n.parties = append(n.parties, &party{of, []*waiting{w}})
}

// remove takes out a call that does not wait any more.
func (n *lane) remove(w *waiting) {
	for i, p := range n.parties {
		if j := slices.Index(p.calls, w); j >= 0 {
			if p.calls = slices.Delete(p.calls, j, j+1); len(p.calls) == 0 {
				n.parties = slices.Delete(n.parties, i, i+1)
			}
			return
		}
	}
}

// serve lets calls go that may, and looks again when the next one may. It needs mu.
func (l *Limiter) serve(n *lane) {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	for {
		wait := n.next(l.now())
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
				l.serve(n)
			})
		}
		return
	}
}

// next lets one call go, of the party that has waited longest for a turn, and returns 0; or how
// long it takes until one may.
func (n *lane) next(now int64) (wait time.Duration) {
	if len(n.parties) == 0 {
		return forever
	}
	if wait = n.wait(now); wait > 0 {
		return wait
	}
	wait = forever
	for i, p := range n.parties {
		w := p.calls[0]
		if own := waitOf(w.Admission, now); own > 0 {
			wait = min(wait, own)
			continue
		}
		n.begin(w.Admission, now)
		w.admit = true
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
