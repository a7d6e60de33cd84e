package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ownShortage takes the gateway's descriptors away, first with idle connections, then
// with turns. Neither is the model's fault.
func ownShortage(ctx context.Context, r *run) error {
	g, err := r.start(ctx, options{files: 64})
	if err != nil {
		return err
	}
	links, err := fill(ctx, g, 100)
	if err != nil {
		return err
	}
	got, _, err := links[len(links)-1].exchange(post("hi"))
	t := newTurn(got, 0, err)
	r.turn(fmt.Sprintf("a turn on one of %d idle, 64 descriptors", len(links)), t, time.Second, "stop", "overloaded")
	for _, l := range links {
		_ = l.Close()
	}
	if err := pause(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	if err := r.closed(ctx, "the model's breaker afterwards", g); err != nil {
		return err
	}
	r.turn("a turn afterwards", g.ask(ctx, "hi", 5*time.Second), 2*time.Second, "stop")
	return shortOfStreams(ctx, r)
}

// fill opens up to n idle connections, until one gets no answer, and returns those
// that are still open.
func fill(ctx context.Context, g *gateway, n int) (links []*link, err error) {
	for range n {
		l, err := g.dial(ctx)
		if err != nil {
			return nil, err
		}
		_ = l.SetDeadline(time.Now().Add(500 * time.Millisecond))
		if _, _, err := l.exchange("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			_ = l.Close()
			break
		}
		_ = l.SetDeadline(time.Now().Add(5 * time.Second))
		links = append(links, l)
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("no connection gets an answer")
	}
	return links, nil
}

func (r *run) closed(ctx context.Context, what string, g *gateway) error {
	state, err := g.breaker(ctx)
	if err != nil {
		return err
	}
	r.note(what, state == "closed 0", "closed 0", "%s", state)
	return nil
}

func shortOfStreams(ctx context.Context, r *run) error {
	const turns = 300
	g, err := r.start(ctx, options{files: 256, model: func(q question, say func(string)) {
		_ = pause(q.Context(), 2*time.Second)
		say(text("Fine."))
	}})
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards ends
	ends := map[string]int{}
	var wg sync.WaitGroup
	for range turns {
		wg.Go(func() {
			t := g.ask(ctx, "hi", 20*time.Second)
			mu.Lock()
			defer mu.Unlock()
			ends[t.end()]++
		})
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	took, healthErr := g.health(ctx, 3*time.Second)
	wg.Wait()
	r.within("/healthz beside 300 turns, 256 descriptors", took, time.Second, healthErr)
	told := ends["stop"] + ends["overloaded"]
	r.note("turns that end well or as overloaded", told == turns && ends["stop"] > 0, "300", "%d: %s", told, strings.TrimPrefix(fmt.Sprint(ends), "map"))
	return r.closed(ctx, "the model's breaker afterwards", g)
}

// refusals asks for more than there are places, on connections that stay.
func refusals(ctx context.Context, r *run) error {
	const n = 4000
	g, err := r.start(ctx, options{env: []string{"SLUICE_MAX_STREAMS=1"}, model: func(q question, _ func(string)) { <-q.Context().Done() }})
	if err != nil {
		return err
	}
	held, err := g.dial(ctx)
	if err != nil {
		return err
	}
	defer held.Close()
	if status := firstStatus(held, post("hold")); status != http.StatusOK {
		return fmt.Errorf("the first turn: status %d", status)
	}
	before, _ := g.usage()
	lines := len(g.lines())
	var dials, wrong int
	var l *link
	begin := time.Now()
	for range n {
		if l == nil {
			if l, err = g.dial(ctx); err != nil {
				return err
			}
			dials++
		}
		got, closing, err := l.exchange(post("hi"))
		if got.status != http.StatusServiceUnavailable {
			wrong++
		}
		if closing || err != nil {
			_ = l.Close()
			l = nil
		}
	}
	took := time.Since(begin)
	if l != nil {
		defer l.Close()
	}
	if err := pause(ctx, 1200*time.Millisecond); err != nil { // a summary may come a second later
		return err
	}
	r.note("refused of 4,000", wrong == 0, "4000", "%d", n-wrong)
	r.note("connections for them", dials == 1, "1", "%d", dials)
	if after, err := g.usage(); err != nil {
		r.skip("CPU each", "no /proc here")
	} else {
		each := (after.cpu - before.cpu) / n
		r.note("CPU each", each < 90*time.Microsecond, "< 90µs", "%s", each.Round(time.Microsecond))
	}
	most := 15 * int(took/time.Second+2)
	added := len(g.lines()) - lines
	r.note("log lines", added <= most, fmt.Sprintf("<= %d", most), "%d", added)
	return nil
}

// slowReaders ask for a long answer and do not read it.
func slowReaders(ctx context.Context, r *run) error {
	const readers = 200
	chunk := part(`[{"text":"` + strings.Repeat("a", 8<<10) + `"}]`)
	g, err := r.start(ctx, options{model: func(q question, say func(string)) {
		if !q.about("long") {
			say(text("Fine."))
			return
		}
		for range 150 {
			say(chunk)
			if pause(q.Context(), 20*time.Millisecond) != nil {
				return
			}
		}
		say(text("Fine."))
	}})
	if err != nil {
		return err
	}
	before, _ := g.usage()
	for range readers {
		l, err := g.dial(ctx)
		if err != nil {
			return err
		}
		defer l.Close()
		_ = l.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := io.WriteString(l, post("long")); err != nil {
			return err
		}
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	r.turn("a turn beside 200", g.ask(ctx, "hi", 10*time.Second), 2*time.Second, "stop")
	after, err := g.usage()
	if err != nil {
		r.skip("memory each", "no /proc here")
		return nil
	}
	each := (after.peak - before.peak) / readers >> 10
	r.note("memory each", each < 256, "< 256 KiB", "%d KiB", each)
	return nil
}
