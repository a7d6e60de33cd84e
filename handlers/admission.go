package handlers

import (
	"runtime"
	"time"
)

// The figures of the law of admission. docs/adr/0008-admission-by-delay.md has the reasons, and
// docs/performance.md the measurements.
const (
	// lookEvery is how often the law looks at the delay, at most.
	lookEvery = 100 * time.Millisecond
	// tolerable is the delay that is aimed at under overload. A turn waits for the CPU
	// some ten times before its first text.
	tolerable = 50 * time.Millisecond
	// calmAfter is how long no stream was refused before the limit is lifted.
	calmAfter = time.Second
)

// law is a limit on streams that adapts to how long work waits for the CPU. While the delay is
// tolerable, streams are not limited: neither their number nor a busy machine is a reason to
// refuse, only work that piles up. Its zero value is without a limit and must not be used; see
// newLaw. It keeps no time and no lock of its own.
//
// The limit moves by the number of streams that end, not of those that run. A thousand streams that
// wait for a slow model neither cause the delay, nor would fewer of them relieve it.
type law struct {
	floor int // the limit is never lower

	limit float64       // 0: without a limit
	slow  bool          // at the last look
	step  float64       // last rise of the limit
	calm  time.Duration // for how long no stream was refused
}

// newLaw returns the law for a machine with so many cores. The floor costs a turn little latency
// even if all streams need the CPU at once: 32 turns a core.
func newLaw(cores int) law { return law{floor: 32 * cores} }

// look holds the observations since the last look.
type look struct {
	elapsed time.Duration
	delay   time.Duration // how long work waited for the CPU
	active  int           // streams that run now
	ended   int           // streams that ended
	refused int           // streams that were not admitted
}

// moveLimit moves the limit.
func (l *law) moveLimit(k look) {
	slow := k.delay > tolerable
	switch {
	case l.limit > 0 && slow:
		l.lowerLimit(k)
	case l.limit > 0:
		l.raiseLimit(k)
	case slow && l.slow: // a standing queue, not the burst of a moment
		l.limit = float64(k.active)
		l.lowerLimit(k)
	}
	l.slow = slow
}

// lowerLimit replaces only some of the streams that ended: half of them at twice the tolerable
// delay, and no stream at three times.
func (l *law) lowerLimit(k look) {
	l.calm, l.step = 0, 0
	excess := min(1, (float64(k.delay)/float64(tolerable)-1)/2)
	l.limit = min(l.limit, float64(k.active)) - excess*float64(k.ended)
	l.limit = max(l.limit, float64(l.floor))
}

// raiseLimit admits up to a quarter more than ended, or twice as many more as at the last look:
// streams of minutes end too seldom to go by. It admits fewer when the delay comes near the
// tolerable one. When no stream was refused for a while, the limit is lifted.
func (l *law) raiseLimit(k look) {
	room := 1 - float64(k.delay)/float64(tolerable)
	l.step = max(1, 2*l.step)
	l.limit += room * max(l.step, float64(k.ended)/4)
	if k.refused > 0 {
		l.calm = 0
	} else if l.calm += k.elapsed; l.calm >= calmAfter {
		l.limit, l.step = 0, 0
	}
}

// admitsStream reports whether one more stream may run alongside those that are active.
func (l *law) admitsStream(active int) bool { return l.limit == 0 || float64(active) < l.limit }

// admission applies the law to a gate, whose lock guards it. Arrivals drive it: it works without a
// timer, as only an arrival needs a decision.
type admission struct {
	delay func() time.Duration // since the last call; nil: everything is admitted
	law   law
	least int // so many are admitted between two looks, whatever the law says
	last  time.Time

	admitted, ended, refused int // since last
}

// newAdmission returns the admission by delay. With a nil delay it admits all.
func newAdmission(delay func() time.Duration) admission {
	cores := runtime.GOMAXPROCS(0)
	return admission{delay: delay, law: newLaw(cores), least: cores, last: time.Now()}
}

// admitsNow reports whether one more stream may run now.
func (a *admission) admitsNow(active int) bool {
	if a.delay == nil {
		return true
	}
	if now := time.Now(); now.Sub(a.last) >= lookEvery {
		a.law.moveLimit(look{now.Sub(a.last), a.delay(), active, a.ended, a.refused})
		a.last, a.admitted, a.ended, a.refused = now, 0, 0, 0
	}
	ok := a.law.admitsStream(active) || a.admitted < a.least
	if !ok {
		a.refused++
	}
	return ok
}
