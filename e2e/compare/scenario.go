package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/e2e/proc"
)

// scenario describes the requests of the clients, and the measurements.
type scenario struct {
	name, about string
	chunks      int
	pause       time.Duration // between chunks
	encrypted   bool          // HTTP/2 over TLS to the model
	clients     int
	turns       int // of each client in a slice
	kind        kind
	floors      []string // those that say something here
	events      []string // that are counted besides
	store       string   // that gateways keep turns in: memory, sqlite or redis; empty: they keep none
}

// kind is the quantity that a slice measures.
type kind int

const (
	perTurn   kind = iota // CPU time of a turn
	perChunk              // CPU time of a chunk
	firstText             // how long the first text takes
	burst                 // all streams are opened at once, of a process that is new
)

var plainFloors, connFloors = []string{nameFloor, nameMerging}, []string{nameFloor, nameConns}

// scenarios are those that there are.
var scenarios = []scenario{
	{name: "S1", about: "40 chunks at once, a tool call, 64 clients", chunks: 40, clients: 64, turns: 16, floors: plainFloors},
	{name: "S1t", about: "S1, HTTP/2 to the model", chunks: 40, clients: 64, turns: 16, floors: connFloors, encrypted: true},
	{name: "S1m", about: "S1, kept in memory", chunks: 40, clients: 64, turns: 16, store: "memory"},
	{name: "S1s", about: "S1, kept in SQLite", chunks: 40, clients: 64, turns: 4, store: "sqlite"},
	{name: "S1r", about: "S1, kept in Redis", chunks: 40, clients: 64, turns: 16, store: "redis"},
	{name: "S2", about: "40 chunks each 20 ms, 16 clients", chunks: 40, pause: 20 * time.Millisecond, clients: 16, turns: 4, kind: firstText, floors: plainFloors[:1]},
	{name: "S3b", about: "5,000 streams opened at once, 20 chunks each 500 ms", chunks: 20, pause: 500 * time.Millisecond, clients: 5000, turns: 1, kind: burst, floors: plainFloors[:1]},
	{name: "S3bt", about: "S3b, HTTP/2 to the model", chunks: 20, pause: 500 * time.Millisecond, clients: 5000, turns: 1, kind: burst, floors: connFloors, encrypted: true},
	{name: "S4", about: "2,000 chunks at once, 4 clients", chunks: 2000, clients: 4, turns: 10, kind: perChunk, floors: plainFloors},
	{name: "S4m", about: "S4, kept in memory", chunks: 2000, clients: 4, turns: 10, kind: perChunk, store: "memory"},
	{name: "S4r", about: "S4, kept in Redis", chunks: 2000, clients: 4, turns: 10, kind: perChunk, store: "redis"},
	{name: "S4x", about: "20,000 chunks at once, 2 clients", chunks: 20_000, clients: 2, turns: 2, kind: perChunk, floors: plainFloors},
	{name: "S5", about: "40 chunks each 20 ms, 128 clients", chunks: 40, pause: 20 * time.Millisecond, clients: 128, turns: 1, kind: perChunk, floors: plainFloors[:1]},
	{name: "S5t", about: "S5, HTTP/2 to the model", chunks: 40, pause: 20 * time.Millisecond, clients: 128, turns: 1, kind: perChunk, floors: connFloors, encrypted: true},
}

func scenarioNames() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// chooseScenarios returns the scenarios of a list of names.
func chooseScenarios(list string) (chosen []scenario, err error) {
	for name := range strings.FieldsSeq(list) {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no such scenario; there are %s", name, strings.Join(scenarioNames(), " "))
		}
		chosen = append(chosen, scenarios[i])
	}
	if chosen == nil {
		return nil, fmt.Errorf("-scenarios names none; there are %s", strings.Join(scenarioNames(), " "))
	}
	return chosen, nil
}

// sample has the costs of a slice.
type sample struct {
	cpu    time.Duration
	memory float64 // bytes that a burst has added
	firsts []time.Duration
	counts map[string]float64 // by event
}

// measuredPrograms returns the programs that the scenario measures. With a store each build is
// there without one as well.
func (s *scenario) measuredPrograms(programs []program) (list []program) {
	for _, p := range programs {
		switch {
		case p.floor && !slices.Contains(s.floors, p.name):
			continue
		case !p.floor && s.store != "" && p.name != nameAgain:
			list = append(list, program{name: p.name + withoutStore, path: p.path})
		}
		p.store = s.store
		list = append(list, p)
	}
	return list
}

// measureRows measures a scenario.
func (s *scenario) measureRows(ctx context.Context, work string, programs []program, rounds int) ([]row, error) {
	measured := s.measuredPrograms(programs)
	samples := map[string][]sample{}
	measure := s.inSlices
	if s.kind == burst {
		measure = s.inBursts
	}
	if err := measure(ctx, work, measured, rounds, samples); err != nil {
		return nil, err
	}
	return s.makeRows(samples), nil
}

