// This file restarts three gateways behind a balancer one after the other, as a deploy does, while
// turns run. Each turn goes on at another gateway, and its client only sees a pause.

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

const (
	// paceOfDeploy is between two pieces of a text: it must not count as silence.
	paceOfDeploy = 300 * time.Millisecond
	// retryOfDeploy is how long a client waits before it resumes: the gateway's retry line, which
	// EventSource obeys.
	retryOfDeploy = time.Second
	// settled is from when a gateway is up to when the balancer has seen that, as the
	// operator of a rolling restart waits for.
	settled = 2 * time.Second
	// longestStop is the longest time for a gateway to stop: its drain, a write, and the end of its
	// turns.
	longestStop = 20 * time.Second
)

// watchedTurn is a turn of a client that knows the balancer alone.
type watchedTurn struct {
	paidTurn
	last    time.Time     // of its last event, or its begin
	silence time.Duration // the longest between two events
	breaks  int           // of its connection
}

// accept records an event.
func (t *watchedTurn) accept(f events.Event) {
	t.text.accept(f)
	now := time.Now()
	t.silence, t.last = max(t.silence, now.Sub(t.last)), now
}

// watchers keep so many turns alive behind a balancer.
type watchers struct {
	c    *client
	url  string
	long time.Duration // of a turn that nothing disturbs
	next atomic.Int64

	mu    sync.Mutex // guards turns
	turns []*watchedTurn
}

// deploy restarts one gateway after the other while turns run.
func deploy(r *run) {
	p := r.startPlace(options{third: true, lease: leaseOfKills, env: []string{"SLUICE_DRAIN_TIMEOUT=1s", "SLUICE_REQUEST_TIMEOUT=" + (r.sizes.long + time.Minute).String()}})
	l := &watchers{c: newClient(), url: r.startBalancer(p), long: r.sizes.long}
	ctx, cancel := context.WithCancel(r.Ctx)
	defer cancel()
	begin, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	for i := range r.sizes.deployed {
		wait.Go(func() {
			// They begin one after the other, so that a restart finds turns in all stages.
			_ = scenario.Pause(begin, min(l.long, 10*time.Second)*time.Duration(i)/time.Duration(r.sizes.deployed))
			for begin.Err() == nil {
				l.playTurn(ctx)
			}
		})
	}
	began := time.Now()
	err := scenario.Pause(ctx, min(l.long, 10*time.Second)+time.Second)
	for _, g := range []*gateway{p.a, p.b, p.c} {
		if err == nil {
			err = r.restartGateway(ctx, g)
		}
	}
	elapsed := time.Since(began)
	stop()
	if err != nil {
		cancel()
	}
	wait.Wait()
	r.Must(err)
	r.judgeWatched(p, l)
	r.Report("three restarts, with the pauses between them", "%s", elapsed.Round(time.Second))
}

// restartGateway stops a gateway as an operator does, starts it and lets the balancer see that.
func (r *run) restartGateway(ctx context.Context, g *gateway) error {
	began := time.Now()
	if !g.stop() {
		return fmt.Errorf("gateway %s has not stopped within %s", g.name, longestStop)
	}
	r.printProgress("gateway %s has stopped within %s", g.name, time.Since(began).Round(time.Millisecond))
	if err := g.start(); err != nil {
		return err
	}
	return scenario.Pause(ctx, settled)
}

// stop asks the process to end and waits for that. It is false if it had to be killed.
func (p *process) stop() bool {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil {
		return true
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(longestStop)
	defer late.Stop()
	good := true
	select {
	case <-ended:
	case <-late.C:
		good = false
	}
	p.kill() // it only forgets one that has ended
	return good
}

// playTurn runs one turn.
func (l *watchers) playTurn(ctx context.Context) {
	n := int(l.next.Add(1))
	t := &watchedTurn{last: time.Now()}
	t.order = order{id: fmt.Sprint("deploy", n), calls: n % 2, words: 1 + int(l.long/paceOfDeploy), every: paceOfDeploy}
	t.view, t.began = newView(), t.last
	t.view.also = t.accept
	l.mu.Lock()
	l.turns = append(l.turns, t)
	l.mu.Unlock()
	if t.err = t.startTurn(ctx, l.c, []string{l.url}); t.err == nil {
		t.err = l.followTurn(ctx, t)
	}
	t.ended = time.Now()
}

// followTurn reads the remaining events of a turn as EventSource does: it waits, and asks for the
// events after the last one that it has.
func (l *watchers) followTurn(ctx context.Context, t *watchedTurn) error {
	for t.view.dones == 0 {
		t.breaks++
		if err := scenario.Pause(ctx, retryOfDeploy); err != nil {
			return err
		}
		err := l.c.readStream(ctx, func(f events.Event) bool { t.view.accept(f); return true }, http.MethodGet,
			l.url+"/tasks/"+t.view.task+"/events?turn="+t.view.turn, "", t.view.resumeHeader()...)
		if p, ok := err.(*problem); ok && !p.isTemporary() {
			return err
		}
	}
	return nil
}

// judgeWatched checks that each turn ended well, with the text that its task has, paid once, and
// that no client had to wait for long.
func (r *run) judgeWatched(p *place, l *watchers) {
	var lost, texts, unpaid []string
	var silences []time.Duration
	closed, elsewhere, takeovers, resets, breaks := 0, 0, 0, 0, 0
	for _, t := range l.turns {
		v := t.view
		if v.failure == "turn_lost" || v.failure == "shutting_down" {
			closed++
		}
		if t.err != nil || v.dones != 1 || v.stray > 0 || v.failure != "" || v.reason != "stop" {
			lost = append(lost, fmt.Sprintf("%s (%s): %d done, %d stray, %s %s, %v", t.order.id, v.turn, v.dones, v.stray, v.reason, v.failure, t.err))
		}
		if why := r.textDiffers(l.c, p, &t.paidTurn); why != "" {
			texts = append(texts, t.order.id+" ("+v.turn+"): "+why)
		}
		for n := range t.order.calls {
			key := fmt.Sprint(t.order.id, ".", n+1)
			if ran := p.tools.countCalls(key); ran != 1 {
				unpaid = append(unpaid, fmt.Sprintf("%s %d times", key, ran))
			}
		}
		if silences = append(silences, t.silence); t.text.takeovers > 0 {
			elsewhere++
		}
		takeovers, resets, breaks = takeovers+t.text.takeovers, resets+t.text.resets, breaks+t.breaks
	}
	r.Row.Totals = scenario.Totals{Streams: len(l.turns), Done: len(l.turns) - len(lost), Lost: len(lost)}
	r.checkEmpty(fmt.Sprintf("of %d turns, without one done and a whole answer", len(l.turns)), lost)
	r.Exactly("turns that ended with turn_lost or shutting_down", closed, 0)
	r.checkEmpty("turns whose text is not that of their task, joined or accumulated", texts)
	r.checkEmpty("orders that were not paid once", unpaid)
	r.Check("turns that another gateway went on with", elsewhere > 0, "some", "%d", elsewhere)
	r.checkTimes("longest silence of a client", silences, 0.99, r.sizes.silence)
	r.Report("takeovers; texts taken back; connections that broke", "%d; %d; %d", takeovers, resets, breaks)
}
