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

// printProgress prints a line of progress for the waiting person.
func (r *run) printProgress(format string, args ...any) {
	fmt.Fprintf(r.progress, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// soak runs all phases.
func (r *run) soak() {
	p, l := r.startPlace(), newLedger()
	users := make([]*user, r.plan.users)
	for n := range users {
		users[n] = newUser(p, &r.plan, l, n)
	}
	s := &seasons{run: r, place: p, users: users}
	if !r.plan.plain {
		s.replaceAll()
	}
	r.warmUsers(users)
	before := r.awaitRest(p)
	began := time.Now()
	r.runLoad(s, began.Add(r.plan.length))
	elapsed := time.Since(began)
	r.warmUsers(users) // each with the credentials of the end
	r.awaitOrFail("no turn runs any more", time.Minute, func() bool {
		f, err := p.readMetrics(r.Ctx)
		return err == nil && f["sluice_streams_active"] == 0 && f["sluice_turns_detached"] == 0
	})
	r.judgeAccounts(p, l, s, elapsed)
	r.checkReturned(p, before)
	r.Row.Totals = l.totals
}

// warmUsers has each user ask once. So everything that is made at first use exists, and the last
// credentials are used.
func (r *run) warmUsers(users []*user) {
	done := make(chan struct{})
	for _, u := range users {
		go func() {
			defer func() { done <- struct{}{} }()
			u.runTurn(r.Ctx)
		}()
	}
	for range users {
		<-done
	}
	for _, u := range users {
		u.http.Load().CloseIdleConnections()
	}
}

// awaitRest waits until no turn runs, and returns the resources that the gateway then holds.
func (r *run) awaitRest(p *place) (h held) {
	var err error
	r.awaitOrFail("rest", time.Minute, func() bool {
		f, err := p.readMetrics(r.Ctx)
		return err == nil && f["sluice_streams_active"] == 0 && f["sluice_turns_detached"] == 0
	})
	h, err = p.measureHeld(r.Ctx)
	r.Must(err)
	return h
}

// runLoad has all users ask until the time is over. Meanwhile keys and certificates are replaced.
func (r *run) runLoad(s *seasons, until time.Time) {
	done := make(chan struct{})
	for _, u := range s.users {
		go func() {
			defer func() { done <- struct{}{} }()
			u.askUntil(r.Ctx, until)
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
				s.replaceAll()
			}
			next.Reset(r.plan.every) // from now: on a busy machine users are slow to change
		}
	}
}

// seasons replaces keys, tokens and certificates. Only one goroutine uses it.
type seasons struct {
	*run
	place    *place
	users    []*user
	n        int
	oldKeys  []string // keys of the first user, the last one at the end
	refused  int      // answers 401 to keys that were not known yet, or not any more
	answered int      // answers of /me to an accepted key
}

// replaceAll replaces all: the files first, and when the gateway uses them, what users show. It sends
// SIGHUP every second time; otherwise the gateway looks by itself, each 5 s.
func (s *seasons) replaceAll() {
	p := s.place
	s.n++
	p.season.Store(int64(s.n))
	if s.n > 1 {
		_, err := p.seal.issuePair()
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
	s.Must(p.keys.writeKeys(fresh))
	if s.n%2 == 0 {
		s.Must(p.gateway.Signal(syscall.SIGHUP))
	}
	s.awaitOrFail("the new keys count, and the certificate is shown", time.Minute, func() bool {
		s.Pause(200 * time.Millisecond)
		return s.acceptsKey(next[0]) && p.sealed == p.seal.next
	})
	for n, u := range s.users {
		u.credentials.Store(&credentials{next[n], int64(s.n)})
		u.connect()
	}
	// The last two keys are both in the file.
	if s.oldKeys = append(s.oldKeys, next[0]); s.n > 2 && s.acceptsKey(s.oldKeys[s.n-3]) {
		s.Check("a key that was taken out", false, "401", "counts")
	}
}

// acceptsKey reports whether the gateway knows a key.
func (s *seasons) acceptsKey(key string) bool {
	_, err := s.place.getPage(s.Ctx, s.place.url+"/me", key)
	if no, ok := errors.AsType[*refusal](err); ok && no.Status == http.StatusUnauthorized {
		s.refused++
		return false
	}
	s.Must(err)
	s.answered++
	return true
}
