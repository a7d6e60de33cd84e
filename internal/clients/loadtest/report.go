package loadtest

import (
	"fmt"
	"maps"
	"runtime"
	"time"
)

// Report is the result of a run. Its JSON is documented in README.md; names stay.
type Report struct {
	URL         string  `json:"url"`
	Method      string  `json:"method"`
	Accumulated bool    `json:"accumulated"`
	Loop        string  `json:"loop"` // "closed" or "open"
	Clients     int     `json:"clients"`
	Rate        float64 `json:"rate"`
	MaxInFlight int     `json:"max_in_flight"`

	Started  time.Time `json:"started_at"`
	Seconds  float64   `json:"seconds"`          // all of it
	Measured float64   `json:"measured_seconds"` // without the warm-up
	Stopped  bool      `json:"stopped"`          // before its time
	OK       bool      `json:"ok"`               // every turn ended as it was asked to
	Measures
	Server       Server   `json:"server"`
	GeneratorCPU float64  `json:"generator_cores"` // how many it kept busy; 0: not known
	Cores        int      `json:"cores"`           // that this program may use
	Warnings     []string `json:"warnings"`
	Examples     []string `json:"examples"`
}

// Measures are the times of the turns, and their rates.
type Measures struct {
	Streams      Streams   `json:"streams"`
	FirstEvent   Quantiles `json:"first_event"`
	FirstText    Quantiles `json:"first_text"`
	Turn         Quantiles `json:"turn"`
	Gap          Quantiles `json:"gap"`
	TurnsPerSec  float64   `json:"turns_per_second"`
	DonePerSec   float64   `json:"done_per_second"` // turns that ended with success, by when they were begun
	EventsPerSec float64   `json:"events_per_second"`
	BytesPerSec  float64   `json:"bytes_per_second"`
}

// Streams counts how all turns ended, those of the warm-up included. Started is the
// sum of those below it; dropped turns were not started.
type Streams struct {
	Started        int64            `json:"started"`
	Done           int64            `json:"done"`
	Failed         int64            `json:"failed"`
	Refused        int64            `json:"refused"`
	Broken         int64            `json:"broken"`
	Unreconciled   int64            `json:"unreconciled"`
	LeftEarly      int64            `json:"left"`
	Interrupted    int64            `json:"interrupted"`
	Dropped        int64            `json:"dropped"`
	Resumed        int64            `json:"resumed"`    // broke off, and were read on; each is in one of the above
	TakenOver      int64            `json:"taken_over"` // of those: another gateway went on
	FailedBy       map[string]int64 `json:"failed_by"`
	RefusedBy      map[string]int64 `json:"refused_by"`
	BrokenBy       map[string]int64 `json:"broken_by"`
	UnreconciledBy map[string]int64 `json:"unreconciled_by"`
	Events         int64            `json:"events"`
	Bytes          int64            `json:"bytes"`
}

// Server is the usage of the gateway's process while it was measured.
type Server struct {
	PID         int     `json:"pid"`
	Name        string  `json:"name,omitempty"`
	Unknown     string  `json:"unknown,omitempty"` // why the rest is not known
	Cores       float64 `json:"cores"`             // how many it kept busy
	CPUPerTurn  float64 `json:"cpu_ms_per_turn"`
	CPUPerEvent float64 `json:"cpu_us_per_event"`
	RSSStart    int64   `json:"rss_start_bytes"`
	RSSPeak     int64   `json:"rss_peak_bytes"`
	RSSEnd      int64   `json:"rss_end_bytes"`
}

