package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fleet is three gateways behind a balancer.
type fleet struct {
	gemini   *countingGemini
	addrs    []string
	gateways []*gateway
	base     string // of the balancer
}

func startFleet(t *testing.T, b balancer) *fleet {
	t.Helper()
	b.program(t)
	f := &fleet{gemini: newCountingGemini(t)}
	for range 3 {
		f.addrs = append(f.addrs, ownAddr(t))
	}
	for i := range f.addrs {
		f.gateways = append(f.gateways, f.startOne(t, i))
	}
	f.base = b.start(t, f.addrs)
	return f
}

func (f *fleet) startOne(t *testing.T, i int) *gateway {
	t.Helper()
	return startGateway(t, f.gemini.env(f.addrs[i]))
}

// clients of a load: enough that each gateway has streams at any time.
const clients = 18

// A gateway that is killed takes the streams that it has along, and nothing else:
// clients see them break, none hangs, new ones go to the others, and no turn is
// run twice.
func TestKilledBehindBalancer(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		f := startFleet(t, b)
		l := startLoad(t, f.base, clients)
		l.await(t, 2*clients, time.Time{})
		f.gateways[1].awaitLog(t, "request_completed")
		killed := time.Now()
		f.gateways[1].kill()
		l.await(t, 3*clients, time.Now())
		f.gateways[1] = f.startOne(t, 1)
		f.gateways[1].awaitLog(t, "request_completed", "success", "true") // it takes part again
		l.await(t, clients, time.Now())
		judgeKill(t, l.stop(), killed)
		f.gemini.checkOnce(t)
	})
}

// A gateway that is dead already when a load begins is passed over.
func TestDeadBehindBalancer(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		f := startFleet(t, b)
		f.gateways[0].kill()
		l := startLoad(t, f.base, clients)
		l.await(t, 2*clients, time.Time{})
		for _, o := range l.stop() {
			if o.err != nil {
				t.Errorf("%s: %v", o.marker, o.err)
			}
		}
		f.gemini.checkOnce(t)
	})
}

// A POST that a gateway has taken without an answer is not given to another one:
// its turn may run.
func TestBalancerSendsNothingTwice(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		b.program(t)
		var posts atomic.Int64
		addr := strings.TrimPrefix(serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				return // a health check
			}
			_, _ = io.Copy(io.Discard, r.Body)
			posts.Add(1)
			panic(http.ErrAbortHandler) // as if it were killed
		})), "http://")
		g := &gateway{base: b.start(t, []string{addr, addr, addr}), client: http.DefaultClient}
		if s, err := g.open(t.Context(), "Hello"); err == nil {
			s.leave()
			t.Error("a stream came from a gateway that had died")
		}
		if n := posts.Load(); n != 1 {
			t.Errorf("the POST was sent %d times, want once", n)
		}
	})
}

// A gateway refuses a POST because it stops, and the balancer, which may choose it again
// for having the fewest streams, comes back to it. If it is gone by then, another one
// takes the request, for nothing was run. If it takes the request and dies, none does.
func TestRefusedByAGatewayThatIsGoneNext(t *testing.T) {
	t.Parallel()
	for _, b := range balancers() {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,dies=%t", b.name, dies), func(t *testing.T) {
				t.Parallel()
				b.program(t)
				var posts atomic.Int64
				stopping := httptest.NewUnstartedServer(nil)
				stopping.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						return // a health check, or a stream that ends at once
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if posts.Add(1) > 1 {
						panic(http.ErrAbortHandler) // as if it were killed
					}
					if !dies {
						_ = stopping.Listener.Close()
					}
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				stopping.Start()
				t.Cleanup(stopping.Close)
				addrs := []string{stopping.Listener.Addr().String()}
				busy, accepted := make(chan struct{}, 100), make(chan struct{}, 2)
				for range 2 {
					addrs = append(addrs, strings.TrimPrefix(serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						switch {
						case r.Method == http.MethodPost:
							accepted <- struct{}{}
						case r.URL.Path == "/hold":
							busy <- struct{}{}
							<-r.Context().Done()
						}
					})), "http://"))
				}
				base := b.start(t, addrs)
				for range 2 {
					occupy(t, base+"/hold", busy)
				}
				reply, err := http.Post(base+"/chat/stream", "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				defer reply.Body.Close()
				status, others := http.StatusOK, 1
				if posts.Load() == 2 {
					status, others = http.StatusBadGateway, 0
				}
				if got := len(accepted); reply.StatusCode != status || got != others {
					t.Errorf("after %d posts to the first, status %d, and %d of the others took the request, want %d, %d", posts.Load(), reply.StatusCode, got, status, others)
				}
			})
		}
	}
}

