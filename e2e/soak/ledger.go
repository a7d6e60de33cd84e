// This file adds up the clients' observations, and compares them with the counts of the gateway,
// the model and the tools.

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/e2e/scenario"
)

// ledger is the clients' side of the account. It is safe for concurrent use.
type ledger struct {
	dialer net.Dialer

	mu       sync.Mutex // guards the fields below
	totals   scenario.Totals
	ends     map[string]int // turns by finish reason
	turns    map[string]int // begun, by tenant
	tokens   map[string]int // by tenant, as the model gave them, with guesses for calls that broke off
	reported map[string]int // by tenant, as done said
	guesses  int
	users    map[string]account
	refusals map[string]int // by error type
	belated  int            // of these, refusals of credentials that had been replaced twice
	limits   map[string]int // refusals by the limits that were broken
	calls    map[string]int // tool calls by "server outcome"
	// named has the calls that were not completed, by the same, so that those of a difference can
	// be looked for in the gateway's log.
	named  map[string][]string
	resent int            // requests whose connection was closed without an answer
	cuts   int            // streams that broke off, and were taken up again
	seals  map[string]int // certificates that were seen, by serial number
	proto  map[string]int // replies by version of HTTP
	// Disagreements, by their subject.
	faults map[string][]string
}

// account is the tokens of a user, but of turns that were cancelled.
type account struct{ reported, given int }

func newLedger() *ledger {
	m := func() map[string]int { return map[string]int{} }
	return &ledger{ends: m(), turns: m(), tokens: m(), reported: m(), users: map[string]account{}, refusals: m(), limits: m(), calls: m(), seals: m(), proto: m(), named: map[string][]string{}, faults: map[string][]string{}}
}

// countReply counts a reply.
func (l *ledger) countReply(resp *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proto[resp.Proto]++
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		l.seals[resp.TLS.PeerCertificates[0].SerialNumber.String()]++
	}
}

// countRefusal counts a refusal.
func (l *ledger) countRefusal(no *refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals[no.Type]++
	for _, name := range no.Policies {
		l.limits[name]++
	}
	if no.Type != "rate_limited" && no.Type != "overloaded" {
		l.addFault("refusals but for limits and overload", "%v", no)
	}
}

// countLate counts a refusal of a credential that had been replaced twice when it arrived.
func (l *ledger) countLate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals["unauthorized"]++
	l.belated++
}

// leastHead is how long a gateway waits at least for a handshake or the head of a request: 5 s, and
// 2 s for the first frame of HTTP/2. If the gateway or its client gets CPU time too late, the
// gateway closes the connection.
const leastHead = 2 * time.Second

// mayResend counts a request that got no answer, and says whether it may be sent again: nothing
// may have come of it, or the accounts of turns differ.
func (l *ledger) mayResend(ctx context.Context, u *user, err error, after time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < leastHead || ctx.Err() != nil {
		l.addFault(noAnswer, "of %s: %v, after %v", u.name, err, after)
		return false
	}
	l.resent++
	return true
}

// addFault records a disagreement. The caller must hold mu.
func (l *ledger) addFault(about, format string, args ...any) {
	l.faults[about] = append(l.faults[about], fmt.Sprintf(format, args...))
}

// Subjects of disagreements.
const (
	noAnswer    = "requests without an answer that were not too slow"
	lostStreams = "streams whose client stayed, without exactly one done"
	strayEvents = "streams with events that are not the next one"
	lostEnds    = "turns of clients that left, without a done in their log"
	wrongTokens = "turns whose tokens are not those that the model gave"
	wrongCalls  = "calls whose outcome is not what the tool did"
)

