// This file has the users. Each asks at its own pace, reads to the end or slowly, or leaves, and
// records the outcome.

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// user is a simulated user, with its credentials and its client.
type user struct {
	*place
	plan   *plan
	ledger *ledger

	name, tenant string
	limits       string // class
	token        bool   // shows a token, not a key
	h2           bool
	credentials  atomic.Pointer[credentials]
	http         atomic.Pointer[http.Client]
	turns        atomic.Int64
}

// credentials are the key or the token that a user sends.
type credentials struct {
	text   string // a key or a token; empty: nobody is asked
	season int64  // place.season when it was new
}

// isOutdated reports whether the credential may be refused: it is valid until it has been replaced
// twice.
func (c *credentials) isOutdated(season int64) bool { return season >= c.season+2 }

// newUser returns number n. Every tenth user of a tenant asks more than it may.
func newUser(p *place, plan *plan, l *ledger, n int) *user {
	u := &user{place: p, plan: plan, ledger: l, name: fmt.Sprintf("u%d", n), tenant: fmt.Sprintf("t%d", n%tenants), token: n%2 == 1, h2: n/2%2 == 1}
	if n/tenants%10 == 9 && plan.rate > 0 {
		u.limits = smallClass
	}
	if plan.plain {
		u.token, u.h2 = false, false
	}
	u.credentials.Store(new(credentials))
	u.connect()
	return u
}

// connect makes the next requests use other connections, which see the certificate of now.
func (u *user) connect() {
	t := &http.Transport{TLSClientConfig: u.trusted.Clone(), ForceAttemptHTTP2: u.h2, MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second, DialContext: u.ledger.dial}
	if !u.h2 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	if old := u.http.Swap(&http.Client{Transport: t}); old != nil {
		old.CloseIdleConnections()
	}
}

// dial opens a connection with small buffers: a slow reader is to be felt soon.
func (l *ledger) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.dialer.DialContext(ctx, network, addr)
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetReadBuffer(32 << 10)
	}
	return conn, err
}

// askUntil asks until the time is over, and returns when all its turns have ended.
func (u *user) askUntil(ctx context.Context, until time.Time) {
	var turns sync.WaitGroup
	defer turns.Wait()
	if u.plan.rate == 0 {
		for range u.plan.width {
			turns.Go(func() {
				for ctx.Err() == nil && time.Now().Before(until) {
					u.runTurn(ctx)
				}
			})
		}
		return
	}
	places := make(chan struct{}, u.plan.width)
	mean := float64(u.plan.users) / u.plan.rate * float64(time.Second)
	for {
		pause := time.Duration(mean * (0.5 + rand.Float64()))
		if time.Now().Add(pause).After(until) || scenario.Pause(ctx, pause) != nil {
			return
		}
		places <- struct{}{} // a slow gateway is asked less
		turns.Go(func() {
			defer func() { <-places }()
			u.runTurn(ctx)
		})
	}
}

// cancelling is the tenant whose turns end when their clients leave. Turns of the other tenants go
// on.
const cancelling = "t4"

// fate is the behaviour of a client during its turn.
type fate struct {
	leaves int  // after so many events; 0: it stays
	cancel bool // the turn is to end when its client leaves
	slow   bool
}

// nextOrder chooses the order and the fate of the next turn.
func (u *user) nextOrder() (o order, f fate) {
	p := u.plan
	o = order{id: fmt.Sprintf("%s.%d", u.name, u.turns.Add(1)), words: 8, size: 24, every: 5 * time.Millisecond}
	if p.plain {
		o.words, o.every = 2, 0
	}
	if rand.IntN(100) < p.calls {
		o.calls = 1 + rand.IntN(2)
	}
	if rand.IntN(100) < p.leave {
		f.leaves, f.cancel = 1+rand.IntN(6), u.tenant == cancelling
	} else if rand.IntN(100) < p.slow {
		f.slow, o.words, o.size, o.every = true, 100, 2<<10, 0
	}
	return o, f
}

// patience bounds a stream, and the requests by which a client learns its end.
const patience = 2 * time.Minute

// runTurn asks once.
func (u *user) runTurn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o, f := u.nextOrder()
	v := &view{}
	err := u.sendFirst(ctx, o, f, v)
	if no, ok := errors.AsType[*refusal](err); ok {
		u.ledger.countRefusal(no)
		// As a client of good manners, but no longer than the run can wait.
		_ = scenario.Pause(ctx, min(time.Second, max(20*time.Millisecond, no.Wait)))
		return
	}
	if err != nil { // the stream has not begun
		return
	}
	left := f.leaves > 0 && v.dones == 0 && v.end == nil
	cut := !left && v.dones == 0 && u.plan.store != "none"
	if left || cut { // it comes back for the end of what went on without it
		_ = scenario.Pause(ctx, time.Duration(rand.IntN(1000))*time.Millisecond)
		err = u.followTurn(ctx, v)
	}
	u.ledger.countTurn(u, o, v, left, cut, err)
}

