package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// A run goes from gateway to gateway: each that dies leaves it to the other one, or to itself in
// its next life. The client of a run watches and decides through the balancer, and never knows the
// gateway behind it.

// refundRun is a run of the workflow refund, and the one who started it. Every run has another
// amount, by which the payment server knows it. Only one goroutine uses it.
type refundRun struct {
	amount int    // in EUR, from 1
	task   string // empty until a reply has said it
	// views are the client's views of each turn: the first one ends with the question, the next one
	// begins with the answer.
	views map[string]*view
	state string // of the task, as it was read last
	// outcomes are the questions about a call whose end no process saw, with the answers given.
	outcomes []string
	keys     int // idempotency keys that were used
	errs     []string
}

// restless is what kills a process at random, and starts it again.
type restless struct {
	kills    int           // then it leaves it alone
	least    time.Duration // between two kills of a gateway; at most it is three times as much
	down     time.Duration // at most, before it is started again
	reported *deaths       // who wants to know
}

// deaths are the times of kills. It is safe for concurrent use.
type deaths struct {
	mu   sync.Mutex // guards list
	list []time.Time
}

// add records a kill of this moment.
func (d *deaths) add() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, time.Now())
}

// canExplain reports whether something was killed between a call and the moment in which its
// result is stored for sure: then no process can know whether it ran. The intent is stored
// before the call comes, so a little earlier is too early to explain anything.
func (d *deaths) canExplain(c calling) bool {
	const storing = 500 * time.Millisecond
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.list, func(at time.Time) bool { return at.After(c.came) && at.Before(c.answered.Add(storing)) })
}

// killedInRuns kills both gateways repeatedly, and their Redis now and then, while runs of a
// workflow go through a balancer. It also answers the questions of the runs. Each kill has a clock
// of its own, so that sometimes no process is left.
func killedInRuns(r *run) {
	p := r.startRefunds()
	url, c := r.startBalancer(p), newClient()
	runs := make([]*refundRun, r.sizes.runs)
	// A gateway that does not start again ends all that waits for it.
	ctx, cancel := context.WithCancel(r.Ctx)
	var killers, wait sync.WaitGroup
	var killErr sync.Map
	var deaths deaths
	kill := func(p *process, kills int, least time.Duration) {
		killers.Go(func() {
			if err := (restless{kills, least, 2 * time.Second, &deaths}).killRepeatedly(ctx, p); err != nil {
				killErr.Store(p.name, err)
				cancel()
			}
		})
	}
	least := r.sizes.least
	kill(p.a.process, r.sizes.kills, least)
	kill(p.b.process, r.sizes.kills, least)
	kill(p.redis.process, r.sizes.redis, 5*least)
	// They begin over the time in which there are kills.
	spread := time.Duration(r.sizes.kills) * (2*least + time.Second)
	began := time.Now()
	for i := range runs {
		one := &refundRun{amount: i + 1, views: map[string]*view{}}
		runs[i] = one
		wait.Go(func() {
			_ = scenario.Pause(ctx, rand.N(spread))
			if err := one.playRun(ctx, c, url, p.tools); err != nil {
				one.errs = append(one.errs, fmt.Sprintf("run %d, %s: %v", one.amount, one.task, err))
			}
		})
	}
	killers.Wait()
	r.printProgress("all kills are done after %s", time.Since(began).Round(time.Second))
	wait.Wait()
	cancel()
	killErr.Range(func(_, err any) bool { r.Must(err.(error)); return true })
	r.judgeRuns(p, runs, &deaths, time.Since(began))
}

