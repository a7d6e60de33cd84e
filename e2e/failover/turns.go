package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// killedTurn is a turn of the gateway that is killed, and its two readers.
type killedTurn struct {
	order order
	// client is what its own client sees, which continues at the other gateway behind the last
	// event that it has; watcher is there all the time, from the first event on.
	client, watcher *view
	errs            []string      // of reading
	ended           time.Duration // from the kill to when the own client had done
}

// killedInTurns kills a gateway in the middle of plain turns that the store keeps. The other one
// goes on with each, and each of their readers receives the same.
func killedInTurns(r *run) {
	const spread, words, every = 3 * time.Second, 50, 100 * time.Millisecond
	p := r.startPlace(options{})
	p.tools.hold = 500 * time.Millisecond
	c, turns := newClient(), make([]*killedTurn, r.sizes.turns)
	begun, killed := make(chan struct{}, len(turns)), make(chan struct{})
	var died time.Time
	var wait sync.WaitGroup
	for i := range turns {
		t := &killedTurn{order: order{id: fmt.Sprint("k", i), calls: 1 + i%2, words: words, every: every}, client: newView(), watcher: newView()}
		turns[i] = t
		wait.Go(func() {
			// They begin one after the other, so that the kill finds some in a call of a model, some in
			// that of a tool and some in the answer.
			_ = scenario.Pause(r.Ctx, spread*time.Duration(i)/time.Duration(len(turns)))
			var watching sync.WaitGroup
			// The first event names the turn, so that the second reader can find it.
			once := sync.OnceFunc(func() {
				begun <- struct{}{}
				t.watcher.task, t.watcher.turn = t.client.task, t.client.turn
				watching.Go(func() {
					if err := c.followTurn(r.Ctx, t.watcher, p.b.url); err != nil {
						t.errs = append(t.errs, "the reader at the other gateway: "+err.Error())
					}
				})
			})
			_ = c.readStream(r.Ctx, func(f events.Event) bool { t.client.accept(f); once(); return true },
				http.MethodPost, p.a.url+"/chat/stream", fmt.Sprintf(`{"input":%q}`, t.order))
			<-killed // also for a turn that was over before, without anything to follow
			err := c.followTurn(r.Ctx, t.client, p.b.url)
			t.ended = time.Since(died)
			watching.Wait()
			if err != nil {
				t.errs = append(t.errs, "its client: "+err.Error())
			}
		})
	}
	for range turns {
		select {
		case <-begun:
		case <-r.Ctx.Done():
		}
	}
	r.Pause(100 * time.Millisecond)
	p.a.kill()
	died = time.Now()
	close(killed)
	wait.Wait()
	r.judgeTurns(p, c, turns)
}

// judgeTurns checks the readers' views, the store's tasks and the counts of the tools. A turn
// without a task was not kept, because the gateway took the store for unavailable; it shows
// nothing, and the row is broken.
func (r *run) judgeTurns(p *place, c *client, turns []*killedTurn) {
	var readers, tools, states []string
	var elapsed []time.Duration
	lost, unknown := 0, 0
	for _, t := range turns {
		readers = append(readers, t.errs...)
		for _, v := range []*view{t.client, t.watcher} {
			if v.dones != 1 || v.stray > 0 {
				readers = append(readers, fmt.Sprintf("%s: %d done, %d stray", t.order.id, v.dones, v.stray))
			}
		}
		if t.client.digest() != t.watcher.digest() {
			readers = append(readers, t.order.id+": the readers saw different things")
		}
		if t.client.failure == "turn_lost" {
			lost++
		}
		elapsed = append(elapsed, t.ended)
		tools = append(tools, miscounted(p.tools, t.order, t.client)...)
		for _, status := range t.client.calls {
			if status == "unknown" {
				unknown++
			}
		}
		d, err := c.readTask(r.Ctx, p.b.url, t.client.task)
		if want := stateOf(t.client); err != nil || d.Status.State != want {
			states = append(states, fmt.Sprintf("%s is %q, not %s (%v)", t.client.task, d.Status.State, want, err))
		}
	}
	all, most := p.tools.sumCalls()
	r.checkEmpty(fmt.Sprintf("of %d readers, without one done, the whole and the same", 2*len(turns)), readers)
	r.Check("a tool ran, for one call, at most", most == 1, "1", "%d (%d calls in all)", most, all)
	r.checkEmpty("calls of which readers and tool server say different things", tools)
	r.checkEmpty("tasks whose state is not that of the last event", states)
	r.Exactly("turns that were lost", lost, 0)
	r.Report("calls of which nobody knows whether they took effect", "%d", unknown)
	// Twice the time of a turn alone, and the time until the lease has ended.
	r.checkTimes("from the kill to done, for the readers", elapsed, 1, 21*time.Second+12*time.Second)
}

// stateOf returns the state of a task whose last turn ended so: each finish reason leads to one,
// and a turn without any has failed.
func stateOf(v *view) string {
	switch v.reason {
	case "error", "":
		return "failed"
	case "cancelled":
		return "canceled"
	case "input_required", "approval_required":
		return "input-required"
	}
	return "completed"
}

// miscounted compares the reported calls of an order with the counted ones. A completed call was
// made, a failed call was not, and an unknown call may have been made. No call stays open, and no
// call was made twice.
func miscounted(t *tools, o order, v *view) (wrong []string) {
	made := 0
	for n := range o.calls {
		ran := t.countCalls(fmt.Sprint(o.id, ".", n+1))
		if made += ran; ran > 1 {
			wrong = append(wrong, fmt.Sprintf("%s.%d ran %d times", o.id, n+1, ran))
		}
	}
	least, most := 0, 0 // calls that were made for sure, and perhaps
	for _, status := range v.calls {
		switch status {
		case "completed":
			least, most = least+1, most+1
		case "unknown":
			most++
		case "failed":
		default:
			wrong = append(wrong, o.id+" has an open call")
		}
	}
	if made < least || made > most {
		wrong = append(wrong, fmt.Sprintf("%s: %d calls ran, told are %d to %d", o.id, made, least, most))
	}
	return wrong
}
