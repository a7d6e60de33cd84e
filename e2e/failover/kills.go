// This file kills one of three gateways after the other while turns run whose tools pay. Each turn
// is gone on with by another gateway, and nobody pays twice for it.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// leaseOfKills is how long a killed gateway counts as alive in this row. slower is the most time
// that a turn may lose by it: twice that, and the repeated work.
const (
	leaseOfKills = 3 * time.Second
	slower       = 8 * time.Second
)

// paidTurn is a turn that pays, as its client has seen it: it reads on at another gateway where a
// connection breaks. Only one goroutine uses it at a time.
type paidTurn struct {
	order        order
	view         *view
	text         shownText
	keys         int // idempotency keys that were used
	began, ended time.Time
	last         time.Time       // of its events
	silent       []time.Duration // before the first event of each gateway that went on
	err          error
}

// shownText is the text of a turn, put together in both ways that a client may use.
type shownText struct {
	joined      string // of the deltas, by the rule for text that is taken back
	accumulated string // as the last event said that has it
	final       string // as done has it
	output      bool   // done was there
	resets      int
	takeovers   int
	differ      int // events after which the two differed
}

// formsAgree reports whether all forms of the text are the same.
func (t *shownText) formsAgree() bool {
	return t.differ == 0 && t.joined == t.accumulated && t.joined == t.final
}

// accept adds an event.
func (t *shownText) accept(f events.Event) {
	switch f.Name {
	case "response_delta", "response_reset", "done":
	default:
		return
	}
	var d struct {
		Delta       string
		Accumulated string
		Final       string `json:"final_output"`
		Takeovers   int
	}
	if json.Unmarshal(f.Data, &d) != nil {
		t.differ++
		return
	}
	switch f.Name {
	case "response_delta":
		t.joined, t.accumulated = t.joined+d.Delta, d.Accumulated
	case "response_reset":
		t.joined, t.accumulated = d.Accumulated, d.Accumulated
		t.resets++
	case "done":
		t.final, t.takeovers, t.output = d.Final, d.Takeovers, true
	}
	if t.joined != t.accumulated {
		t.differ++
	}
}

// accept adds an event.
func (t *paidTurn) accept(f events.Event) {
	if now := time.Now(); f.N == t.view.takeoverNumber() && t.view.last > 0 {
		t.silent, t.last = append(t.silent, now.Sub(t.last)), now
	} else {
		t.last = now
	}
	t.text.accept(f)
}

// payers keep so many turns alive at the three gateways.
type payers struct {
	p      *place
	c      *client
	urls   []string
	prefix string
	next   atomic.Int64

	mu    sync.Mutex // guards turns
	turns []*paidTurn
}

// killOneByOne has turns run without any kill, and then while one gateway after the other is killed.
func killOneByOne(r *run) {
	p := r.startPlace(options{third: true, lease: leaseOfKills})
	p.tools.hold = 500 * time.Millisecond
	gateways := []*gateway{p.a, p.b, p.c}
	calm := r.runPayers(p, "calm", r.sizes.calm, nil)
	var deaths deaths
	began := time.Now()
	live := r.runPayers(p, "live", r.sizes.killing, func(ctx context.Context) error {
		for n := 0; scenario.Pause(ctx, r.sizes.every) == nil; n++ {
			g := gateways[n%len(gateways)]
			r.printProgress("kill %d: gateway %s", n+1, g.name)
			deaths.add() // before: a call that came after it is not explained by it
			g.kill()
			_ = scenario.Pause(ctx, time.Second)
			if err := g.start(); err != nil {
				return err
			}
		}
		return nil
	})
	elapsed := time.Since(began)
	r.judgePaid(p, append(calm.turns, live.turns...), live.c, &deaths)
	quiet, killed := calm.p95(), live.p95()
	r.Check("p95 of a turn, against that without kills", killed <= quiet+slower, "<= "+scenario.Short(quiet+slower), "%s", scenario.Short(killed))
	r.Report("turns without kills; with; kills; time", "%d; %d; %d; %s", len(calm.turns), len(live.turns), len(deaths.list), elapsed.Round(time.Second))
}

