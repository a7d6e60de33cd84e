package limit

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/fault"
)

// Refusal is the error of a request that is beyond a limit. It wraps a *fault.Error.
type Refusal struct {
	Fault *fault.Error
	// Policies names the limits that it is beyond, the one with the longest wait first.
	Policies []string
	// Tenant is the subject's.
	Tenant string

	policy, state string // of the headers
}

// Error returns the text of the fault.
func (e *Refusal) Error() string { return e.Fault.Error() }

// Unwrap leads to the fault.
func (e *Refusal) Unwrap() error { return e.Fault }

// ViolatedPolicies returns Policies.
func (e *Refusal) ViolatedPolicies() []string { return e.Policies }

// SetHeader adds the remaining quota to the header of the reply.
func (e *Refusal) SetHeader(h http.Header) { setHeaders(h, e.policy, e.state) }

// setHeaders sets the headers of draft-ietf-httpapi-ratelimit-headers-11.
func setHeaders(h http.Header, policy, state string) {
	if policy != "" {
		h.Set("RateLimit-Policy", policy)
		h.Set("RateLimit", state)
	}
}

// violation is a limit that a request is beyond. A wait of 0 is until some stream ends.
type violation struct {
	name string
	wait time.Duration
}

// findViolations returns the limits that a request exceeds, or nil. The caller must hold the
// Limiter's lock.
func (t *appliedLimits) findViolations(r *rules, who *Subject, kind Kind, now int64) (all []violation) {
	for i := range t.n {
		all = t.list[i].appendViolations(all, kind, now)
	}
	if kind&Running != 0 && r.share > 0 {
		if e := t.runOf(sharingSlot(who)); e != nil && e.turns >= r.share {
			all = append(all, violation{shareName, 0})
		}
	}
	return all
}

// appendViolations adds the limits of one slot that a request is beyond.
func (at *appliedLimit) appendViolations(all []violation, kind Kind, now int64) []violation {
	w := rateOf(kind)
	if g := at.rateFor(w); g != nil {
		if wait := g.waitFor(at.e.level(g, w, now), g.one); wait > 0 {
			all = append(all, violation{nameOf(at.slot, w), wait})
		}
	}
	if kind&(Running|Watching) == 0 {
		return all
	}
	if at.streams > 0 && at.runningStreams() >= at.streams {
		all = append(all, violation{nameOf(at.slot, streams), 0})
	}
	if kind&Running != 0 {
		all = at.appendLacking(all, at.runningTurns()+1, now)
	}
	return all
}

// runningStreams returns how many streams run, here and elsewhere.
func (at *appliedLimit) runningStreams() int32 {
	if at.run == nil {
		return 0
	}
	return at.runningTurns() + at.run.watchers + int32(at.others.Watchers)
}

// runningTurns returns how many turns run, here and elsewhere.
func (at *appliedLimit) runningTurns() int32 {
	if at.run == nil {
		return 0
	}
	return at.run.turns + int32(at.others.Turns)
}

// runOf returns the entry that counts the streams of a slot, or nil.
func (t *appliedLimits) runOf(s slot) *entry {
	for i := range t.n {
		if t.list[i].slot == s {
			return t.list[i].run
		}
	}
	return nil
}

// appendLacking adds the quotas of tokens that do not have the reserve of so many turns.
func (at *appliedLimit) appendLacking(all []violation, turns int32, now int64) []violation {
	if !at.plan.tokens {
		return all
	}
	for w := tokens; w < levels; w++ {
		g := &at.rates[w]
		if !g.isSet() {
			continue
		}
		level, own := at.e.level(g, w, now), max(at.reserve[w], 1)
		need := own * int64(turns)
		if level+need > g.window {
			if need > g.window { // until others have ended
				need = own
			}
			all = append(all, violation{nameOf(at.slot, w), time.Duration(max(level+need-g.window, 0))})
		}
	}
	return all
}

// newRefusal returns the error of a request. The caller must hold mu.
func (l *Limiter) newRefusal(who *Subject, t *appliedLimits, kind Kind, all []violation, now int64) error {
	worst := 0
	for i, v := range all {
		if v.wait > all[worst].wait {
			worst = i
		}
	}
	all[0], all[worst] = all[worst], all[0]
	e := &Refusal{Tenant: who.Tenant}
	for _, v := range all {
		e.Policies = append(e.Policies, v.name)
		l.refusals.Inc(v.name)
	}
	wait := all[0].wait
	if wait == 0 {
		wait = time.Second + rand.N(4*time.Second)
	} else {
		wait += rand.N(wait/10 + 1) // not all come back at once
	}
	e.Fault = &fault.Error{Type: fault.RateLimited, Message: messageOf(all[0].name), RetryAfter: wait}
	e.policy, e.state = t.headerValues(kind, now, all[0].name, wait)
	return e
}