// startRefunds starts the place of the example refund.yaml, as users have it: its agents are
// played by the demo's model, a simulator in a process of its own that is never killed, and its
// payment server is the one that counts. A refund takes a while, so that kills find some
// under way.
func (r *run) startRefunds() *place {
	text, err := os.ReadFile(r.sizes.refund)
	r.Must(err)
	config := strings.Replace(string(text), "{builtin: fake-payments}", `{url: "TOOLS"}`, 1)
	if config == string(text) { // without the change the gateways would pay by themselves
		r.Must(errors.New(r.sizes.refund + " is not the file that is known"))
	}
	addr := "127.0.0.1:" + r.freePort()
	r.startProcess(&process{name: "model", path: r.Binary, args: []string{"gemini-sim", "--addr", addr, "--pace", "50ms"}, dir: r.makeFolder(),
		env: []string{"PATH=/usr/bin:/bin"}, starting: time.Minute, ready: func() bool {
			resp, err := http.Get("http://" + addr + "/")
			if err == nil {
				_ = resp.Body.Close()
			}
			return err == nil
		}})
	p := r.startPlace(options{config: config, model: "http://" + addr})
	p.tools.hold = 500 * time.Millisecond
	return p
}

// killRepeatedly kills a process and starts it again, the given number of times, or until ctx ends.
// The error is that of a start.
func (k restless) killRepeatedly(ctx context.Context, g *process) error {
	for range k.kills {
		if scenario.Pause(ctx, k.least+rand.N(2*k.least)) != nil {
			return nil
		}
		k.reported.add() // before: a call that came after it is not explained by it
		g.kill()
		_ = scenario.Pause(ctx, rand.N(k.down))
		if err := g.start(); err != nil {
			return err
		}
	}
	return nil
}

