package main

import (
	"fmt"
	"strings"
	"time"
)

// judgeAccounts sets the accounts against each other.
func (r *run) judgeAccounts(p *place, l *ledger, s *seasons, elapsed time.Duration) {
	f, err := p.readMetrics(r.Ctx)
	r.Must(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Report("turns; a second", "%d; %.1f", l.totals.Streams, float64(l.totals.Streams)/elapsed.Seconds())
	r.Report("replies by version of HTTP", "%s", listCounts(l.proto))
	for _, about := range []string{noAnswer, lostStreams, lostEnds, strayEvents, wrongTokens, wrongCalls, "refusals but for limits and overload"} {
		r.checkEmpty(about, l.faults[about])
	}
	r.Report("requests that were too slow to be read, and sent again", "%d", l.resent)
	// A reader that is too slow for SLUICE_WRITE_TIMEOUT is cut, and comes back for the rest.
	stalls := int(f["sluice_write_stalls_total"])
	r.Check("streams that broke off and were taken up; slow readers cut", l.cuts <= stalls, "as many or fewer", "%d; %d", l.cuts, stalls)
	r.checkEqual("turns by how they ended", l.ends, f.sumByLabel("sluice_streams_total", "finish_reason"))
	if s.refused > 0 {
		l.refusals["unauthorized"] += s.refused
	}
	r.checkEqual("refusals by type", l.refusals, f.sumByLabel("sluice_rejections_total", "error_type"))
	r.checkEqual("calls of tools by server and outcome", l.calls, f.toolCalls())
	for outcome, calls := range l.differingCalls(f.toolCalls()) {
		r.printProgress("one or more of these differ, %s:\n%s", outcome, strings.Join(calls, "\n"))
	}
	r.Exactly("calls of tools that ran twice, of turns that nobody knows", p.books.countTwice(), 0)
	if r.plan.plain {
		return
	}
	r.checkEqual("turns by tenant", l.turns, f.sumByLabel("sluice_tenant_turns_total", "tenant"))
	r.judgeTokens(l, f.sumByLabel("sluice_tenant_tokens_total", "tenant"))
	r.checkEqual("refusals by limit", l.limits, f.sumByLabel("sluice_limit_refusals_total", "limit"))
	r.Report("faults of the model; of the tools", "%d of %d; %d of %d", p.model.failed.Load(), p.model.requests.Load(), p.books.failed+p.facts.failed, p.books.all+p.facts.all)
	r.Exactly("credentials refused, but those that did not count", f.sumByLabel("sluice_auth_total", "outcome")["refused"]-s.refused-l.belated, 0)
	r.Exactly("certificates that clients saw, of those that there were", len(l.seals), s.n)
	r.Report("times that keys, tokens and certificate were replaced", "%d", s.n-1)
}

// judgeTokens compares the tokens that limits have counted with those that the model gave. A call
// that broke off counts by a guess, which done does not have. For the tenant that cancels only a
// bound is known: it was charged the tokens of done, or more.
func (r *run) judgeTokens(l *ledger, counted map[string]int) {
	said, charged := l.reported[cancelling], counted[cancelling]
	delete(l.tokens, cancelling)
	delete(counted, cancelling)
	r.checkEqual("tokens by tenant", l.tokens, counted)
	r.Report("of these, for calls that broke off", "%d", l.guesses)
	r.Check("tokens of "+cancelling+", which cancels: done said, charged", said <= charged, "as much or more", "%d, %d", said, charged)
	r.Check("users whose tokens differ from what the model gave", l.countDiffering() == 0, "0", "%d of %d", l.countDiffering(), len(l.users))
}

// toolCalls returns the figures of tool calls as the ledger has them.
func (f figures) toolCalls() map[string]int {
	all := map[string]int{}
	for server := range f.sumByLabel("sluice_tool_calls_total", "server") {
		of := figures{}
		for series, v := range f {
			if strings.HasPrefix(series, "sluice_tool_calls_total{") && strings.Contains(series, fmt.Sprintf("server=%q", server)) {
				of[series] = v
			}
		}
		for outcome, n := range of.sumByLabel("sluice_tool_calls_total", "outcome") {
			all[server+" "+outcome] += n
		}
	}
	return all
}

// countDiffering counts users with two accounts that differ.
func (l *ledger) countDiffering() (n int) {
	for _, a := range l.users {
		if a.reported != a.given {
			n++
		}
	}
	return n
}

// checkEqual records whether two accounts are the same.
func (r *run) checkEqual(what string, ours, theirs map[string]int) {
	d := differences(ours, theirs)
	if d == "" {
		r.Check(what, true, "as the gateway counts", "%s", listCounts(ours))
		return
	}
	r.Check(what, false, "as the gateway counts", "%s", d)
}

// checkEmpty records whether a list of faults is empty, and shows the first few.
func (r *run) checkEmpty(what string, faults []string) {
	r.Check(what, len(faults) == 0, "0", "%d %s", len(faults), strings.Join(faults[:min(3, len(faults))], "; "))
}

// Bounds of growth: connections to upstreams that stay for the next turn, buffers of pools, and the
// turns of a store in memory (up to 64 MiB by its own account).
const (
	moreHeap        = 24 << 20
	moreOfStore     = 96 << 20
	moreGoroutines  = 40
	moreDescriptors = 40
)

// checkReturned records whether the gateway holds no more than before.
func (r *run) checkReturned(p *place, before held) {
	heap := before.heap + moreHeap
	if r.plan.store == "memory" {
		heap += moreOfStore
	}
	var now held
	r.waitUntil(r.plan.settleTime, func() bool {
		var err error
		now, err = p.measureHeld(r.Ctx)
		r.Must(err)
		return now.heap <= heap && now.goroutines <= before.goroutines+moreGoroutines && now.descriptors <= before.descriptors+moreDescriptors
	})
	mib := func(n int) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
	r.Check("heap in MiB, before and after", now.heap <= heap, "<= "+mib(heap), "%s, %s", mib(before.heap), mib(now.heap))
	r.Check("goroutines", now.goroutines <= before.goroutines+moreGoroutines, fmt.Sprint("<= ", before.goroutines+moreGoroutines), "%d, %d", before.goroutines, now.goroutines)
	if before.descriptors == 0 {
		r.Skip("descriptors", "not known here")
		return
	}
	r.Check("descriptors", now.descriptors <= before.descriptors+moreDescriptors, fmt.Sprint("<= ", before.descriptors+moreDescriptors), "%d, %d", before.descriptors, now.descriptors)
}
