package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/e2e/events"
)

// resumedAtOnce has the clients of running turns come back within one second, evenly, as after the
// loss of another gateway or a balancer. All are accepted, and each gets its next event soon.
// Eighty clients read each turn, as a turn of its own for each would measure how a gateway runs
// that many.
func resumedAtOnce(r *run) {
	const readers = 80
	p, c := r.startPlace(options{}), newClient()
	n := r.sizes.resumes
	var turns sync.WaitGroup
	tasks := r.beginTurns(p, c, (n+readers-1)/readers, &turns)
	after := make([]string, len(tasks))
	for i, id := range tasks {
		d, err := c.readTask(r.Ctx, p.a.url, id)
		r.Must(err)
		after[i] = d.lastTurn() + ":1"
	}
	var mu sync.Mutex
	var elapsed []time.Duration
	refused := 0
	var clients sync.WaitGroup
	began := time.Now()
	for i := range n {
		r.Pause(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(n))))
		clients.Go(func() {
			asked, first := time.Now(), time.Duration(0)
			err := c.readStream(r.Ctx, func(events.Event) bool { first = time.Since(asked); return false },
				http.MethodGet, p.b.url+"/tasks/"+tasks[i/readers]+"/events", "", "Last-Event-ID", after[i/readers])
			mu.Lock()
			defer mu.Unlock()
			if problem := (*problem)(nil); errors.As(err, &problem) || first == 0 {
				refused++
				return
			}
			elapsed = append(elapsed, first)
		})
	}
	sent := time.Since(began)
	clients.Wait()
	r.Report("sent within", "%s", sent.Round(time.Millisecond))
	r.Exactly(fmt.Sprintf("refused, of %d who resume within a second", n), refused, 0)
	r.checkTimes("first event", elapsed, 0.99, 500*time.Millisecond)
	l := loader{place: p, c: c}
	for _, id := range tasks {
		l.cancelTask(r.Ctx, p.b, id)
	}
	turns.Wait()
}