// countTurn counts a turn that has begun. err is what kept its client from the end.
func (l *ledger) countTurn(u *user, o order, v *view, left, cut bool, err error) {
	g, ran := u.model.claimGiven(o.id), u.claimCounts(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.totals.Streams++
	if cut {
		l.cuts++
	}
	switch {
	case left:
		l.totals.ClientLeft++
	case v.dones == 1:
		l.totals.Done++
	default:
		l.totals.Lost++
		l.addFault(lostStreams, "%s (%s): %d done, event %d, %v, %v", o.id, v.turn, v.dones, v.last, err, v.end)
	}
	if left && v.dones != 1 {
		l.addFault(lostEnds, "%s (%s): %d done, %v", o.id, v.turn, v.dones, err)
	}
	if v.stray > 0 {
		l.addFault(strayEvents, "%s (%s): %d", o.id, v.turn, v.stray)
	}
	l.turns[u.tenant]++
	l.ends[v.reason]++
	l.countTokens(u, o, v, g)
	l.countCalls(o, v, ran)
}

// countTokens counts the tokens of a turn. The caller must hold mu.
func (l *ledger) countTokens(u *user, o order, v *view, g given) {
	l.reported[u.tenant] += v.usage.totalTokens()
	if v.reason == "cancelled" { // the model cannot know what of its last words was read
		return
	}
	l.tokens[u.tenant] += g.tokens + g.guess
	if u.tenant != cancelling {
		l.guesses += g.guess
	}
	a := l.users[u.name]
	l.users[u.name] = account{a.reported + v.usage.totalTokens(), a.given + g.tokens}
	if v.usage.totalTokens() != g.tokens {
		l.addFault(wrongTokens, "%s (%s): %d, given %d", o.id, v.turn, v.usage.totalTokens(), g.tokens)
	}
}

// claimCounts returns how often the tools ran for each call of a turn.
func (u *user) claimCounts(v *view) map[string]int {
	n := map[string]int{}
	for id, c := range v.calls {
		n[id] = u.serverOf(c.tool).claimCount(c.order)
	}
	return n
}

// serverOf returns the server that has a tool. An event names none if the server was not
// connected when the turn began.
func (p *place) serverOf(tool string) *tools {
	if tool == p.books.tool {
		return p.books
	}
	return p.facts
}

// countCalls counts the calls of a turn. The caller must hold mu.
func (l *ledger) countCalls(o order, v *view, ran map[string]int) {
	for id, c := range v.calls {
		outcome := c.server + " " + c.status
		l.calls[outcome]++
		if c.status != "completed" {
			l.named[outcome] = append(l.named[outcome], fmt.Sprintf("call %s of turn %s, order %s, which ended as %s", id, v.turn, o.id, v.reason))
		}
		n := ran[id]
		fine := c.status == "completed" || c.status == "failed" || c.status == "unknown"
		if c.tool == "count" {
			fine = fine && n <= 1
		}
		if c.status == "completed" {
			fine = fine && n >= 1
		}
		if !fine {
			l.addFault(wrongCalls, "%s (%s): %q of %q, ran %d times", o.id, v.turn, c.status, c.tool, n)
		}
	}
}

// differingCalls returns the calls among which those are that the gateway counts otherwise, by
// outcome. The caller must hold mu.
func (l *ledger) differingCalls(theirs map[string]int) map[string][]string {
	all := map[string][]string{}
	for outcome, calls := range l.named {
		if l.calls[outcome] != theirs[outcome] {
			all[outcome] = calls
		}
	}
	return all
}

// sumCounts adds up counts.
func sumCounts(counts map[string]int) (n int) {
	for _, m := range counts {
		n += m
	}
	return n
}

// differences returns what two accounts do not have in common; empty: they agree.
func differences(ours, theirs map[string]int) string {
	var all []string
	keys := slices.Sorted(maps.Keys(ours))
	for k := range theirs {
		if _, ok := ours[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if ours[k] != theirs[k] {
			all = append(all, fmt.Sprintf("%s: %d, gateway %d", k, ours[k], theirs[k]))
		}
	}
	return strings.Join(all, "; ")
}

// listCounts writes counts in a line.
func listCounts(counts map[string]int) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return strings.Join(all, ", ")
}
