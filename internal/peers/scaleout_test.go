package peers

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
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
	t.Parallel()
	for _, b := range balancers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, b)
			l := startLoad(t, f.base, clients)
			l.await(t, 2*clients, time.Time{})
			f.gateways[1].awaitLog(t, "request_completed")
			before := time.Now()
			f.gateways[1].kill()
			after := time.Now()
			l.await(t, 3*clients, after)
			f.gateways[1] = f.startOne(t, 1)
			f.gateways[1].awaitLog(t, "request_completed", "success", "true") // it takes part again
			l.await(t, clients, time.Now())
			judgeKill(t, l.stop(), before, after)
			f.gemini.checkOnce(t)
		})
	}
}

// judgeKill looks at every turn of a load in whose middle a gateway was killed.
func judgeKill(t *testing.T, turns []outcome, before, after time.Time) {
	t.Helper()
	whole, broken := 0, 0
	for _, o := range turns {
		inFlight := o.began.Before(after) && o.ended.After(before)
		switch {
		case o.err == nil:
			whole++
		case o.hidden:
			t.Errorf("%s broke off and looks whole: %v", o.marker, o.err)
		case inFlight:
			broken++
		default:
			t.Errorf("%s, begun %v after the kill, took %v (opened: %v): %v", o.marker, o.began.Sub(after), o.ended.Sub(o.began), o.opened, o.err)
		}
	}
	t.Logf("%d turns: %d whole, %d broken by the kill", len(turns), whole, broken)
	if broken == 0 || broken > clients {
		t.Errorf("%d streams broke, want those of one gateway", broken)
	}
}

// A gateway that is told to stop loses nothing: its streams end, and new ones go
// to the others. The load is that of sluice loadtest, which audits every stream.
func TestStoppedBehindBalancer(t *testing.T) {
	t.Parallel()
	for _, b := range balancers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, b)
			report := f.loadtest(t, func() {
				f.gateways[2].awaitLogs(t, 4, "request_received")
				f.gateways[2].endWell(t)
				f.gateways[2] = f.startOne(t, 2)
				f.gateways[2].awaitLogs(t, 4, "request_completed", "success", "true")
			})
			if report.Streams.Done != report.Streams.Started || report.Streams.Started < 2*clients {
				t.Errorf("not every stream was whole: %+v", report.Streams)
			}
			t.Logf("%+v", report.Streams)
		})
	}
}

// loadReport is what is read of the JSON of sluice loadtest.
type loadReport struct {
	OK      bool
	Streams struct{ Started, Done, Failed, Refused, Broken, Unreconciled int }
}

// loadtest runs sluice loadtest against the balancer, and disturb meanwhile.
func (f *fleet) loadtest(t *testing.T, disturb func()) (report loadReport) {
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
	if err := cmd.Wait(); err != nil {
		t.Errorf("sluice loadtest: %v\n%s", err, errOut.String())
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return report
}
