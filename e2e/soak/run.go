package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"sluice/e2e/credential"
	"sluice/e2e/scenario"
)

// run is a soak at work.
type run struct {
	scenario.Run
	plan     plan
	progress io.Writer
}

// say prints progress for the person who waits.
func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.progress, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// soak is the whole run.
func (r *run) soak() {
	p, l := r.place(), newLedger()
	users := make([]*user, r.plan.users)
	for n := range users {
		users[n] = newUser(p, &r.plan, l, n)
	}
	s := &seasons{run: r, place: p, users: users}
	if !r.plan.plain {
		s.turn()
	}
	r.warm(users)
	before := r.rest(p)
	began := time.Now()
	r.work(s, began.Add(r.plan.length))
	elapsed := time.Since(began)
	r.warm(users) // each with what is new at the end
	r.eventually("no turn runs any more", time.Minute, func() bool {
		f, err := p.measure(r.Ctx)
		return err == nil && f["sluice_streams_active"] == 0 && f["sluice_turns_detached"] == 0
	})
	r.judge(p, l, s, elapsed)
	r.returned(p, before)
	r.Row.Totals = l.totals
}

// warm has each user ask once: so what is made at first use is there, and what was replaced last
// is used.
func (r *run) warm(users []*user) {
	done := make(chan struct{})
	for _, u := range users {
		go func() {
			defer func() { done <- struct{}{} }()
			u.turn(r.Ctx)
		}()
	}
	for range users {
		<-done
	}
	for _, u := range users {
		u.http.Load().CloseIdleConnections()
	}
}

// rest waits until nothing runs, and returns what the gateway holds then.
func (r *run) rest(p *place) (h held) {
	var err error
	r.eventually("rest", time.Minute, func() bool {
		f, err := p.measure(r.Ctx)
		return err == nil && f["sluice_streams_active"] == 0 && f["sluice_turns_detached"] == 0
	})
	h, err = p.held(r.Ctx)
	r.Must(err)
	return h
}

// work has all users ask until the time is over. Meanwhile keys and certificates are replaced.
func (r *run) work(s *seasons, until time.Time) {
	done := make(chan struct{})
	for _, u := range s.users {
		go func() {
			defer func() { done <- struct{}{} }()
			u.work(r.Ctx, until)
		}()
	}
	next := time.NewTimer(r.plan.every)
	defer next.Stop()
	for n := 0; n < len(s.users); {
		select {
		case <-done:
			n++
		case <-next.C:
			if !r.plan.plain && time.Until(until) > 0 {
				s.turn()
			}
			next.Reset(r.plan.every) // from now: on a busy machine users are slow to change
		}
	}
}

// seasons replaces keys, tokens and certificates. One goroutine uses it.
type seasons struct {
	*run
	place   *place
	users   []*user
	n       int
	shown   []string // keys of the first user, the last one at the end
	refused int      // answers 401 to keys that were not known yet, or not any more
	asked   int      // questions who one is that were answered
}

// turn replaces all: the files first, and when the gateway uses them, what users show. It sends
// SIGHUP every second time; otherwise the gateway looks by itself, each 5 s.
func (s *seasons) turn() {
	p := s.place
	s.n++
	p.season.Store(int64(s.n))
	if s.n > 1 {
		_, err := p.seal.issue()
		s.Must(err)
	}
	if s.n > 1 && s.plan.every > 31*time.Second { // a key set is not read again sooner than after 30 s
		s.Must(p.issuer.Rotate())
	}
	var fresh []credential.Entry
	next := make([]string, len(s.users))
	for n, u := range s.users {
		var err error
		if u.token {
			next[n], err = p.issuer.Token(u.name, u.tenant, u.limits, 2*s.plan.every+5*time.Minute)
			s.Must(err)
			continue
		}
		var e credential.Entry
		next[n], e = credential.NewKey(u.name, u.tenant, u.limits, "chat")
		fresh = append(fresh, e)
	}
	s.Must(p.keys.write(fresh))
	if s.n%2 == 0 {
		s.Must(p.gateway.Signal(syscall.SIGHUP))
	}
	s.eventually("the new keys count, and the certificate is shown", time.Minute, func() bool {
		s.Pause(200 * time.Millisecond)
		return s.counts(next[0]) && p.sealed == p.seal.next
	})
	for n, u := range s.users {
		u.shown.Store(&credentials{next[n], int64(s.n)})
		u.connect()
	}
	// Of the last two both are in the file.
	if s.shown = append(s.shown, next[0]); s.n > 2 && s.counts(s.shown[s.n-3]) {
		s.Note("a key that was taken out", false, "401", "counts")
	}
}

// counts says whether the gateway knows a key.
func (s *seasons) counts(key string) bool {
	_, err := s.place.ask(s.Ctx, s.place.url+"/me", key)
	if no, ok := errors.AsType[*refusal](err); ok && no.Status == http.StatusUnauthorized {
		s.refused++
		return false
	}
	s.Must(err)
	s.asked++
	return true
}