// inSlices has programs that are all alive answer by turns, each round in another order.
func (s *scenario) inSlices(ctx context.Context, work string, programs []program, rounds int, samples map[string][]sample) error {
	var sides []*side
	defer func() {
		for _, d := range sides {
			d.close()
		}
	}()
	for _, p := range programs {
		d, err := p.startSide(ctx, work, s)
		if err != nil {
			return err
		}
		sides = append(sides, d)
		if err := d.warmUp(ctx, s); err != nil {
			return err
		}
	}
	for range rounds {
		for _, i := range rand.Perm(len(sides)) {
			got, err := sides[i].measureSlice(ctx, s)
			if err != nil {
				return err
			}
			samples[sides[i].name] = append(samples[sides[i].name], got)
		}
	}
	return nil
}

// inBursts has programs that are new answer a burst, one after the other.
func (s *scenario) inBursts(ctx context.Context, work string, programs []program, rounds int, samples map[string][]sample) error {
	for range max(fewestRounds, rounds/2) {
		for _, i := range rand.Perm(len(programs)) {
			got, err := s.measureBurst(ctx, work, programs[i])
			if err != nil {
				return err
			}
			samples[programs[i].name] = append(samples[programs[i].name], got)
		}
	}
	return nil
}

// measureBurst has one program answer a burst.
func (s *scenario) measureBurst(ctx context.Context, work string, p program) (sample, error) {
	d, err := p.startSide(ctx, work, s)
	if err != nil {
		return sample{}, err
	}
	defer d.close()
	if err := d.warmUp(ctx, s); err != nil {
		return sample{}, err
	}
	before, err := proc.Memory(d.cmd.Process.Pid)
	if err != nil {
		return sample{}, err
	}
	type reading struct {
		bytes int64
		err   error
	}
	halfway := make(chan reading, 1)
	timer := time.AfterFunc(s.pause*time.Duration(s.chunks)*3/4, func() {
		now, err := proc.Memory(d.cmd.Process.Pid)
		halfway <- reading{now, err}
	})
	defer timer.Stop()
	got, err := d.measureSlice(ctx, s)
	if err != nil {
		return sample{}, err
	}
	full := <-halfway
	got.memory = float64(full.bytes - before)
	return got, full.err
}

// warmUp has a program answer some turns without pauses: connections, pools, compiled schemas.
func (d *side) warmUp(ctx context.Context, s *scenario) error {
	clients := min(s.clients, 64)
	for range 2 {
		if _, err := d.runClients(ctx, clients, max(1, min(s.turns, 4)), s.chunks, 0); err != nil {
			return err
		}
	}
	return d.up.setPause(s.pause)
}

// measureSlice has a program answer turns, and measures it.
func (d *side) measureSlice(ctx context.Context, s *scenario) (got sample, err error) {
	before, err := proc.CPU(d.cmd.Process.Pid)
	if err != nil {
		return got, err
	}
	within := s.pause * time.Duration(s.chunks) // so that no two turns are in step
	if s.kind == burst {
		within = 0
	}
	if len(s.events) > 0 {
		c, failed := startCounting(ctx, d.cmd.Process.Pid, s.events)
		if failed != nil {
			return got, failed
		}
		defer func() {
			counts, failed := c.stop()
			got.counts, err = counts, errors.Join(err, failed)
		}()
	}
	if got.firsts, err = d.runClients(ctx, s.clients, s.turns, s.chunks, within); err != nil {
		return got, err
	}
	after, err := proc.CPU(d.cmd.Process.Pid)
	got.cpu = after - before
	return got, err
}

// makeRows turns the samples into rows.
func (s *scenario) makeRows(samples map[string][]sample) []row {
	of := func(what, unit string, scale float64, cost func(sample) float64) row {
		r := row{name: s.name + ": " + s.about + ": " + what, unit: unit, scale: scale, costs: map[string][]float64{}}
		for name, all := range samples {
			for _, one := range all {
				r.costs[name] = append(r.costs[name], cost(one))
			}
		}
		return r
	}
	turns := float64(s.clients * s.turns)
	const ms, µs = float64(time.Millisecond), float64(time.Microsecond)
	share := func(share float64) func(sample) float64 {
		return func(one sample) float64 {
			sorted := slices.Sorted(slices.Values(one.firsts))
			return float64(sorted[int(share*float64(len(sorted)-1))] - s.pause) // the model pauses before each chunk
		}
	}
	cpu := of("CPU a turn", "ms", ms, func(one sample) float64 { return float64(one.cpu) / turns })
	p50 := of("added to the first text, p50", "ms", ms, share(0.5))
	rows := []row{cpu}
	switch s.kind {
	case perChunk:
		rows = []row{of("CPU a chunk", "µs", µs, func(one sample) float64 { return float64(one.cpu) / turns / float64(s.chunks) })}
	case firstText:
		rows = []row{p50, of("the same, p99", "ms", ms, share(0.99)), cpu}
	case burst:
		rows = []row{of("memory a stream", "KB", 1000, func(one sample) float64 { return one.memory / turns }), cpu, p50}
	}
	for _, event := range s.events {
		rows = append(rows, of(event+" a turn", "thousand", 1000, func(one sample) float64 { return one.counts[event] / turns }))
	}
	return rows
}
