// This file runs many turns over two gateways, some of whose clients drop or cancel, restarts Redis
// in the middle, and then sets four views of each turn against each other: what its client saw, the
// log, the task, and the tool server's count. Each fault names the view that does not agree with
// the others.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// fate is the behaviour of a client during its turn.
type fate int

const (
	stays   fate = iota
	drops        // it loses its connection, and continues at the other gateway
	cancels      // it asks the other gateway to cancel the turn
)

// loadTurn is one of many turns, as its client has seen it.
//
// Only one goroutine uses it at a time: its client's, and then its judge's.
type loadTurn struct {
	order  order
	fate   fate
	at     *gateway // that runs it
	view   *view
	digest string // view.digest; the hash itself is not kept
	// err is the reason why its client did not see the end. errGone: the gateway does not have the
	// log.
	err error
	// began and ended are on the client's clock, to be compared with the outage.
	began, ended time.Time
}

// fateOf spreads the fates evenly: of 100 turns 5 lose their connection and 2 are cancelled.
// It is a function of the number, so that a run can be repeated.
func fateOf(i int) fate {
	switch i % 100 {
	case 7, 27, 47, 67, 87:
		return drops
	case 13, 63:
		return cancels
	}
	return stays
}

// loader is the load and its clients. Each turn belongs to the one client that plays it,
// and later to the one that judges it.
type loader struct {
	*place
	c     *client
	turns []loadTurn
	next  atomic.Int64 // the number of the next turn that a client takes
	// down is when Redis was killed, and back is when it answered again.
	down, back time.Time
}

// reconcileLoad runs many turns over both gateways and restarts Redis in the middle. Then it
// compares the clients' views, the logs, the tasks and the counts of the tools.
func reconcileLoad(r *run) {
	l := &loader{place: r.startPlace(options{}), c: newClient(), turns: make([]loadTurn, r.sizes.load)}
	began := time.Now()
	var wait sync.WaitGroup
	for range r.sizes.clients {
		wait.Go(func() { l.handOutNumbers(len(l.turns), func(i int) { l.playTurn(r.Ctx, i) }) })
	}
	r.awaitBegun(l, len(l.turns)/2)
	l.down = time.Now()
	l.redis.kill()
	// Long enough for the gateways to notice, as a restart by hand is. Then it reads its file, all
	// that was confirmed before, which takes as long as it takes.
	r.Pause(time.Second)
	r.Must(l.redis.start())
	l.back = time.Now()
	down := l.back.Sub(l.down)
	r.printProgress("Redis was unavailable for %s", down.Round(time.Millisecond))
	r.awaitBegun(l, len(l.turns))
	wait.Wait()
	elapsed := time.Since(began)
	r.printProgress("all turns are over after %s", elapsed.Round(time.Second))
	// A turn that is still open after this pause is lost. Owners that could not write a last state
	// during the outage write it with their next lease.
	r.Pause(6 * time.Second)
	r.judgeLoad(l)
	r.Report("turns a second; Redis was unavailable for", "%.0f; %s", float64(len(l.turns))/elapsed.Seconds(), down.Round(10*time.Millisecond))
}

// awaitBegun waits until so many turns have begun, and says now and then how many.
//
// It gives up with the scenario's time.
func (r *run) awaitBegun(l *loader, n int) {
	// The number is that of turns taken: when the last one is, some are still under way.
	for said := time.Now(); l.next.Load() < int64(n); r.Pause(20 * time.Millisecond) {
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			r.printProgress("%d turns have begun", l.next.Load())
		}
	}
}

// handOutNumbers gives numbers below n to f, each to one of those who call it. It returns when all
// are handed out, so that waiting for all callers is waiting for the end of all.
func (l *loader) handOutNumbers(n int, f func(i int)) {
	for {
		i := int(l.next.Add(1)) - 1
		if i >= n {
			return
		}
		f(i)
	}
}

