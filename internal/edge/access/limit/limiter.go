// Package limit counts the requests, streams and tokens of each user, tenant and address, and
// refuses those beyond a limit.
//
// The generic cell rate algorithm counts rates with one number for each: the time until all charges
// have drained. It is the same here and in a store that several gateways share. The tokens of a
// turn are known only afterwards. So a turn begins if there is room for a reserve, for itself and
// each running turn. Its use beyond the reserve is a debt.
//
// A request is charged to all its limits or to none.
//
// The verbs: charge and refund (levels), admit (a request), publish (to the store), learn (from the
// store), recall (after a restart), serve (the queue of a model).
package limit

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
)

// Kind is a set of the things that a request is charged for.
type Kind uint8

// Kinds of charges.
const (
	Request  Kind = 1 << iota // it starts a turn
	Read                      // it is any other request
	Running                   // a turn that runs, until Admission.End
	Watching                  // a stream that only watches, as long
)

// Subject is the sender of a request. The zero value is unknown: only the limits of all requests
// together hold for it.
type Subject struct {
	// User is the owner of the request's results, within Tenant; empty if unknown.
	User   string
	Tenant string
	// Class of the credential; empty: it names none.
	Class string
	// Address counts if User is empty. Addresses of one prefix count together, such as the /64 of
	// IPv6.
	Address netip.Prefix
}

// maxEntries bounds the subjects in the table.
const maxEntries = 100_000

// Config describes a Limiter.
type Config struct {
	Spec    Spec
	Tenants Tenants
	// Places is how many turns may run at once in this process; Spec.Share is a part of it. 0:
	// it is not shared.
	Places int
	Sharing
	Metrics *metrics.Registry
	Log     zerolog.Logger
}

// Limiter counts. It is safe for concurrent use. A nil *Limiter limits nothing.
type Limiter struct {
	rules  atomic.Pointer[rules] // nil: nothing is limited
	places int
	began  time.Time // all times are counted from it
	sharing
	figures

	mu    sync.Mutex // guards the fields below
	table table
	all   entry // of the slot global
	lanes lanes
}

// New returns a Limiter. The caller closes it.
func New(cfg Config) *Limiter {
	l := &Limiter{places: cfg.Places, began: time.Now(), table: newTable(maxEntries), lanes: lanes{}, sharing: sharing{Sharing: cfg.Sharing, log: cfg.Log}}
	l.registerMetrics(cfg.Metrics)
	l.Use(cfg.Spec, cfg.Tenants)
	l.startPublisher()
	return l
}

// Use makes the two sections those that hold from now on. Charges stay, up to the highest level
// that the new rules allow.
func (l *Limiter) Use(s Spec, t Tenants) {
	if l == nil {
		return
	}
	r := newRules(s, t, l.places)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rules.Swap(r); r == nil {
		return
	}
	now := l.now()
	for _, e := range l.table.entries {
		e.cutLevels(r.ratedBy(e.of), now)
	}
	l.all.cutLevels(r.plans[globalSlot], now)
	for model, n := range l.lanes {
		if q := r.models[model]; q != nil {
			n.cutLevels(q.plan, now)
		}
	}
}

// now returns the time of the process's monotonic clock. A change of the system's clock does not
// move it.
func (l *Limiter) now() int64 { return int64(time.Since(l.began)) }

// appliedLimit is a limit that a request is counted by.
type appliedLimit struct {
	*plan
	slot slot
	// e has the levels and run the streams; they differ for the plan of a class. nil: nothing is known
	// of the subject.
	e, run *entry
	// others run in other processes, as the store said when it was asked.
	others store.Running
}

// appliedLimits are those of a request: of its user, its tenant or address, and all together.
type appliedLimits struct {
	list [slots]appliedLimit
	n    int
}

// limitsFor returns the limits that apply to a subject, with their entries. If makes is true, it
// adds missing entries. The caller must hold mu.
func (l *Limiter) limitsFor(r *rules, who *Subject, makes bool, now int64) (t appliedLimits) {
	sharing := slots
	if r.share > 0 {
		sharing = sharingSlot(who)
	}
	for s := range slots {
		p := r.planFor(s, who)
		if p == nil && s == sharing {
			p = r.unlimited
		}
		if p == nil {
			continue
		}
		at := &t.list[t.n]
		at.plan, at.slot = p, s
		at.run = l.entryFor(s, who, "", makes, now)
		if at.e = at.run; s == userSlot && p.class != "" {
			at.e = l.entryFor(s, who, p.class, makes, now)
		}
		t.n++
	}
	return t
}

// entryFor returns the entry of a subject in a slot by the plan of a class; nil: it is missing, and
// makes is false. The caller must hold mu.
func (l *Limiter) entryFor(s slot, who *Subject, class string, makes bool, now int64) *entry {
	switch {
	case s == globalSlot:
		return &l.all
	case makes:
		e, _ := l.table.findOrMake(s, who, class, now)
		return e
	}
	return l.table.findEntry(s, who, class)
}

// Check refuses a request if a limit is reached by this process's own counts. It charges nothing,
// asks no store and allocates nothing unless it refuses.
func (l *Limiter) Check(who Subject, kind Kind) error {
	r := l.rulesNow()
	if r == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	t := l.limitsFor(r, &who, false, now)
	if v := t.findViolations(r, &who, kind, now); v != nil {
		return l.newRefusal(&who, &t, kind, v, now)
	}
	return nil
}