// sendFirst sends the request and reads the stream.
func (u *user) sendFirst(ctx context.Context, o order, f fate, v *view) error {
	ctx, leave := context.WithCancel(ctx) // closes the stream of a client that leaves
	defer leave()
	body := map[string]any{"input": o.String(), "accumulated": false}
	if f.leaves > 0 && f.cancel {
		body["on_disconnect"] = "cancel"
	}
	seen := 0
	return u.readStream(ctx, http.MethodPost, "/chat/stream", body, "", v, func(e events.Event) bool {
		v.accept(e)
		if f.slow {
			_ = scenario.Pause(ctx, 10*time.Millisecond)
		}
		seen++
		return f.leaves == 0 || seen < f.leaves
	})
}

// followTurn reads the rest of a turn, or all of it again, from its log.
func (u *user) followTurn(ctx context.Context, v *view) error {
	last := fmt.Sprint(v.turn, ":", v.last)
	if rand.IntN(2) == 0 {
		*v, last = view{task: v.task, turn: v.turn}, ""
	}
	for v.dones == 0 {
		err := u.readStream(ctx, http.MethodGet, "/tasks/"+v.task+"/events?turn="+v.turn, nil, last, v, func(e events.Event) bool { v.accept(e); return true })
		if err != nil || v.dones > 0 {
			return err
		}
		last = fmt.Sprint(v.turn, ":", v.last)
		if err := scenario.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// refusal is a reply that is not a stream.
type refusal struct {
	Status   int
	Type     string   `json:"error_type"`
	After    int      `json:"retry_after_ms"`
	Policies []string `json:"violated-policies"`
	Wait     time.Duration
}

// Error names it.
func (e *refusal) Error() string { return fmt.Sprint(e.Status, " ", e.Type) }

// readStream sends a request and gives its events to each. The error is a *refusal, or that of a
// connection without a reply. How a stream has ended is noted in v.
func (u *user) readStream(ctx context.Context, method, path string, body map[string]any, last string, v *view, each func(events.Event) bool) error {
	for {
		shown, began := u.credentials.Load(), time.Now()
		resp, err := u.sendRequest(ctx, method, path, body, last, shown.text)
		if err != nil {
			if !u.ledger.mayResend(ctx, u, err, time.Since(began)) {
				return err
			}
			continue
		}
		no := readRefusal(resp)
		if no == nil {
			v.end = events.Read(resp.Body, each)
		}
		_ = resp.Body.Close()
		switch {
		case no == nil:
			return nil
		case no.Status == http.StatusUnauthorized && shown.isOutdated(u.season.Load()):
			u.ledger.countLate() // it was replaced twice on the way
		default:
			return no
		}
	}
}

// sendRequest sends a request, and returns the reply.
func (u *user) sendRequest(ctx context.Context, method, path string, body map[string]any, last, shown string) (*http.Response, error) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if shown != "" {
		req.Header.Set("Authorization", "Bearer "+shown)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := u.http.Load().Do(req)
	if err == nil {
		u.ledger.countReply(resp)
	}
	return resp, err
}

// readRefusal returns the refusal in a reply, or nil if the reply is a stream.
func readRefusal(resp *http.Response) *refusal {
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return nil
	}
	no := &refusal{}
	text, _ := io.ReadAll(resp.Body)
	_ = json.Unmarshal(text, no)
	no.Status, no.Wait = resp.StatusCode, time.Duration(no.After)*time.Millisecond
	return no
}

// view is a client's view of a turn, over all of its connections.
type view struct {
	task, turn string
	last       int // number of the last event; they count from 1 without gaps
	dones      int
	stray      int // events behind done, or that are not the next one
	reason     string
	usage      usage
	calls      map[string]call // by id
	end        error           // of the last connection; nil: the client had enough
}

// usage is the tokens that a turn has used.
type usage struct {
	Input    int `json:"input_tokens"`
	Output   int `json:"output_tokens"`
	Thinking int `json:"thinking_tokens"`
}

// totalTokens returns the tokens that limits count.
func (u usage) totalTokens() int { return u.Input + u.Output + u.Thinking }

// call is a tool call as it was reported last.
type call struct {
	tool, server, status, order string
}

// accept adds an event.
func (v *view) accept(e events.Event) {
	if e.N != v.last+1 || v.dones > 0 || v.turn != "" && e.Turn != v.turn {
		v.stray++
	}
	v.last, v.turn = e.N, e.Turn
	if e.Name == "response_delta" { // most are, and say nothing of interest
		return
	}
	var d struct {
		Task   string `json:"task_id"`
		Call   string `json:"call_id"`
		Tool   string `json:"tool_name"`
		Finish string `json:"finish_reason"`
		Server string
		Status string
		Usage  usage
		// Arguments of a call.
		Arguments struct{ Order string }
	}
	if json.Unmarshal(e.Data, &d) != nil {
		v.stray++
	}
	switch e.Name {
	case "start":
		v.task = d.Task
	case "tool_call":
		if v.calls == nil {
			v.calls = map[string]call{}
		}
		c := v.calls[d.Call]
		c.tool, c.server, c.status = d.Tool, d.Server, d.Status
		if d.Arguments.Order != "" {
			c.order = d.Arguments.Order
		}
		v.calls[d.Call] = c
	case "done":
		v.dones, v.reason, v.usage = v.dones+1, d.Finish, d.Usage
	}
}