// playRun starts a run and follows it to its end, as a person does. It reads the events, reconnects
// after a break, and answers the questions. The error names the first thing that a person could not
// understand.
func (o *refundRun) playRun(ctx context.Context, c *client, url string, pay *tools) error {
	if err := o.startRun(ctx, c, url); err != nil {
		return err
	}
	for ctx.Err() == nil {
		// Only the task knows its last turn: if the reply to a decision was lost, no client knows
		// the turn that began with it.
		d, err := c.readTask(ctx, url, o.task)
		if err != nil {
			return err
		}
		o.state = d.Status.State
		v := o.viewOf(d.lastTurn())
		if err := c.followTurn(ctx, v, url); err != nil {
			return fmt.Errorf("turn %s of a task that is %s: %w", v.turn, o.state, err)
		}
		// The state was read before the turn's end was: only if both say so it waits.
		if v.asks != "" && o.state == "input-required" {
			err = o.answerQuestion(ctx, c, url, v, pay)
		} else if o.state != "working" && o.state != "input-required" {
			return nil
		}
		if err == nil {
			err = scenario.Pause(ctx, 20*time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
	return errors.New("it does not end")
}

// viewOf returns the view of a turn. If the stream ended because its gateway released the run, the
// view begins again: the task lives on, and its log has another end.
func (o *refundRun) viewOf(turn string) *view {
	v := o.views[turn]
	if v == nil || v.failure == "store_unavailable" || v.failure == "turn_lost" {
		v = newView()
		o.views[turn], v.task, v.turn = v, o.task, turn
	}
	return v
}

// startRun begins the run. A client that received nothing sends the same request with the same
// key, which gets it the run that it began; only if that is known not to exist it uses another
// key.
func (o *refundRun) startRun(ctx context.Context, c *client, url string) error {
	body := fmt.Sprintf(`{"input":"I want a refund of %d EUR","workflow":"refund","conversation_id":"conv_refund-%d"}`, o.amount, o.amount)
	o.keys = 1
	for refused := 0; ctx.Err() == nil; {
		v := newView()
		err := c.readStream(ctx, func(f events.Event) bool { v.accept(f); return true }, http.MethodPost, url+"/chat/stream", body,
			"Idempotency-Key", fmt.Sprint("refund-of-", o.amount, "-try-", o.keys))
		if v.task != "" {
			o.task, o.views[v.turn] = v.task, v
			return nil
		}
		p := (*problem)(nil)
		if errors.As(err, &p) && !p.isTemporary() {
			// Its gateway died between the key and the first event. There may be a task that was
			// not reported, but not after its owner's lease.
			if p.ErrorType != "duplicate_request" {
				return err
			}
			if o.task = c.newestTask(ctx, url, fmt.Sprint("conv_refund-", o.amount)); o.task != "" {
				return nil
			}
			if refused++; refused%250 == 0 {
				o.keys++
			}
		}
		_ = scenario.Pause(ctx, 100*time.Millisecond)
	}
	return errors.New("it does not begin")
}

// Answers of a payment server about a call.
const (
	wasDone   = "it was done"
	neverCame = "it never came: call again"
)

// answerQuestion answers the question of a turn: a person allows the refund, and asks the payment
// server what became of a call whose end nobody saw.
func (o *refundRun) answerQuestion(ctx context.Context, c *client, url string, v *view, pay *tools) error {
	body := `{"action":"approve"}` // of a call: make it again
	if v.asks == "outcome" {
		answer := neverCame
		if pay.countCalls(fmt.Sprint(o.amount)) > 0 {
			answer, body = wasDone, `{"action":"modify","result":"done, number 1"}`
		}
		o.outcomes = append(o.outcomes, answer)
	} else if err := scenario.Pause(ctx, rand.N(2*time.Second)); err != nil { // a person thinks
		return err
	}
	resp, err := c.sendRequest(ctx, http.MethodPost, url+"/tasks/"+o.task+"/decision", body, "Accept", "application/json")
	if err != nil {
		return nil // the task will show whether it came
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusAccepted, resp.StatusCode >= 500, resp.StatusCode == http.StatusConflict:
		return nil // a conflict: one that was sent before has arrived
	}
	return fmt.Errorf("a decision got %d: %s", resp.StatusCode, text)
}

// judgeRuns checks that all runs are finished and paid once, and that their events have neither
// gaps nor two ends. The gateways must ask about each unknown outcome, and about these alone.
func (r *run) judgeRuns(p *place, runs []*refundRun, kills *deaths, elapsed time.Duration) {
	var errs, streams, paid, unexplained []string
	finished, outcomes, keys, events := 0, map[string]int{}, 0, 0
	for _, o := range runs {
		errs = append(errs, o.errs...)
		if o.state == "completed" {
			finished++
		} else if len(o.errs) == 0 {
			errs = append(errs, fmt.Sprintf("%s is %s", o.task, o.state))
		}
		if n := p.tools.countCalls(fmt.Sprint(o.amount)); n != 1 {
			paid = append(paid, fmt.Sprintf("%d EUR %d times", o.amount, n))
		}
		for turn, v := range o.views {
			if events += v.last; v.dones != 1 || v.stray > 0 {
				streams = append(streams, fmt.Sprintf("%s of %s: %d done, %d stray", turn, o.task, v.dones, v.stray))
			}
		}
		for _, answer := range o.outcomes {
			outcomes[answer]++
			if answer == wasDone && !kills.canExplain(p.tools.lastCall(fmt.Sprint(o.amount))) {
				unexplained = append(unexplained, o.task)
			}
		}
		keys += o.keys - 1
	}
	all, _ := p.tools.sumCalls()
	r.Exactly(fmt.Sprintf("runs finished, of %d", len(runs)), finished, len(runs))
	r.checkEmpty("runs that ended badly", errs)
	r.Exactly("refunds paid", all, len(runs))
	r.checkEmpty("refunds paid not once", paid)
	r.checkEmpty("turns without one done, or with a gap", streams)
	r.checkEmpty("questions about an outcome, but of a call cut by a kill", unexplained)
	r.Report("such questions: it was done; it had never come", "%d; %d", outcomes[wasDone], outcomes[neverCame])
	r.Report("kills of each gateway, of Redis; time; events; second keys", "%d, %d; %s; %d; %d", r.sizes.kills, r.sizes.redis, elapsed.Round(time.Second), events, keys)
}