// messageOf words the name of a limit for a person.
func messageOf(name string) string {
	switch {
	case strings.Contains(name, "tokens"):
		return "The quota of tokens is used up (" + name + "); try again later"
	case strings.HasSuffix(name, "-streams"), name == shareName:
		return "Too many streams at a time (" + name + "); try again in a moment"
	}
	return "Too many requests (" + name + "); try again later"
}

// Headers adds the remaining quota to a reply. It works on nil.
func (a *Admission) Headers(h http.Header) {
	if a == nil {
		return
	}
	a.limiter.mu.Lock()
	defer a.limiter.mu.Unlock()
	policy, state := a.headerValues(a.kind, a.limiter.now(), "", 0)
	setHeaders(h, policy, state)
}

// headerValues returns the values of RateLimit-Policy and RateLimit: for each unit the limit that
// is nearest its end. The one named violated ends at wait, as Retry-After says.
func (t *appliedLimits) headerValues(kind Kind, now int64, violated string, wait time.Duration) (policy, state string) {
	var policies, states []string
	add := func(f figure) {
		if f.name == "" {
			return
		}
		p, s := f.headerItems()
		if f.name == violated {
			s = strconv.Quote(f.name) + ";r=0;t=" + strconv.Itoa(ceilSeconds(wait))
		}
		policies, states = append(policies, p), append(states, s)
	}
	if w := rateOf(kind); w != levels {
		add(t.nearestRate(w, w+1, violated, now))
	}
	if kind&(Running|Watching) != 0 {
		add(t.nearestStreams(violated))
	}
	if kind&Running != 0 {
		add(t.nearestRate(tokens, levels, violated, now))
	}
	if violated == shareName {
		add(figure{name: shareName})
	}
	return strings.Join(policies, ", "), strings.Join(states, ", ")
}

// figure is a limit in a header.
type figure struct {
	name       string
	quota      int
	window     time.Duration // 0: of streams
	remaining  int
	resetAfter time.Duration // until all of it is left
	unit       string
	part       float64 // that remains
}

// headerItems returns the members of the two lists.
func (f *figure) headerItems() (policy, state string) {
	policy, state = strconv.Quote(f.name), fmt.Sprintf("%q;r=%d", f.name, f.remaining)
	if f.quota > 0 {
		policy += ";q=" + strconv.Itoa(f.quota)
	}
	if f.unit != "" {
		policy += `;qu="` + f.unit + `"`
	}
	if f.window > 0 {
		policy += ";w=" + strconv.Itoa(ceilSeconds(f.window))
		state += ";t=" + strconv.Itoa(ceilSeconds(f.resetAfter))
	}
	return policy, state
}

// ceilSeconds rounds up.
func ceilSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// nearestRate returns the rate nearest its end among the resources in [from, to), or the rate named
// violated, if it is among them.
func (t *appliedLimits) nearestRate(from, to resource, violated string, now int64) (found figure) {
	for i := range t.n {
		at := &t.list[i]
		for w := from; w < to; w++ {
			g := &at.rates[w]
			if !g.isSet() {
				continue
			}
			level := at.e.level(g, w, now)
			f := figure{name: nameOf(at.slot, w), quota: g.burst, window: time.Duration(g.window), remaining: g.remainingAt(level), resetAfter: time.Duration(level)}
			f.part = float64(g.window-level) / float64(g.window)
			if w >= tokens {
				f.unit = "tokens"
			}
			found = found.moreUrgent(f, violated)
		}
	}
	return found
}

// nearestStreams is nearestRate for streams.
func (t *appliedLimits) nearestStreams(violated string) (found figure) {
	for i := range t.n {
		at := &t.list[i]
		if at.streams == 0 {
			continue
		}
		left := max(0, at.streams-at.runningStreams())
		found = found.moreUrgent(figure{
			name: nameOf(at.slot, streams), quota: int(at.streams), remaining: int(left), unit: "concurrent-requests", part: float64(left) / float64(at.streams),
		}, violated)
	}
	return found
}

// moreUrgent returns which of two is shown.
func (f figure) moreUrgent(g figure, violated string) figure {
	if f.name == "" || g.name == violated || f.name != violated && g.part < f.part {
		return g
	}
	return f
}
