// This file has the attacks by number: idle connections, turns beyond all limits, readers that do
// not read. Limits of time are wide, because the generator runs on the same machine: they only
// distinguish a gateway that copes from one that does not.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"sluice/e2e/scenario"
)

// ownShortage removes the gateway's descriptors, first with idle connections, then with turns. The
// model is not at fault.
//
// Its own lack of descriptors must not open the breaker of the model, which would refuse
// turns when there is room again.
func ownShortage(r *run) {
	g := r.mustStart(options{files: 64})
	idle := r.fillIdle(g, 100)
	got, _ := idle[len(idle)-1].exchange(rawTurn("hi"))
	r.checkTurn(fmt.Sprintf("a turn after %d idle ones, 64 descriptors", len(idle)), newTurn(got), time.Second, "stop", "overloaded")
	for _, l := range idle {
		_ = l.Close()
	}
	r.Pause(300 * time.Millisecond)
	r.checkBreaker(g)
	r.checkTurn("a turn when they are gone", g.runTurn("hi", 5*time.Second), 2*time.Second, "stop")

	const turns = 300
	g = r.mustStart(options{files: 256, model: func(q question, say func(string)) {
		_ = scenario.Pause(q.Context(), 2*time.Second)
		say(textAnswer("Fine."))
	}})
	var mu sync.Mutex // guards ends
	ends := map[string]int{}
	var wg sync.WaitGroup
	for range turns {
		wg.Go(func() {
			end := g.runTurn("hi", 20*time.Second).endReason()
			mu.Lock()
			defer mu.Unlock()
			ends[end]++
		})
	}
	time.Sleep(time.Second)
	r.checkHealth("/healthz beside 300 turns, 256 descriptors", g)
	wg.Wait()
	r.Check("the turns", ends["stop"]+ends["overloaded"] == turns && ends["stop"] > 0, "stop or overloaded", "%s", strings.Trim(strings.TrimPrefix(fmt.Sprint(ends), "map"), "[]"))
	r.checkBreaker(g)
}

// fillIdle opens up to n idle connections, and stops at the first one without an answer. It returns
// those that the gateway has left open. There is at least one, and the last is open.
func (r *run) fillIdle(g *gateway, n int) (idle []*link) {
	for range n {
		l := r.dial(g)
		_ = l.SetDeadline(time.Now().Add(500 * time.Millisecond))
		got, closing := l.exchange("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if closing {
			_ = l.Close()
		}
		if got.err != nil {
			break
		}
		if closing {
			continue
		}
		_ = l.SetDeadline(time.Now().Add(5 * time.Second))
		idle = append(idle, l)
	}
	if len(idle) == 0 {
		r.Must(errors.New("no connection gets an answer"))
	}
	return idle
}

// refusals asks for more than there are places, on connections that stay.
//
// A refusal must be cheap, keep its connection and not fill the log: a full gateway sends little
// else.
func refusals(r *run) {
	const n = 4000
	g := r.startFull()
	lines, begin := len(g.logLines()), time.Now()
	refused, dials, each := r.countRefused(g, n)
	elapsed := time.Since(begin)
	_, _, least := r.countRefused(r.startFloor(), n)
	r.Pause(1200 * time.Millisecond) // a summary may come a second later
	r.Exactly("refused of 4,000", refused, n)
	r.Exactly("connections for them", dials, 1)
	if each == 0 || least == 0 {
		r.Skip("CPU each", "no /proc here")
	} else {
		const most = 3
		r.Check("CPU each, beside the least there is", each < most*least, fmt.Sprintf("< %d times", most), "%s of %s", each.Round(time.Microsecond), least.Round(time.Microsecond))
	}
	r.atMost("log lines", len(g.logLines())-lines, 15*int(elapsed/time.Second+2))
}

// startFull starts a gateway that has one place, and a turn in it.
func (r *run) startFull() *gateway {
	g := r.mustStart(options{env: []string{"SLUICE_MAX_STREAMS=1"}, model: func(q question, _ func(string)) { <-q.Context().Done() }})
	if status := r.dial(g).statusOf(rawTurn("hold")); status != http.StatusOK {
		r.Must(fmt.Errorf("the first turn: status %d", status))
	}
	return g
}

// countRefused asks n times, and returns how many refusals came, on how many connections, and the
// CPU time of each; 0: that is not known.
func (r *run) countRefused(g *gateway, n int) (refused, dials int, each time.Duration) {
	before, _ := g.usage()
	l, dials := r.dial(g), 1
	for range n {
		got, closing := l.exchange(rawTurn("hi"))
		if got.status == http.StatusServiceUnavailable {
			refused++
		}
		if closing {
			_ = l.Close()
			l = r.dial(g)
			dials++
		}
	}
	if after, err := g.usage(); err == nil {
		each = (after.cpu - before.cpu) / time.Duration(n)
	}
	return refused, dials, each
}

