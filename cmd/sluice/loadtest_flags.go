package main

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/config"
	"sluice/loadtest"
)

// loadFlags are the flags of loadtest, and what is wrong with them.
type loadFlags struct {
	loader config.Loader
	faults []config.Fault

	url, method, inputs, accumulated, json      *string
	clients, rate, maxInFlight, turns, cut, pid *string
	input, header                               *string // the last of several; see repeated
	duration, warmup, timeout                   *time.Duration
}

func newLoadFlags() *loadFlags {
	f := &loadFlags{}
	l := &f.loader
	f.url = l.String("url", "", "the gateway's base URL, such as http://127.0.0.1:8080; required")
	f.clients = l.String("clients", "", "closed loop: so many clients, each sends its next turn when the last one has ended (10, unless --rate is given)")
	f.rate = l.String("rate", "", "open loop: so many turns are begun in a second, whatever the gateway does")
	f.maxInFlight = l.String("max-in-flight", "", "open loop: streams at once (1000); a turn that finds no place is dropped, and counted")
	f.duration = l.Duration("duration", 0, "for how long turns are begun, after the warm-up (10s, unless --turns is given)")
	f.turns = l.String("turns", "", "how many turns are begun in all")
	f.warmup = l.Duration("warmup", 0, "at the beginning: turns are audited, not measured")
	f.method = l.String("method", http.MethodPost, "POST or GET")
	f.input = l.String("input", "", "text of a turn (what is on my list?); may be given again: the texts take turns")
	f.inputs = l.String("inputs", "", "file with a text on each line, added to --input")
	f.accumulated = l.String("accumulated", "false", "true or false: whether deltas repeat the text so far")
	f.header = l.String("header", "", "'Name: value' for every request; may be given again")
	f.timeout = l.Duration("timeout", time.Minute, "one stream, from beginning to end")
	f.cut = l.String("cut", "", "share of streams, 0 to 1, that are left after their first text")
	f.json = l.String("json", "", "write the report as JSON into this file; - is stdout")
	f.pid = l.String("pid", "", "the gateway's process on this machine, to measure its CPU time and memory")
	return f
}

// config turns the flags into a Config and notes all faults.
func (f *loadFlags) config(args []string, readFile func(string) ([]byte, error)) loadtest.Config {
	c := loadtest.Config{
		URL: strings.TrimRight(*f.url, "/"), Method: *f.method,
		Duration: *f.duration, Warmup: *f.warmup, Timeout: *f.timeout,
		Clients:     f.integer("clients", *f.clients, 1_000_000),
		Rate:        f.number("rate", *f.rate, 1_000_000),
		MaxInFlight: f.integer("max-in-flight", *f.maxInFlight, 1_000_000),
		Turns:       f.integer("turns", *f.turns, math.MaxInt32),
		Cut:         f.number("cut", *f.cut, 1),
		PID:         f.integer("pid", *f.pid, math.MaxInt32),
		Header:      f.headers(repeated(args, "header")),
		Inputs:      f.texts(repeated(args, "input"), readFile),
	}
	if err := loadtest.CheckURL(c.URL); err != nil {
		f.fault("url", err.Error())
	}
	if c.Method != http.MethodPost && c.Method != http.MethodGet {
		f.fault("method", "must be POST or GET")
	}
	accumulated, err := strconv.ParseBool(*f.accumulated)
	if err != nil {
		f.fault("accumulated", "must be true or false")
	}
	c.Accumulated = accumulated
	f.loops(&c)
	return c
}

// loops checks what excludes each other, and fills in what was left out.
func (f *loadFlags) loops(c *loadtest.Config) {
	switch {
	case *f.clients != "" && *f.rate != "":
		f.fault("rate", "is an open loop, and --clients a closed one: choose one")
	case *f.maxInFlight != "" && *f.rate == "":
		f.fault("max-in-flight", "belongs to --rate")
	case *f.rate == "" && *f.clients == "":
		c.Clients = 10
	}
	if c.Turns == 0 && c.Duration == 0 {
		c.Duration = 10 * time.Second
	}
}

func (f *loadFlags) fault(name, message string) {
	f.faults = append(f.faults, config.Fault{Name: "--" + name, Message: message})
}

// integer returns 0 for a flag that was not given.
func (f *loadFlags) integer(name, value string, highest int) int {
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > highest {
		f.fault(name, fmt.Sprintf("must be a whole number from 1 to %d", highest))
	}
	return n
}

// number returns 0 for a flag that was not given.
func (f *loadFlags) number(name, value string, highest float64) float64 {
	if value == "" {
		return 0
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n > 0 && n <= highest) {
		f.fault(name, fmt.Sprintf("must be a number above 0, up to %.0f", highest))
	}
	return n
}

// fieldName is a token of RFC 9110, section 5.6.2.
var fieldName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (f *loadFlags) headers(lines []string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		control := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
		if !ok || !fieldName.MatchString(name) || strings.ContainsFunc(value, control) {
			f.fault("header", "must be 'Name: value'")
			continue
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

// texts returns what the turns say.
func (f *loadFlags) texts(given []string, readFile func(string) ([]byte, error)) (list []string) {
	list = given
	if *f.inputs != "" {
		content, err := readFile(*f.inputs)
		if err != nil {
			f.fault("inputs", "the file cannot be read")
		}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimSpace(line); line != "" {
				list = append(list, line)
			}
		}
		if err == nil && len(list) == len(given) {
			f.fault("inputs", "the file is empty")
		}
	}
	if len(list) == 0 {
		list = []string{"what is on my list?"}
	}
	return list
}

// repeated returns every value of a flag, of which the Loader keeps the last one.
// The Loader has seen to it that none lacks its value.
func repeated(args []string, name string) (values []string) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		flag, value, hasValue := strings.Cut(args[i], "=")
		if flag != "--"+name && flag != "-"+name {
			continue
		}
		if !hasValue && i+1 < len(args) {
			i++
			value = args[i]
		}
		values = append(values, value)
	}
	return values
}
