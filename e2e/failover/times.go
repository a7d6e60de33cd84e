package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"sluice/e2e/events"
)

// measureTimes measures how long a client waits at a gateway that does not run the turn. All times
// are of one clock, that of the judge, whose process runs the fakes as well. The promises are those
// of a machine that has time: on a busy one the p99 shows how busy it is.
func measureTimes(r *run) {
	p, c := r.startPlace(options{}), newClient()
	r.timeCancel(p, c)
	r.timeResume(p, c)
	r.countConnections(p, c)
	flows := r.startRefunds()
	r.timeDecision(flows, c)
	r.timeTakeOver(flows, c)
}

// askUntil starts a turn and reads it until enough says so, or to its end. The turn itself
// continues: who leaves does not end it.
func (r *run) askUntil(c *client, g *gateway, o order, v *view, enough func() bool) error {
	return c.readStream(r.Ctx, func(f events.Event) bool { v.accept(f); return !enough() }, http.MethodPost, g.url+"/chat/stream",
		fmt.Sprintf(`{"input":%q,"accumulated":false}`, o))
}

// timeCancel measures the time from a cancel request at the other gateway until the request to the
// model is closed. To close it is the purpose of a cancel. Each turn would continue for twenty
// seconds.
func (r *run) timeCancel(p *place, c *client) {
	var elapsed []time.Duration
	var asked sync.Map
	l := loader{place: p, c: c}
	for i := range r.sizes.tries {
		o := order{id: fmt.Sprint("c", i), words: 400, every: 50 * time.Millisecond}
		v := newView()
		var cancelling sync.WaitGroup
		r.Must(r.askUntil(c, p.a, o, v, func() bool {
			if v.last == 3 {
				cancelling.Go(func() {
					asked.Store(o.id, time.Now())
					l.cancelTask(r.Ctx, p.b, v.task)
				})
			}
			return false
		}))
		cancelling.Wait()
		at, _ := asked.Load(o.id)
		r.awaitOrFail("the model's request is closed", 5*time.Second, func() bool { _, ok := p.model.closed.Load(o.id); return ok })
		closed, _ := p.model.closed.Load(o.id)
		elapsed = append(elapsed, closed.(time.Time).Sub(at.(time.Time)))
	}
	r.checkTimes(fmt.Sprintf("cancel elsewhere to upstream closed, %d times", len(elapsed)), elapsed, 0.99, 250*time.Millisecond)
}

// timeResume measures the first byte of a turn of 2,000 events at the other gateway, where the turn
// is new. It also checks that all of it comes.
func (r *run) timeResume(p *place, c *client) {
	v := newView()
	r.Must(r.askUntil(c, p.a, order{id: "r", words: 2000}, v, func() bool { return false }))
	var elapsed []time.Duration
	for range r.sizes.tries {
		began := time.Now()
		again := newView()
		r.Must(c.readStream(r.Ctx, func(f events.Event) bool {
			if again.last == 0 {
				elapsed = append(elapsed, time.Since(began))
			}
			again.accept(f)
			return true
		}, http.MethodGet, p.b.url+"/tasks/"+v.task+"/events", ""))
		if again.digest() != v.digest() {
			r.Must(fmt.Errorf("a resumed turn of %d events has %d", v.last, again.last))
		}
	}
	r.checkTimes(fmt.Sprintf("first byte of a resumed turn of %d events", v.last), elapsed, 0.5, 20*time.Millisecond)
}

// beginTurns begins long turns, and returns their tasks. wait is done when they have ended.
func (r *run) beginTurns(p *place, c *client, turns int, wait *sync.WaitGroup) (tasks []string) {
	ids := make(chan string, turns)
	for i := range turns {
		wait.Go(func() {
			v := newView()
			_ = r.askUntil(c, p.a, order{id: fmt.Sprint("n", i), words: 3000, every: 100 * time.Millisecond}, v, func() bool {
				if v.last == 2 {
					ids <- v.task
				}
				return false
			})
		})
	}
	for range turns {
		tasks = append(tasks, <-ids)
	}
	return tasks
}