// playTurn runs the turn of one client. It reads to the end, whatever happens: if a gateway reports
// the end too early, the missing events are a fault of the gateways.
func (l *loader) playTurn(ctx context.Context, i int) {
	t := &l.turns[i]
	*t = loadTurn{order: order{id: fmt.Sprint("l", i), words: 8, every: 4 * time.Millisecond}, fate: fateOf(i), at: l.a, view: newView(), began: time.Now()}
	middle := 2 + i%5
	switch {
	case t.fate == cancels: // in the middle of an answer that would take a second
		t.order.words, t.order.every, middle = 50, 20*time.Millisecond, 3
	case i%4 == 3:
		t.order.calls = 1
	}
	if i%2 == 1 {
		t.at = l.b
	}
	// A different place for each turn: behind the start, in a call, in the answer.
	v, seen := t.view, 0
	var cancelling sync.WaitGroup
	err := l.c.readStream(ctx, func(f events.Event) bool {
		v.accept(f)
		if seen++; seen != middle || v.task == "" || v.dones > 0 { // a turn that is not kept cannot be taken up
			return true
		}
		if t.fate == cancels {
			cancelling.Go(func() { l.cancelTask(ctx, l.otherGateway(t.at), v.task) })
		}
		return t.fate != drops
	}, http.MethodPost, t.at.url+"/chat/stream", fmt.Sprintf(`{"input":%q,"accumulated":false}`, t.order))
	cancelling.Wait()
	if v.dones == 0 && v.task != "" {
		err = l.c.followTurn(ctx, v, l.otherGateway(t.at).url)
	}
	t.err, t.digest, t.ended = err, v.digest(), time.Now()
	v.sum = nil // it is most of the memory of 100,000 turns
}

// inOutage reports whether the store was unavailable during a turn: from when Redis was
// killed to when the gateways use it again, for their breakers stay open for 5 s, and
// leases are renewed every 5 s.
func (l *loader) inOutage(t *loadTurn) bool {
	return t.ended.After(l.down) && t.began.Before(l.back.Add(11*time.Second))
}