// Admit charges a request, or refuses it. The caller calls End of the Admission, also of a nil one.
// An error is a *Refusal, or a *fault.Error where the store that counts for all gateways is
// unavailable.
func (l *Limiter) Admit(ctx context.Context, who Subject, kind Kind) (*Admission, error) {
	r := l.rulesNow()
	if r == nil {
		return nil, nil
	}
	a := &Admission{limiter: l, kind: kind, subject: who}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admitLocked(ctx, r, a); err != nil {
		return nil, err
	}
	if kind&Running != 0 && r.hasTenant(who.Tenant) {
		l.turns.Inc(who.Tenant)
	}
	return a, nil
}

// admitLocked is Admit. The caller must hold mu.
func (l *Limiter) admitLocked(ctx context.Context, r *rules, a *Admission) error {
	now := l.now()
	a.appliedLimits = l.limitsFor(r, &a.subject, true, now)
	if l.Alone {
		l.recallSubjects(ctx, &a.subject, &a.appliedLimits)
		now = l.now()
	}
	if v := a.findViolations(r, &a.subject, a.kind, now); v != nil {
		return l.newRefusal(&a.subject, &a.appliedLimits, a.kind, v, now)
	}
	if l.isShared() {
		return l.admitShared(ctx, r, &a.subject, &a.appliedLimits, a.kind)
	}
	a.countStreams(a.kind, 1)
	a.chargeRate(a.kind, now)
	return nil
}

// Continue is Admit for a turn that continues, or a run that was taken over. It refuses nothing and
// charges no request.
func (l *Limiter) Continue(who Subject) *Admission {
	r := l.rulesNow()
	if r == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &Admission{limiter: l, appliedLimits: l.limitsFor(r, &who, true, l.now()), kind: Running, subject: who}
	if l.hasStore() {
		a.nameAll(&who)
	}
	a.countStreams(Running, 1)
	l.publishLater(a, true)
	return a
}

// rateOf returns the rate that a kind of request is charged to, or levels without such a rate.
func rateOf(k Kind) resource {
	switch {
	case k&Request != 0:
		return requests
	case k&Read != 0:
		return reads
	}
	return levels
}

// rateFor returns a rate of the plan, or nil without a limit.
func (p *plan) rateFor(w resource) *gcra {
	if w == levels || !p.rates[w].isSet() {
		return nil
	}
	return &p.rates[w]
}

// chargeRate charges a request to its rates. The caller must hold the Limiter's lock, also for
// countStreams.
func (t *appliedLimits) chargeRate(kind Kind, now int64) {
	w := rateOf(kind)
	for i := range t.n {
		at := &t.list[i]
		if g := at.rateFor(w); g != nil {
			at.e.tats[w] = g.charge(at.e.level(g, w, now), g.one, now)
		}
	}
}

// countStreams adds to the streams that run.
func (t *appliedLimits) countStreams(kind Kind, by int32) {
	if kind&(Running|Watching) != 0 {
		t.pinEntries(by)
	}
	for i := range t.n {
		run := t.list[i].run
		if kind&Running != 0 {
			run.turns += by
		}
		if kind&Watching != 0 {
			run.watchers += by
		}
	}
}

// pinEntries has the table keep the entries while somebody holds them. The caller must hold the
// Limiter's lock.
func (t *appliedLimits) pinEntries(by int32) {
	for i := range t.n {
		t.list[i].e.pins += by
		t.list[i].run.pins += by
	}
}

// Admission is a request that was admitted. nil is one that nothing limits.
type Admission struct {
	limiter *Limiter
	appliedLimits
	kind    Kind
	subject Subject
	ended   bool // the lock of limiter guards it
}

// Tokens charges the tokens of a model call. It may be called again, and after End.
func (a *Admission) Tokens(n int) {
	if a == nil || n <= 0 {
		return
	}
	l := a.limiter
	if r := l.rulesNow(); r != nil && r.hasTenant(a.subject.Tenant) {
		l.tokens.Add(float64(n), a.subject.Tenant)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for i := range a.n {
		at := &a.list[i]
		if !at.plan.tokens {
			continue
		}
		for w := tokens; w < levels; w++ {
			if g := &at.rates[w]; g.isSet() {
				at.e.tats[w] = g.charge(at.e.level(g, w, now), g.cost(n), now)
			}
		}
		if l.hasStore() {
			at.e.plan, at.e.owed = at.plan, at.e.owed+int64(n)
		}
	}
	l.publishLater(a, a.ended)
}

// rulesNow returns the current rules, or nil without any. It works on nil.
func (l *Limiter) rulesNow() *rules {
	if l == nil {
		return nil
	}
	return l.rules.Load()
}

// End says that the stream is over. It may be called again.
func (a *Admission) End() {
	if a == nil {
		return
	}
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.ended {
		return
	}
	a.ended = true
	a.countStreams(a.kind, -1)
	l.publishLater(a, true)
}

// Cancel refunds the charge of a request that did not run.
func (a *Admission) Cancel() {
	if a == nil {
		return
	}
	a.End()
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	w := rateOf(a.kind)
	for i := range a.n {
		at := &a.list[i]
		if g := at.rateFor(w); g != nil {
			at.e.tats[w] -= g.one
			if l.isShared() {
				at.e.plan, at.e.refunded = at.plan, at.e.refunded+1
			}
		}
	}
	a.kind &^= Request | Read
	l.publishLater(a, true)
}

// publishLater queues the changed counts of an admission for the store. The caller must hold mu.
func (l *Limiter) publishLater(a *Admission, atOnce bool) {
	for i := range a.n {
		l.enqueueBoth(&a.list[i], atOnce)
	}
}

// withoutLock calls f with mu unlocked. The caller must hold mu, and holds it again afterwards,
// also after a panic of f.
func (l *Limiter) withoutLock(f func()) {
	l.mu.Unlock()
	defer l.mu.Lock()
	f()
}