// countConnections counts those of a gateway to Redis while many read another one's turns,
// and all of them get new events. Signals come over connections too, and count.
func (r *run) countConnections(p *place, c *client) {
	const turns = 50
	var wait sync.WaitGroup
	var mu sync.Mutex
	reading, good := 0, 0
	tasks := r.beginTurns(p, c, turns, &wait)
	for i := range r.sizes.readers {
		wait.Go(func() {
			v := newView()
			v.task = tasks[i%turns]
			_ = c.readStream(r.Ctx, func(f events.Event) bool {
				if v.accept(f); v.last == 5 { // behind the ones that were there
					mu.Lock()
					reading++
					mu.Unlock()
				}
				return true
			}, http.MethodGet, p.b.url+"/tasks/"+v.task+"/events", "")
			mu.Lock()
			defer mu.Unlock()
			if v.dones == 1 && v.stray == 0 {
				good++
			}
		})
	}
	// Not only connected: each has got an event that was made after it came.
	r.awaitOrFail("all read", 2*time.Minute, func() bool { mu.Lock(); defer mu.Unlock(); return reading == r.sizes.readers })
	r.Pause(time.Second)
	list, err := p.redis.sendCommand("CLIENT LIST")
	r.Must(err)
	n := strings.Count(list, " laddr=127.0.0.2:")
	r.Check(fmt.Sprintf("connections to Redis for %d readers elsewhere", r.sizes.readers), n > 0 && n <= 16, "<= 16", "%d", n)
	l := loader{place: p, c: c}
	for _, id := range tasks {
		l.cancelTask(r.Ctx, p.b, id)
	}
	wait.Wait()
	r.Exactly("of them, with one done in the end", good, r.sizes.readers)
}

// startWaitingRun starts a run at a gateway and reads it until it asks.
func (r *run) startWaitingRun(c *client, g *gateway, amount int) *view {
	v := newView()
	r.Must(c.readStream(r.Ctx, func(f events.Event) bool { v.accept(f); return true }, http.MethodPost, g.url+"/chat/stream",
		fmt.Sprintf(`{"input":"I want a refund of %d EUR","workflow":"refund"}`, amount)))
	if v.asks != "human" {
		r.Must(fmt.Errorf("a run does not ask: %q, %q", v.reason, v.failure))
	}
	return v
}

// timeDecision measures the first event behind a decision at the other gateway: it has to
// read the run, take it over and begin a turn before anything can be sent.
func (r *run) timeDecision(p *place, c *client) {
	var elapsed []time.Duration
	for i := range r.sizes.tries {
		v := r.startWaitingRun(c, p.a, i+1)
		began := time.Now()
		r.Must(c.readStream(r.Ctx, func(events.Event) bool {
			elapsed = append(elapsed, time.Since(began))
			return false
		}, http.MethodPost, p.b.url+"/tasks/"+v.task+"/decision", `{"action":"reject"}`, "Accept", "text/event-stream"))
	}
	r.checkTimes(fmt.Sprintf("decision elsewhere to the first event, %d times", len(elapsed)), elapsed, 0.5, 100*time.Millisecond)
}

// timeTakeOver kills the owner of runs that work, and measures the first event which
// another gateway adds. It cannot come before the lease of the dead one is over: that is up
// to 15 s, and it was renewed up to 5 s before the kill.
func (r *run) timeTakeOver(p *place, c *client) {
	const runs, rounds = 20, 3
	var elapsed []time.Duration
	var mu sync.Mutex
	for range rounds {
		var wait sync.WaitGroup
		begun, killed := make(chan struct{}, runs), make(chan struct{})
		var died time.Time
		for i := range runs {
			wait.Go(func() {
				v := newView()
				_ = c.readStream(r.Ctx, func(f events.Event) bool {
					if v.accept(f); v.last == 2 {
						begun <- struct{}{}
					}
					return true
				}, http.MethodPost, p.a.url+"/chat/stream", fmt.Sprintf(`{"input":"I want a refund of %d EUR","workflow":"refund"}`, 1000+i))
				<-killed
				if v.dones > 0 { // it waited already
					return
				}
				_ = c.readStream(r.Ctx, func(f events.Event) bool {
					if v.accept(f); time.Since(died) < time.Second { // in the log, and not yet sent
						return true
					}
					mu.Lock()
					defer mu.Unlock()
					elapsed = append(elapsed, time.Since(died))
					return false
				}, http.MethodGet, p.b.url+"/tasks/"+v.task+"/events?turn="+v.turn, "", v.resumeHeader()...)
			})
		}
		// The first one has begun, so the others soon will: the kill finds nodes at work. Runs that
		// are unknown to their clients are left to the other row.
		<-begun
		p.a.kill()
		died = time.Now()
		close(killed)
		wait.Wait()
		r.Must(p.a.start())
	}
	r.checkTimes(fmt.Sprintf("kill of the owner to the first event elsewhere, %d runs", len(elapsed)), elapsed, 1, 21*time.Second)
}