// makeReport makes the report of a run that has ended. Rates are those of the measured part,
// counts are of the whole run.
func (m *meter) makeReport() Report {
	r, cfg := m.run, m.run.cfg
	seconds := m.to.at.Sub(m.from.at).Seconds()
	rep := Report{
		URL: cfg.URL, Method: cfg.Method, Accumulated: cfg.Accumulated, Loop: "closed",
		Clients: cfg.Clients, Rate: cfg.Rate, MaxInFlight: cfg.MaxInFlight,
		Started: r.begin.UTC(), Seconds: m.to.at.Sub(r.begin).Seconds(), Measured: seconds, Stopped: r.isStopped(),
		OK: r.tally.countWrong() == 0, Measures: Measures{
			Streams:      r.tally.streamCounts(),
			FirstEvent:   r.firstEvent.allQuantiles(),
			FirstText:    r.firstText.allQuantiles(),
			Turn:         r.turns.allQuantiles(),
			Gap:          r.gaps.allQuantiles(),
			TurnsPerSec:  ratioOrZero(float64(m.to.ended-m.from.ended), seconds),
			DonePerSec:   ratioOrZero(float64(r.good.Load()), r.measuredFor().Seconds()),
			EventsPerSec: ratioOrZero(float64(m.to.events-m.from.events), seconds),
			BytesPerSec:  ratioOrZero(float64(m.to.bytes-m.from.bytes), seconds),
		},
		Server: m.serverUsage(), Cores: runtime.GOMAXPROCS(0),
		Examples: r.tally.examples,
	}
	if cfg.Rate > 0 {
		rep.Loop = "open"
	}
	if m.to.noGenerator == nil {
		rep.GeneratorCPU = ratioOrZero((m.to.generator.cpu - m.from.generator.cpu).Seconds(), seconds)
	}
	rep.Warnings = rep.findWarnings()
	return rep
}

// streamCounts returns the counts so far.
func (t *tally) streamCounts() Streams {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := func(c class) int64 { return t.ends[c].Load() }
	return Streams{
		Started: t.started.Load(), Done: n(done), Failed: n(failed), Refused: n(refused), Broken: n(broken),
		Unreconciled: n(unreconciled), LeftEarly: n(leftEarly), Interrupted: n(interrupted), Dropped: t.dropped.Load(),
		Resumed: t.resumed.Load(), TakenOver: t.takenOver.Load(),
		FailedBy: maps.Clone(t.causes[failed]), RefusedBy: maps.Clone(t.causes[refused]),
		BrokenBy: maps.Clone(t.causes[broken]), UnreconciledBy: maps.Clone(t.causes[unreconciled]),
		Events: t.events.Load(), Bytes: t.bytes.Load(),
	}
}

// serverUsage returns the usage of the gateway's process between the first and the last sample of
// the measured part, or why it is not known.
func (m *meter) serverUsage() Server {
	s := Server{PID: m.pid, Name: m.name}
	for _, err := range []error{m.from.noServer, m.to.noServer} {
		if err != nil {
			s.Unknown = err.Error()
			return s
		}
	}
	cpu := m.to.server.cpu - m.from.server.cpu
	s.Cores = ratioOrZero(cpu.Seconds(), m.to.at.Sub(m.from.at).Seconds())
	s.CPUPerTurn = ratioOrZero(roundedMillis(cpu), float64(m.to.ended-m.from.ended))
	s.CPUPerEvent = ratioOrZero(float64(cpu.Microseconds()), float64(m.to.events-m.from.events))
	s.RSSStart, s.RSSPeak, s.RSSEnd = m.from.server.rss, m.peak, m.to.server.rss
	return s
}

// ratioOrZero is 0 of nothing.
func ratioOrZero(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// findWarnings returns the reasons to doubt the figures.
func (r *Report) findWarnings() (list []string) {
	cores := float64(r.Cores)
	switch {
	case r.GeneratorCPU >= 0.8*cores:
		list = append(list, fmt.Sprintf("the generator kept %.1f of %d cores busy: it may be the limit, and latencies hold its own delays", r.GeneratorCPU, r.Cores))
	case r.GeneratorCPU+r.Server.Cores >= 0.9*cores:
		list = append(list, fmt.Sprintf("server and generator together kept %.1f of %d cores busy: this machine is the limit, and latencies hold the wait for a core", r.GeneratorCPU+r.Server.Cores, r.Cores))
	}
	if r.Measured > 0 && r.Turn.Count == 0 {
		list = append(list, "no turn was measured: the warm-up was longer than the run, or no stream got to its end")
	}
	return list
}