// stopOneByOne has gateways stand still for so long that others go on with their turns, and then
// continue: for a moment each of two believes that a turn is its own.
func stopOneByOne(r *run) {
	p := r.startPlace(options{third: true, lease: leaseOfKills})
	p.tools.hold = 500 * time.Millisecond
	gateways := []*gateway{p.a, p.b, p.c}
	var stopped deaths
	live := r.runPayers(p, "stopped", r.sizes.killing, func(ctx context.Context) error {
		for n := 0; scenario.Pause(ctx, r.sizes.every/2) == nil; n++ {
			g := gateways[n%len(gateways)]
			r.printProgress("stop %d: gateway %s", n+1, g.name)
			stopped.add()
			g.signal(standStill)
			_ = scenario.Pause(r.Ctx, 3*leaseOfKills)
			g.signal(goOn)
		}
		return nil
	})
	r.judgePaid(p, live.turns, live.c, &stopped)
	r.Report("turns; stops", "%d; %d", len(live.turns), len(stopped.list))
}

// runPayers keeps turns alive for a while, and returns them when all are over. Meanwhile runs at the
// same time, until its context ends with that while.
func (r *run) runPayers(p *place, prefix string, long time.Duration, meanwhile func(context.Context) error) *payers {
	l := &payers{p: p, c: newClient(), urls: []string{p.a.url, p.b.url, p.c.url}, prefix: prefix}
	begin, stop := context.WithTimeout(r.Ctx, long)
	defer stop()
	turns, cancel := context.WithCancel(r.Ctx) // a gateway that does not start again ends all
	defer cancel()
	var wait sync.WaitGroup
	for range r.sizes.live {
		wait.Go(func() {
			for begin.Err() == nil && turns.Err() == nil {
				l.playTurn(turns)
			}
		})
	}
	var err error
	if meanwhile != nil {
		if err = meanwhile(begin); err != nil {
			cancel()
		}
	}
	wait.Wait()
	r.Must(err)
	return l
}

// playTurn runs one turn.
func (l *payers) playTurn(ctx context.Context) {
	n := int(l.next.Add(1))
	// Some pay once, some twice, some not at all; the text takes a while.
	t := &paidTurn{order: order{id: fmt.Sprint(l.prefix, n), calls: n % 3, words: 20, every: 150 * time.Millisecond}, view: newView(), began: time.Now()}
	t.view.also = t.accept
	l.mu.Lock()
	l.turns = append(l.turns, t)
	l.mu.Unlock()
	at := l.urls[n%len(l.urls):]
	at = append(slices.Clone(at), l.urls[:n%len(l.urls)]...) // the others, if that is not there
	if t.err = t.startTurn(ctx, l.c, at); t.err == nil {
		t.err = l.c.followTurn(ctx, t.view, at...)
	}
	t.ended = time.Now()
}

// startTurn begins the turn, and reads its stream as far as that goes. A client that received
// nothing sends the same request with the same key, at the next gateway.
func (t *paidTurn) startTurn(ctx context.Context, c *client, urls []string) error {
	conversation := "conv_" + t.order.id
	body := fmt.Sprintf(`{"input":%q,"conversation_id":%q}`, t.order, conversation)
	t.keys = 1
	for refused, n := 0, 0; ctx.Err() == nil; n++ {
		url := urls[n%len(urls)]
		err := c.readStream(ctx, func(f events.Event) bool { t.view.accept(f); return true }, http.MethodPost, url+"/chat/stream", body,
			"Idempotency-Key", fmt.Sprint(t.order.id, "-try-", t.keys))
		if t.view.task != "" {
			return nil
		}
		if p := (*problem)(nil); errors.As(err, &p) && !p.isTemporary() {
			// Its gateway died between the key and the first event. There may be a task that was
			// not reported.
			if p.ErrorType != "duplicate_request" {
				return err
			}
			if task := c.newestTask(ctx, url, conversation); task != "" {
				if d, err := c.readTask(ctx, url, task); err == nil && d.lastTurn() != "" {
					t.view.task, t.view.turn = task, d.lastTurn()
					return nil
				}
			}
			if refused++; refused%100 == 0 { // a task cannot come any more
				t.keys++
			}
		}
		_ = scenario.Pause(ctx, 100*time.Millisecond)
	}
	return errors.New("it does not begin")
}

