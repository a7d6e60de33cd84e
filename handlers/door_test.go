package handlers_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// withKey has requests be one turn.
const withKey = "Idempotency-Key: 12345678"

// leased is a door whose credentials end: after a time, or when they are taken back.
type leased struct {
	ends    time.Duration
	revoked *atomic.Bool
	// shut is true once the tenant is not served any more, and narrowed once the credential has lost its scope.
	shut, narrowed *atomic.Bool
}

func (d leased) Authenticate(*http.Request) (*access.Identity, error) {
	id := &access.Identity{Principal: chat.Principal{ID: "ann", Scopes: chat.ScopeChat}, Method: access.ByToken}
	if d.ends > 0 {
		id.Ends = time.Now().Add(d.ends)
	}
	if d.revoked != nil {
		id.Revoked = d.revoked.Load
	}
	return id, nil
}

func (leased) Knows(*http.Request) bool { return true }

func (d leased) Counts(who *access.Identity) bool {
	if d.narrowed != nil && d.narrowed.Load() {
		who.Scopes = chat.ScopeOps
	}
	return d.shut == nil || !d.shut.Load()
}

// A stream that only watches is cut when its credential ends. It is cut within ten seconds of the time when
// a new request would be refused: the key is taken back, loses its scope, or the tenant is disabled. The
// turn that it watches goes on to its end.
func TestWatchersEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	for name, d := range map[string]leased{"ends": {ends: time.Minute}, "taken back": {revoked: &revoked}, "tenant disabled": {shut: &revoked}, "narrowed": {narrowed: &revoked}} {
		synctest.Test(t, func(t *testing.T) {
			revoked.Store(false)
			ended := make(chan time.Time, 1)
			run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
				if err := sink.Emit(&stream.Start{Model: "m"}); err != nil {
					return err
				}
				time.Sleep(10 * time.Minute)
				ended <- time.Now()
				return sink.Emit(&stream.Done{Reason: stream.Stop})
			})
			tasks := task.New(task.Config{Store: memory.New(memory.Config{})})
			g, _, stop := serveInBubble(handlers.Config{Runner: run, Door: d, Limits: handlers.Limits{Heartbeat: 15 * time.Second},
				Keeping: handlers.Keeping{Tasks: tasks}, Dialects: []dialect.Dialect{sluice.Dialect{Stored: true}}})
			began := time.Now()
			first, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType, withKey)
			if err != nil {
				t.Fatal(err)
			}
			head := bufio.NewReader(first.Body)
			id := ""
			for id == "" {
				line, err := head.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				id = regexp.MustCompile(`task_[0-9a-v]{26}|$`).FindString(line)
			}
			watch, err := g.send(t.Context(), "GET", "/tasks/"+id+"/events", nil)
			if err != nil || watch.StatusCode != http.StatusOK {
				t.Fatal(watch, err)
			}
			repeated, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType, withKey)
			if err != nil || repeated.StatusCode != http.StatusOK {
				t.Fatal(repeated, err)
			}
			attached := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(repeated.Body)
				attached <- err
			}()
			time.AfterFunc(50*time.Second, func() { revoked.Store(true) })
			text, err := io.ReadAll(watch.Body)
			lasted := time.Since(began)
			if err == nil || lasted < 50*time.Second || lasted > 62*time.Second {
				t.Errorf("%s: the watcher's stream ended after %v with %v: %s", name, lasted, err, text)
			}
			if err := <-attached; err == nil || time.Since(began) > 62*time.Second {
				t.Errorf("%s: the stream of a repeated key ended after %v with %v", name, time.Since(began), err)
			}
			whole, err := io.ReadAll(head)
			if err != nil || time.Since(began) < 10*time.Minute || !strings.Contains(string(whole), "event: done") {
				t.Errorf("%s: the turn's own stream ended after %v with %v: %s", name, time.Since(began), err, whole)
			}
			<-ended
			stop()
			tasks.Close()
		})
	}
}