// slowReaders ask for a long answer and do not read it.
//
// Memory for a reader must be bounded, however long the answer is.
func slowReaders(r *run) {
	const readers = 500
	chunk := partialAnswer(`[{"text":"` + strings.Repeat("a", 2<<10) + `"}]`)
	g := r.mustStart(options{model: func(q question, say func(string)) {
		for i := 0; i < 600 && q.mentions("long"); i++ {
			say(chunk)
			if scenario.Pause(q.Context(), 5*time.Millisecond) != nil {
				return
			}
		}
		say(textAnswer("Fine."))
	}})
	before, err := g.usage()
	for range readers {
		l := r.dial(g)
		_ = l.SetReadBuffer(4 << 10)
		_, err := io.WriteString(l, rawTurn("long"))
		r.Must(err)
	}
	r.Pause(3 * time.Second)
	r.checkTurn("a turn beside 500 who do not read", g.runTurn("hi", 10*time.Second), 2*time.Second, "stop")
	if err != nil {
		r.Skip("memory each", "no /proc here")
		return
	}
	after, err := g.usage()
	r.Must(err)
	each := (after.peak - before.peak) / readers >> 10
	r.Check("memory each", each < 256, "< 256 KiB", "%d KiB", each)
}

// overload begins five times as many turns as the gateway has shown to carry, and measures from 5 s
// after that. The generator and other programs take their share of the machine. So the peak is
// measured before and after, and the lower one counts. The answered turns are compared by the
// gateway's CPU time, without that of its refusals. The cost of a refusal is measured at the same
// rate, and must stay near the least possible one.
func overload(r *run) { r.judgeOverload(nil) }

// judgeOverload fills the row for a gateway with further settings. header has the flags of loadtest
// for credentials.
func (r *run) judgeOverload(env []string, header ...string) {
	if !r.canOpen(15_000) {
		return
	}
	g := r.mustStart(options{env: env, model: func(_ question, say func(string)) {
		for range 40 {
			say(partialAnswer(`[{"text":"Some words of an answer. "}]`))
		}
		say(textAnswer("Fine."))
	}})
	peak, perCPU := r.loadPerCPU(g, 0, append(header, "--clients=64", "--duration=5s")...)
	flood := []string{fmt.Sprintf("--rate=%.0f", 5*peak.turnsPerSecond()), "--max-in-flight=7000"}
	refusal, least := r.refusalCost(r.startFull(), flood...), r.refusalCost(r.startFloor(), flood...)
	r.Check("CPU of a refusal at that rate, beside the least", refusal < 3*least || least == 0, "< 3 times", "%s of %s", refusal.Round(time.Microsecond), least.Round(time.Microsecond))
	over, overCPU := r.loadPerCPU(g, refusal, append(append(flood, header...), "--duration=10s")...)
	again, _ := r.loadPerCPU(g, 0, append(header, "--clients=64", "--duration=5s")...)
	r.slow = max(r.slow, slowness())
	r.checkWithin("p99 to the first text, 5 times the peak", time.Duration(over.FirstText.P99*float64(time.Millisecond)), 2*time.Second)
	lower := min(peak.turnsPerSecond(), again.turnsPerSecond())
	share := 100 * over.turnsPerSecond() / lower
	if perCPU > 0 {
		share = max(share, 100*overCPU/perCPU)
	}
	r.Check("turns answered, of the peak", share >= 60, ">= 60%", "%.0f%% of %.0f/s; a CPU second %.0f and %.0f", share, lower, overCPU, perCPU)
	r.checkHealth("/healthz afterwards", g)
}

// loadReport is what matters here of the report of loadtest.
type loadReport struct {
	Seconds float64 `json:"measured_seconds"`
	Streams struct {
		Refused int64 `json:"refused"`
	} `json:"streams"`
	FirstText struct {
		Count float64
		P99   float64 `json:"p99_ms"`
	} `json:"first_text"`
}

// turnsPerSecond returns how many turns a second got a text.
func (l loadReport) turnsPerSecond() float64 { return l.FirstText.Count / l.Seconds }

// loadPerCPU runs mustLoad, and also returns how many turns were answered for each second of the
// gateway's CPU time, without that of refusals. 0: that is unknown.
func (r *run) loadPerCPU(g *gateway, refusal time.Duration, flags ...string) (loadReport, float64) {
	before, _ := g.usage()
	report := r.mustLoad(g, flags...)
	after, err := g.usage()
	spent := after.cpu - before.cpu - time.Duration(report.Streams.Refused)*refusal
	if err != nil || spent <= 0 {
		return report, 0
	}
	return report, report.FirstText.Count / spent.Seconds()
}

// refusalCost returns the CPU time of a refusal by a full server under a load, or 0 if it is
// unknown. One request after the other costs a server less than thousands at once.
func (r *run) refusalCost(g *gateway, flags ...string) time.Duration {
	before, _ := g.usage()
	report := r.runLoadtest(g, append(flags, "--duration=3s")...)
	after, err := g.usage()
	if err != nil || report.Streams.Refused == 0 {
		return 0
	}
	return (after.cpu - before.cpu) / time.Duration(report.Streams.Refused)
}

// mustLoad runs loadtest, and ends the scenario if no turn was answered.
func (r *run) mustLoad(g *gateway, flags ...string) loadReport {
	report := r.runLoadtest(g, flags...)
	if report.FirstText.Count == 0 {
		r.Must(errors.New("no turn was answered"))
	}
	return report
}

// runLoadtest runs the binary's own load generator.
func (r *run) runLoadtest(g *gateway, flags ...string) (report loadReport) {
	flags = append([]string{"loadtest", "--url=http://" + g.addr, "--timeout=20s", "--json=-"}, flags...)
	out, _ := exec.CommandContext(r.Ctx, r.Binary, flags...).Output() // it fails if a turn is refused
	if err := json.Unmarshal(out, &report); err != nil {
		r.Must(fmt.Errorf("loadtest: %w", err))
	}
	return report
}
