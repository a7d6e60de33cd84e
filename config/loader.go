package config

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/check"
)

// Loader reads the configuration for one command, which may have flags and
// arguments of its own. Its zero value knows those only.
type Loader struct {
	// MaxArgs is how many arguments that are no flags the command takes.
	MaxArgs int
	// Check, unless nil, runs when all values are read, good ones and bad ones, and
	// lists what they have wrong together; name is as in Fault.
	Check func(fault func(name, message string))

	sections func(*Config) Table
	own      []Setting
	args     []string
}

// NewLoader returns a Loader of what all commands share: the table that sections
// returns, bound to the Config that it gets.
func NewLoader(sections func(*Config) Table) *Loader { return &Loader{sections: sections} }

// Bool adds a flag that is false unless given.
func (l *Loader) Bool(name, meaning string) *bool {
	p := new(bool)
	l.add(name, Bool("", p, meaning))
	return p
}

// String adds a flag that takes any text.
func (l *Loader) String(name, value, meaning string) *string {
	p := new(string)
	l.add(name, Text("", p, value, meaning))
	return p
}

// Strings adds a flag that takes any text and may be given again.
func (l *Loader) Strings(name, meaning string) *[]string {
	p := new([]string)
	s := Func("", "", "text", meaning, func(value string) error {
		var one string
		err := text(&one)(value)
		*p = append(*p, one)
		return err
	})
	s.repeated = true
	l.add(name, s)
	return p
}

// Int adds a flag that takes a whole number from lowest to highest. A value of 0, if
// it lies outside, says that the flag was not given.
func (l *Loader) Int(name string, value, lowest, highest int, meaning string) *int {
	p := new(int)
	l.add(name, Int("", p, value, lowest, highest, meaning))
	return p
}

// Float adds a flag that takes a number above 0 and up to highest. A value of 0 says
// that the flag was not given.
func (l *Loader) Float(name string, value, highest float64, meaning string) *float64 {
	p := new(float64)
	l.add(name, Float("", p, value, highest, meaning))
	return p
}

// Duration adds a flag that takes a duration of 0 or more.
func (l *Loader) Duration(name string, value time.Duration, meaning string) *time.Duration {
	p := new(time.Duration)
	s := DurationOrNone("", p, value, meaning)
	s.Default = value.String()
	l.add(name, s)
	return p
}

// OneOf adds a flag that takes one of some words.
func (l *Loader) OneOf(name, value string, words []string, meaning string) *string {
	p := new(string)
	l.add(name, OneOf("", p, value, words, meaning))
	return p
}

// BaseURL adds a flag that takes the root of an http or https server; its trailing
// slash is dropped. Empty says that the flag was not given.
func (l *Loader) BaseURL(name, meaning string) *string {
	p := new(string)
	l.add(name, BaseURL("", p, "", meaning))
	return p
}

// Truth adds a flag that takes true or false as its value.
func (l *Loader) Truth(name, meaning string) *bool {
	p := new(bool)
	l.add(name, Func("", "false", "`true`, `false`", meaning, boolean(p)))
	return p
}

// Header adds a flag that takes 'Name: value' and may be given again.
func (l *Loader) Header(name, meaning string) http.Header {
	h := http.Header{}
	s := Func("", "", "`Name: value`", meaning, func(line string) error {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !check.HeaderName(name) || !check.HeaderValue(value) {
			return errors.New("must be 'Name: value'")
		}
		h.Add(name, strings.TrimSpace(value))
		return nil
	})
	s.repeated = true
	l.add(name, s)
	return h
}

// add panics, like package flag, at a name that is taken: that is a bug.
func (l *Loader) add(flag string, s Setting) {
	s.flag = flag
	if _, taken := find(append(l.common(), l.own...), s.flag); taken || s.flag == "h" || s.flag == "help" {
		panic("config: flag redefined: " + s.flag)
	}
	l.own = append(l.own, s)
}

// common returns what all commands share. It serves to look at, not to parse.
func (l *Loader) common() []Setting { return l.bind(new(Config)).settings() }

// bind returns the sections, which write into c. A Loader without sections
// reads a command's own flags only.
func (l *Loader) bind(c *Config) Table {
	if l.sections == nil {
		return nil
	}
	return l.sections(c)
}

// Args returns the arguments of the last Load that were no flags.
func (l *Loader) Args() []string { return l.args }

// Load reads args (without the program's name), then the environment through
// lookup, then the files that they name through readFile. A flag wins over its
// variable. White space around a value is dropped, and an empty value is none:
// the default holds.
//
// Flags are written --name value or --name=value, and may come before, after and
// between arguments; after "--" there are only arguments. Load returns
// flag.ErrHelp if help was asked for, else nil or an *Error with every fault.
func (l *Loader) Load(args []string, lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (Config, error) {
	var cfg Config
	r := &reader{lookup: lookup, readFile: readFile}
	settings := slices.Concat(l.bind(&cfg).settings(), l.own)
	line, err := r.parse(args, settings)
	if err != nil {
		return Config{}, err
	}
	for i := l.MaxArgs; i < len(line.args); i++ {
		r.fault(argument(line.args[i].at), "is not expected; flags begin with --")
	}
	for _, s := range settings {
		r.apply(s, line.flags)
	}
	for _, s := range settings {
		if s.then != nil {
			s.then(r)
		}
	}
	for _, s := range settings {
		if s.last != nil {
			s.last(r)
		}
	}
	if l.Check != nil {
		l.Check(r.fault)
	}
	cfg.Proxy = proxyOf(r)
	cfg.ChildEnv = childEnv(lookup)
	if len(r.faults) > 0 {
		return Config{}, &Error{Faults: r.faults}
	}
	l.args = nil
	for _, a := range line.args {
		l.args = append(l.args, a.text)
	}
	return cfg, nil
}

// argument names an argument by its place: its text may be a secret.
func argument(at int) string { return "argument " + strconv.Itoa(at) }
