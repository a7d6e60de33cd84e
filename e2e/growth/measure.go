// This file measures. All sizes of all series of a dimension are there at the same time, and are
// measured by turns, a round after the other: what else the machine does then falls upon all of them.

package main

import (
	"errors"
	"fmt"
	"time"

	"sluice/e2e/proc"
)

// series is a line of a chart: one thing that is done at several sizes.
type series struct {
	name   string
	probes []*probe
	points []point // the measurements
}

// probe does something at one size.
type probe struct {
	size  int
	pids  []int // the processes whose CPU time it costs
	do    func() error
	times int // how often it is done in a slice
	most  int // how often at most; 0: 3,000, as what costs next to nothing must end too
	// before prepares so many repetitions; its cost does not count. It may be nil.
	before func(times int) error
}

// measureSeries runs the probes of all series, round by round, and fills in their points.
func (r *run) measureSeries(all ...*series) {
	for _, s := range all {
		for _, p := range s.probes {
			r.Must(p.warmUp(r.plan.slice))
			s.points = append(s.points, point{size: p.size})
		}
	}
	for range r.plan.rounds {
		for _, s := range all {
			for i, p := range s.probes {
				r.Must(r.Ctx.Err())
				micros, err := p.sliceWithRetry()
				if err != nil {
					err = fmt.Errorf("%s at %d: %w", s.name, p.size, err)
				}
				r.Must(err)
				s.points[i].runs = append(s.points[i].runs, micros)
			}
		}
	}
}

// warmUp warms up connections, pools and compiled schemas, and finds out how often the probe is
// done in a slice of so much CPU time.
func (p *probe) warmUp(slice time.Duration) error {
	p.times = 1
	if p.most == 0 {
		p.most = 3000
	}
	for range 2 {
		micros, err := p.sliceWithRetry()
		if err != nil {
			return err
		}
		p.times = min(max(1, int(float64(slice.Microseconds())/max(micros, 1))), p.most)
		if p.times == 1 {
			break
		}
	}
	return nil
}

// sliceWithRetry is measureSlice with three attempts: a store, say, misses its deadline if the
// machine stands still for a moment.
func (p *probe) sliceWithRetry() (micros float64, err error) {
	for range 3 {
		if micros, err = p.measureSlice(); err == nil {
			break
		}
	}
	return micros, err
}

// measureSlice does it some times, and returns the CPU time of one in microseconds.
func (p *probe) measureSlice() (float64, error) {
	if p.before != nil {
		if err := p.before(p.times); err != nil {
			return 0, err
		}
	}
	before, err := p.cpuTime()
	for range p.times {
		if err == nil {
			err = p.do()
		}
	}
	if err != nil {
		return 0, err
	}
	after, err := p.cpuTime()
	if err == nil && after <= before {
		err = errors.New("the clock of the process stands still")
	}
	return float64((after - before).Nanoseconds()) / 1e3 / float64(p.times), err
}

// cpuTime returns the CPU time that all processes of the probe have used.
func (p *probe) cpuTime() (sum time.Duration, err error) {
	for _, pid := range p.pids {
		one, err := proc.CPU(pid)
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}