// occupy asks url until one that holds its requests has got one.
func occupy(t *testing.T, url string, busy <-chan struct{}) {
	t.Helper()
	for {
		ended := make(chan error, 1)
		go func() { // ends with the test, if its request is held
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
			if err == nil {
				var reply *http.Response
				if reply, err = http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, reply.Body)
					_ = reply.Body.Close()
				}
			}
			ended <- err
		}()
		select {
		case <-busy:
			return
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// judgeKill looks at every turn of a load in whose middle a gateway was killed. It
// takes some milliseconds to die, in which the kernel still accepts for it: what began
// after the last stream had broken was new to everybody, and must not fail.
func judgeKill(t *testing.T, turns []outcome, killed time.Time) {
	t.Helper()
	// The kernel closes the sockets of a killed process one by one: for that long it
	// still takes connections, to which nothing answers.
	const teardown = 250 * time.Millisecond
	died := killed.Add(teardown)
	for _, o := range turns {
		if o.err != nil && o.opened && o.ended.After(died) && o.ended.Sub(killed) < 2*time.Second {
			died = o.ended
		}
	}
	whole, broken := 0, 0
	for _, o := range turns {
		switch {
		case o.err == nil:
			whole++
		case o.hidden:
			t.Errorf("%s broke off and looks whole: %v", o.marker, o.err)
		case o.began.Before(died) && o.ended.After(killed):
			broken++
		default:
			t.Errorf("%s, begun %v after the kill, took %v (opened: %v): %v", o.marker, o.began.Sub(killed), o.ended.Sub(o.began), o.opened, o.err)
		}
	}
	t.Logf("%d turns: %d whole, %d broken by the kill", len(turns), whole, broken)
	if broken == 0 || broken > clients {
		t.Errorf("%d streams broke, want those of one gateway", broken)
	}
}

// A gateway that is asked to stop loses nothing: its streams end, and new ones go to the
// others. The load is that of sluice loadtest, which audits every stream.
func TestStoppedBehindBalancer(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		f := startFleet(t, b)
		report, err := f.loadtest(t, func() {
			f.gateways[2].awaitLogs(t, 4, "request_received")
			f.gateways[2].endWell(t)
			f.gateways[2] = f.startOne(t, 2)
			f.gateways[2].awaitLogs(t, 4, "request_completed", "success", "true")
		})
		if err != nil || report.Streams.Done != report.Streams.Started || report.Streams.Started < 2*clients {
			t.Errorf("not every stream was whole: %+v, %v", report.Streams, err)
		}
		t.Logf("%+v", report.Streams)
	})
}

// The same load while a gateway is killed and comes back: each stream has exactly one
// done, or its client sees that it has not: it is cut, or, if the gateway was killed
// before it answered, the balancer says 502.
func TestKilledUnderLoadtest(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		f := startFleet(t, b)
		report, err := f.loadtest(t, func() {
			f.gateways[2].awaitLogs(t, 4, "request_received")
			f.gateways[2].kill()
			f.gateways[2] = f.startOne(t, 2)
			f.gateways[2].awaitLogs(t, 4, "request_completed", "success", "true")
		})
		n := report.Streams
		lost := n.BrokenBy["cut"] + n.BrokenBy["no_response"] + n.RefusedBy["502"]
		if err == nil || n.Done+lost != n.Started || lost == 0 || lost > clients {
			t.Errorf("%+v, %v, want streams that are done, and at most %d that the kill cut", n, err, clients)
		}
		t.Logf("%+v", n)
	})
}

// loadReport is what is read of the JSON of sluice loadtest.
type loadReport struct {
	OK      bool
	Streams struct {
		Started, Done, Failed, Refused, Broken, Unreconciled int
		BrokenBy                                             map[string]int `json:"broken_by"`
		RefusedBy                                            map[string]int `json:"refused_by"`
	}
}

// loadtest runs sluice loadtest against the balancer, and disturb meanwhile. The
// error is that of its exit code.
func (f *fleet) loadtest(t *testing.T, disturb func()) (report loadReport, err error) {
	t.Helper()
	path, err := shared.binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "loadtest", "--url", f.base, "--clients", strconv.Itoa(clients), "--duration", "1m", "--json", "-")
	cmd.SysProcAttr = ownGroup()
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	disturb()
	_ = cmd.Process.Signal(syscall.SIGINT) // ends it early, with a report
	err = cmd.Wait()
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%v: %s\n%s", err, out.String(), errOut.String())
	}
	return report, err
}