// cancelTask asks a gateway to cancel a task. A refusal is not a fault: the turn may have ended, or
// the store unavailable. The end of the turn shows what became of the request.
func (l *loader) cancelTask(ctx context.Context, g *gateway, task string) {
	resp, err := l.c.sendRequest(ctx, http.MethodPost, g.url+"/tasks/"+task+"/cancel", "")
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// balance is the result of comparing the views of all turns.
//
// Texts of faults name the turn, so that its log can be looked at.
type balance struct {
	mu sync.Mutex // guards the fields below
	// Faults, by the view that does not agree with the others.
	clients, logs, states, tools []string
	// Turns in the store; turns without a task and turns without a log, because the store was
	// unavailable. unexplained counts the last two kinds outside the outage.
	stored, unstored, withoutLog, unexplained int
	// Turns that were taken up elsewhere, that were cancelled, that were over before they
	// could be, and that called a tool.
	dropped, cancelled, early, withTool int
}

// judgeLoad compares all views of all turns. Each log and task is read at the gateway
// that did not run the turn.
func (r *run) judgeLoad(l *loader) {
	var b balance
	l.next.Store(0)
	var wait sync.WaitGroup
	for range r.sizes.clients {
		wait.Go(func() {
			l.handOutNumbers(len(l.turns), func(i int) {
				l.judgeTurn(r.Ctx, &l.turns[i], &b)
			})
		})
	}
	wait.Wait()
	n := len(l.turns)
	r.Row.Totals = l.countStreams()
	r.checkEmpty(fmt.Sprintf("of %d clients, without one done at the end of all", n), b.clients)
	r.checkEmpty("logs that are not, byte for byte, what the client saw", b.logs)
	r.checkEmpty("tasks whose state is not that of the last event", b.states)
	r.checkEmpty("turns whose calls and the tool server's do not agree", b.tools)
	_, most := l.tools.sumCalls()
	r.Check("a tool ran, for one call, at most", most == 1, "1", "%d (%d turns called it)", most, b.withTool)
	r.Report("turns kept; not kept; without a log; these, outside the outage", "%d; %d; %d; %d", b.stored, b.unstored, b.withoutLog, b.unexplained)
	r.Report("taken up elsewhere; cancelled; over before the cancel", "%d; %d; %d", b.dropped, b.cancelled, b.early)
}

// countStreams counts the streams. Clients that lose their connection stay: they continue elsewhere.
func (l *loader) countStreams() (t scenario.Totals) {
	for i := range l.turns {
		v := l.turns[i].view
		switch {
		case v.last == 0: // it was refused, or nobody answered
			continue
		case v.dones == 1:
			t.Done++
		default:
			t.Lost++
		}
		t.Streams++
	}
	return t
}

// judgeTurn compares the views of one turn. While the store is unavailable, the contract allows two
// gaps. A new turn is without a task, and a turn whose events could not be stored is without a log.
// Even then the turn has its end, and a task has its state.
func (l *loader) judgeTurn(ctx context.Context, t *loadTurn, b *balance) {
	v, gone := t.view, errors.Is(t.err, errGone)
	var clients, logs, states []string
	kept := v.task != ""
	if !gone && (v.dones != 1 || v.stray > 0 || t.err != nil) {
		clients = append(clients, fmt.Sprintf("%s (%s): %d done, %d stray, %v", t.order.id, v.turn, v.dones, v.stray, t.err))
	}
	if kept {
		var lost bool
		logs, lost = l.judgeLog(ctx, t)
		gone = gone || lost
		states = l.judgeState(ctx, t)
	}
	var tools []string
	if v.dones > 0 { // a turn without done is a fault already
		tools = miscounted(l.tools, t.order, v)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients, b.logs, b.states, b.tools = append(b.clients, clients...), append(b.logs, logs...), append(b.states, states...), append(b.tools, tools...)
	b.countTurn(t, kept, gone)
	if (gone || !kept) && !l.inOutage(t) {
		b.unexplained++
	}
}

// judgeLog reads the log of a turn from its first event, like a late reader. gone is true if the
// log is missing.
func (l *loader) judgeLog(ctx context.Context, t *loadTurn) (faults []string, gone bool) {
	v, whole := t.view, newView()
	whole.task, whole.turn = v.task, v.turn
	err := l.c.followTurn(ctx, whole, l.otherGateway(t.at).url)
	if errors.Is(err, errGone) {
		return nil, true
	}
	if err != nil || whole.digest() != t.digest || whole.stray > 0 {
		faults = append(faults, fmt.Sprintf("%s (%s, fate %d): %d events to %s, seen %d to %s, %d stray, %v", t.order.id, v.turn, t.fate, whole.last, whole.reason, v.last, v.reason, whole.stray, err))
	}
	return faults, false
}

// judgeState compares the state of a turn's task with its last event.
func (l *loader) judgeState(ctx context.Context, t *loadTurn) (faults []string) {
	v := t.view
	d, err := l.c.readTask(ctx, l.otherGateway(t.at).url, v.task)
	if want := stateOf(v); err != nil || d.Status.State != want && (v.dones > 0 || d.Status.State == "working") {
		faults = append(faults, fmt.Sprintf("%s is %q, not %s, %v", v.task, d.Status.State, want, err))
	}
	return faults
}

// countTurn adds a turn to the totals of the report. The caller holds the lock.
func (b *balance) countTurn(t *loadTurn, kept, gone bool) {
	switch {
	case !kept:
		b.unstored++
	case gone:
		b.withoutLog++
	default:
		b.stored++
	}
	if len(t.view.calls) > 0 {
		b.withTool++
	}
	switch {
	case t.fate == drops && kept:
		b.dropped++
	case t.fate == cancels && strings.HasPrefix(t.view.reason, "cancel"):
		b.cancelled++
	case t.fate == cancels && kept:
		b.early++
	}
}
