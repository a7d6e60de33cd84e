package config

import (
	"strconv"
	"time"
)

// Load reads the configuration for a command without flags of its own. See
// Loader.Load.
func Load(args []string, lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (Config, error) {
	return new(Loader).Load(args, lookup, readFile)
}

// Loader reads the configuration for one command, which may have flags and
// arguments of its own. Its zero value knows the common flags only.
type Loader struct {
	// MaxArgs is how many arguments that are no flags the command takes.
	MaxArgs int

	own  []setting
	args []string
}

// Bool adds a flag that is false unless given.
func (l *Loader) Bool(name, meaning string) *bool {
	p := new(bool)
	l.add(setting{flag: name, meaning: meaning, isBool: true, def: "false", parse: boolean(p)})
	return p
}

// String adds a flag that takes any text.
func (l *Loader) String(name, value, meaning string) *string {
	p := new(string)
	l.add(setting{flag: name, meaning: meaning, def: value, parse: text(p)})
	return p
}

// Duration adds a flag that takes a duration of 0 or more.
func (l *Loader) Duration(name string, value time.Duration, meaning string) *time.Duration {
	p := new(time.Duration)
	l.add(setting{flag: name, meaning: meaning, def: value.String(), parse: duration(p, 0)})
	return p
}

// add panics, like package flag, at a name that is taken: that is a bug.
func (l *Loader) add(s setting) {
	if _, taken := find(append(common(), l.own...), s.flag); taken || s.flag == "h" || s.flag == "help" {
		panic("config: flag redefined: " + s.flag)
	}
	l.own = append(l.own, s)
}

// common returns the table of what all commands share, as it is when nothing of
// the environment is set. It serves to look at, not to parse.
func common() []setting {
	r := &reader{lookup: func(string) (string, bool) { return "", false }}
	return r.settings()
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
	r := &reader{lookup: lookup, readFile: readFile}
	settings := append(r.settings(), l.own...)
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
	r.placeTodoDB()
	r.readPrompt()
	r.readServers()
	r.cfg.ChildEnv = childEnv(lookup)
	if len(r.faults) > 0 {
		return Config{}, &Error{Faults: r.faults}
	}
	l.args = nil
	for _, a := range line.args {
		l.args = append(l.args, a.text)
	}
	return r.cfg, nil
}

func argument(at int) string { return "argument " + strconv.Itoa(at) }
