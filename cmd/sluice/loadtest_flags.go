// This file has the flags of loadtest. Their defaults depend on each other: without a rate
// the loop is closed with ten clients, without a number of turns it lasts ten seconds. So
// the zero value of a flag means that it was not given.

package main

import (
	"math"
	"net/http"
	"strings"
	"time"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/clients/loadtest"
)

// loadFlags are the flags of loadtest.
//
// The pointers are filled in by the loader; cfg is ready after check has reported no fault.
type loadFlags struct {
	loader   *config.Loader
	readFile func(string) ([]byte, error)
	cfg      loadtest.Config // what check made of the flags

	url, method, inputs, json        *string
	clients, maxInFlight, turns, pid *int
	rate, cut                        *float64
	input                            *[]string
	header                           http.Header
	accumulated                      *bool
	duration, warmup, timeout        *time.Duration
}

// manyStreams bounds the flags for streams at once and for turns in a second.
const manyStreams = 1_000_000

// newLoadFlags registers the command's flags. checkFlags finds flags that exclude each other, after
// all were read.
func newLoadFlags(readFile func(string) ([]byte, error)) *loadFlags {
	l := settings.LoaderOfClient(new(settings.File))
	f := &loadFlags{loader: l, readFile: readFile}
	f.url = l.BaseURL("url", "the gateway's base URL, such as http://127.0.0.1:8080; required")
	f.clients = l.Int("clients", 0, 1, manyStreams, "closed loop: so many clients, each sends its next turn when the last one has ended (10, unless --rate is given)")
	f.rate = l.Float("rate", 0, manyStreams, "open loop: so many turns are begun in a second, whatever the gateway does")
	f.maxInFlight = l.Int("max-in-flight", 0, 1, manyStreams, "open loop: streams at once (1000); a turn without a free slot is dropped, and counted")
	f.duration = l.Duration("duration", 0, "for how long turns are begun, after the warm-up (10s, unless --turns is given)")
	f.turns = l.Int("turns", 0, 1, math.MaxInt32, "how many turns are begun in all")
	f.warmup = l.Duration("warmup", 0, "at the beginning: turns are audited, not measured")
	f.method = l.OneOf("method", http.MethodPost, []string{http.MethodPost, http.MethodGet}, "POST or GET")
	f.input = l.Strings("input", "text of a turn (what is on my list?); may be given again: the texts take turns")
	f.inputs = l.String("inputs", "", "file with a text on each line, added to --input")
	f.accumulated = l.Truth("accumulated", "true or false: whether deltas repeat the text so far")
	f.header = l.Header("header", "'Name: value' for every request; may be given again")
	f.timeout = l.Duration("timeout", time.Minute, "one stream, from beginning to end")
	f.cut = l.Float("cut", 0, 1, "share of streams, 0 to 1, that are left after their first text")
	f.json = l.String("json", "", "write the report as JSON into this file; - is stdout")
	f.pid = l.Int("pid", 0, 1, math.MaxInt32, "the gateway's process on this machine, to measure its CPU time and memory")
	l.Check = f.checkFlags
	return f
}

// checkFlags turns the flags into a Config, and lists the faults of their combination.
func (f *loadFlags) checkFlags(fault func(name, message string)) {
	if *f.url == "" {
		fault("--url", "is required: the gateway's base URL, such as http://127.0.0.1:8080")
	}
	f.cfg = loadtest.Config{
		URL: *f.url, Method: *f.method, Header: f.header, Accumulated: *f.accumulated,
		Clients: *f.clients, Rate: *f.rate, MaxInFlight: *f.maxInFlight,
		Turns: *f.turns, Duration: *f.duration, Warmup: *f.warmup, Timeout: *f.timeout,
		Cut: *f.cut, PID: *f.pid,
		Inputs: f.turnTexts(fault),
	}
	f.checkLoop(fault)
	if f.cfg.Turns == 0 && f.cfg.Duration == 0 {
		f.cfg.Duration = 10 * time.Second
	}
}

// checkLoop checks the flags that make the loop an open or a closed one.
func (f *loadFlags) checkLoop(fault func(name, message string)) {
	switch c := &f.cfg; {
	case c.Clients > 0 && c.Rate > 0:
		fault("--rate", "is an open loop, and --clients a closed one: choose one")
	case c.MaxInFlight > 0 && c.Rate == 0:
		fault("--max-in-flight", "belongs to --rate")
	case c.Rate == 0 && c.Clients == 0:
		c.Clients = 10
	}
}

// readLines returns the lines of a file that are not blank.
func (f *loadFlags) readLines(name string) (list []string, err error) {
	content, err := f.readFile(name)
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list, err
}

// turnTexts returns the texts of the turns.
func (f *loadFlags) turnTexts(fault func(name, message string)) (list []string) {
	list = *f.input
	if *f.inputs != "" {
		lines, err := f.readLines(*f.inputs)
		switch {
		case err != nil:
			fault("--inputs", "the file cannot be read")
		case len(lines) == 0:
			fault("--inputs", "the file is empty")
		}
		list = append(list, lines...)
	}
	if len(list) == 0 {
		list = []string{"what is on my list?"}
	}
	return list
}