// waitsForOutcome reports whether the turn waits for somebody to say what became of a call.
func (t *paidTurn) waitsForOutcome() bool {
	return t.view.asks == "outcome" && t.view.reason == "approval_required"
}

// isLost reports whether the turn has not ended well, and does not wait.
func (t *paidTurn) isLost() bool {
	v := t.view
	return t.err != nil || v.dones != 1 || v.stray > 0 || v.failure != "" || v.reason != "stop" && !t.waitsForOutcome()
}

// judgeCalls returns the calls that were not made once, and those whose outcome is asked for
// although no kill explains that.
func (t *paidTurn) judgeCalls(made *tools, deaths *deaths) (unpaid, unexplained []string) {
	for n := range t.order.calls {
		key := fmt.Sprint(t.order.id, ".", n+1)
		ran := made.countCalls(key)
		switch {
		case ran > 1 || ran == 0 && !t.waitsForOutcome():
			unpaid = append(unpaid, fmt.Sprintf("%s %d times", key, ran))
		case t.waitsForOutcome() && ran == 1 && n == len(t.view.calls)-1 && !deaths.canExplain(made.lastCall(key)):
			unexplained = append(unexplained, key)
		}
	}
	return unpaid, unexplained
}

// judgePaid checks that each turn ended well, with the text that its task has, and paid once.
func (r *run) judgePaid(p *place, turns []*paidTurn, c *client, deaths *deaths) {
	var lost, texts, unpaid, unexplained []string
	waiting, takeovers, resets, keys := 0, 0, 0, 0
	var silent []time.Duration
	for _, t := range turns {
		v := t.view
		if t.isLost() {
			lost = append(lost, fmt.Sprintf("%s (%s): %d done, %d stray, %s %s, %v", t.order.id, v.turn, v.dones, v.stray, v.reason, v.failure, t.err))
		}
		if why := r.textDiffers(c, p, t); why != "" {
			texts = append(texts, t.order.id+" ("+v.turn+"): "+why)
		}
		takeovers, resets, keys = takeovers+t.text.takeovers, resets+t.text.resets, keys+t.keys-1
		silent = append(silent, t.silent...)
		if t.waitsForOutcome() {
			waiting++
		}
		wrong, strange := t.judgeCalls(p.tools, deaths)
		unpaid, unexplained = append(unpaid, wrong...), append(unexplained, strange...)
	}
	r.checkEmpty("turns that were lost", lost)
	r.checkEmpty("turns whose text is not that of their task, joined or accumulated", texts)
	r.checkEmpty("orders that were not paid once", unpaid)
	r.checkEmpty("turns that wait for an outcome, but by a kill between call and reply", unexplained)
	r.Report("such turns; takeovers; texts taken back; second keys", "%d; %d; %d; %d", waiting, takeovers, resets, keys)
	if slices.Sort(silent); len(silent) > 0 {
		r.Report("silence where another gateway goes on, p50, p99, most", "%s, %s, %s", scenario.Short(silent[len(silent)/2]), scenario.Short(silent[len(silent)*99/100]), scenario.Short(silent[len(silent)-1]))
	}
}

// textDiffers returns how the text of a complete turn differs from its task's, or an empty string.
func (r *run) textDiffers(c *client, p *place, t *paidTurn) string {
	if !t.text.output {
		return ""
	}
	d, err := c.readTask(r.Ctx, p.b.url, t.view.task)
	if err != nil {
		return err.Error()
	}
	whole := ""
	if t.view.reason == "stop" {
		whole = t.order.answerText()
	}
	of := t.text
	if !of.formsAgree() || of.final != d.answerText() || of.final != whole {
		return fmt.Sprintf("joined %q, accumulated %q (%d differ), final %q, task %q", of.joined, of.accumulated, of.differ, of.final, d.answerText())
	}
	return ""
}

// p95 returns the p95 of the turns' durations.
func (l *payers) p95() time.Duration {
	var elapsed []time.Duration
	for _, t := range l.turns {
		elapsed = append(elapsed, t.ended.Sub(t.began))
	}
	if len(elapsed) == 0 {
		return 0
	}
	slices.Sort(elapsed)
	return elapsed[len(elapsed)*95/100]
}
