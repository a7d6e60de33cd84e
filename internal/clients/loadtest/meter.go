package loadtest

import (
	"errors"
	"strconv"
	"time"
)

// sampleEvery is how often the server's memory is looked at.
const sampleEvery = 250 * time.Millisecond

// meter looks at the run, the server and this program while the run continues. Its fields
// belong to the goroutine of watch until that has ended.
type meter struct {
	run  *runner
	proc procfs

	pid  int // of the server; 0: not known
	name string

	from, to sample // the measured part of the run
	peak     int64  // of the server's memory, in bytes
}

// sample is how far everything was at one time.
type sample struct {
	at                    time.Time
	ended, events, bytes  int64
	server, generator     usage
	noServer, noGenerator error
}

// Why a server's figures are not known.
var (
	errNoPID = errors.New("name its process with --pid, if it runs on this machine")
	errGone  = errors.New("the process does not exist, or has ended")
)

// newMeter returns the meter of a run. proc is where the figures of processes come from.
func newMeter(r *runner, proc procfs) *meter {
	m := &meter{run: r, proc: proc, pid: r.cfg.PID}
	if m.pid != 0 {
		m.name = proc.processName(m.pid)
	}
	return m
}

// firstSample takes the first sample and returns its time.
func (m *meter) firstSample() time.Time {
	m.from = m.readSample()
	return m.from.at
}

// readSample takes all figures now. If a process cannot be read, an error stands in place of its
// figures, and the other figures count.
func (m *meter) readSample() sample {
	t := &m.run.tally
	s := sample{at: time.Now(), ended: t.ended.Load(), events: t.events.Load(), bytes: t.bytes.Load(), noServer: errNoPID}
	s.generator, s.noGenerator = m.proc.processUsage("self")
	if m.pid != 0 {
		if s.server, s.noServer = m.proc.processUsage(strconv.Itoa(m.pid)); s.noServer != nil {
			s.noServer = errGone
		}
	}
	m.peak = max(m.peak, s.server.rss)
	return s
}

// watchRun samples until the run has ended. The measured part begins with the first sample after
// the warm-up.
func (m *meter) watchRun(ended <-chan struct{}) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	warm, last := m.run.cfg.Warmup == 0, m.from
	for {
		select {
		case <-ended:
			m.to = m.readSample()
			if !warm {
				m.from = m.to
			}
			return
		case <-ticker.C:
		}
		s := m.readSample()
		if !warm && !s.at.Before(m.run.measureFrom) {
			warm, m.from = true, s
		}
		if report := m.run.cfg.Progress; report != nil && s.at.Sub(last.at) >= m.run.cfg.ProgressEvery-sampleEvery/2 {
			report(m.progressSince(last, s))
			last = s
		}
	}
}

// Progress is the state of a run in the middle.
type Progress struct {
	Elapsed time.Duration // since the beginning
	Warm    bool          // the warm-up is over
	Open    int64         // streams
	Ended   int64         // streams, whatever the end
	Wrong   int64         // streams that ended otherwise than asked for, and dropped turns
	Turns   float64       // per second, since the last Progress
	Events  float64       // likewise
}

// progressSince returns the state now, with the rates since last.
func (m *meter) progressSince(last, now sample) Progress {
	t := &m.run.tally
	seconds := now.at.Sub(last.at).Seconds()
	open := t.started.Load() - t.ended.Load()
	return Progress{
		Elapsed: now.at.Sub(m.run.begin),
		Warm:    !now.at.Before(m.run.measureFrom),
		Open:    open,
		Ended:   now.ended,
		Wrong:   t.countWrong(),
		Turns:   float64(now.ended-last.ended) / seconds,
		Events:  float64(now.events-last.events) / seconds,
	}
}
