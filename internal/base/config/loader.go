package config

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/check"
)

// Loader reads the configuration for one command, with flags and arguments of the command's own.
// Its zero value knows those only.
type Loader struct {
	// MaxArgs is how many arguments that are not flags the command takes.
	MaxArgs int
	// Environ is the environment as os.Environ returns it. A variable in it whose name
	// begins with SLUICE_ and that sets nothing gets a warning, with Config.Strict a
	// fault. nil: none is looked for.
	Environ []string
	// Check, unless nil, runs when all values are read, and reports values that do not fit
	// together; name is as in Fault.
	Check func(fault func(name, message string))

	sections    func(*Config) Table
	ownSettings []Setting
	args        []string
}

// NewLoader returns a Loader of what all commands share: the table that sections
// returns, bound to the Config that it gets.
func NewLoader(sections func(*Config) Table) *Loader { return &Loader{sections: sections} }

// Bool adds a flag that is false unless given.
func (l *Loader) Bool(name, meaning string) *bool {
	return addFlag(l, name, func(p *bool) Setting { return Bool("", p, meaning) })
}

// String adds a flag that takes any text.
func (l *Loader) String(name, value, meaning string) *string {
	return addFlag(l, name, func(p *string) Setting { return Text("", p, value, meaning) })
}

// Strings adds a flag that takes any text and may be given again.
func (l *Loader) Strings(name, meaning string) *[]string {
	return addFlag(l, name, func(p *[]string) Setting {
		s := Func("", "", "text", meaning, func(value string) error {
			var one string
			err := textParser(&one)(value)
			*p = append(*p, one)
			return err
		})
		s.repeated = true
		return s
	})
}

// Int adds a flag that takes a whole number from lowest to highest. A value of 0 below lowest means
// that the flag was not given.
func (l *Loader) Int(name string, value, lowest, highest int, meaning string) *int {
	return addFlag(l, name, func(p *int) Setting { return Int("", p, value, lowest, highest, meaning) })
}

// Float adds a flag for a number above 0 and up to highest. A value of 0 means that the flag
// was not given.
func (l *Loader) Float(name string, value, highest float64, meaning string) *float64 {
	return addFlag(l, name, func(p *float64) Setting { return floatSetting("", p, value, highest, meaning) })
}

// Duration adds a flag that takes a duration of 0 or more.
func (l *Loader) Duration(name string, value time.Duration, meaning string) *time.Duration {
	return addFlag(l, name, func(p *time.Duration) Setting {
		s := DurationOrNone("", p, value, meaning)
		s.Default = value.String()
		return s
	})
}

// OneOf adds a flag that takes one of some words.
func (l *Loader) OneOf(name, value string, words []string, meaning string) *string {
	return addFlag(l, name, func(p *string) Setting { return OneOf("", p, value, words, meaning) })
}

// BaseURL adds a flag that takes the root of an http or https server; its trailing slash is
// dropped. Empty means that the flag was not given.
func (l *Loader) BaseURL(name, meaning string) *string {
	return addFlag(l, name, func(p *string) Setting { return BaseURL("", p, "", meaning) })
}

// Truth adds a flag that takes true or false as its value.
func (l *Loader) Truth(name, meaning string) *bool {
	return addFlag(l, name, func(p *bool) Setting { return Func("", "false", "`true`, `false`", meaning, boolParser(p)) })
}

// addFlag adds a flag and returns where its value will be.
func addFlag[T any](l *Loader, name string, of func(*T) Setting) *T {
	p := new(T)
	l.addSetting(name, of(p))
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
	l.addSetting(name, s)
	return h
}

// addSetting panics, like package flag, at a name that is taken: that is a bug.
func (l *Loader) addSetting(flag string, s Setting) {
	s.flag = flag
	if _, accepted := findSetting(append(l.commonSettings(), l.ownSettings...), s.flag); accepted || s.flag == "h" || s.flag == "help" {
		panic("config: flag redefined: " + s.flag)
	}
	l.ownSettings = append(l.ownSettings, s)
}

// commonSettings returns what all commands share. It serves to look at, not to parse.
func (l *Loader) commonSettings() []Setting { return l.bindSections(new(Config)).allSettings() }

// bindSections returns the sections, which write into c. A Loader without sections
// reads a command's own flags only.
func (l *Loader) bindSections(c *Config) Table {
	if l.sections == nil {
		return nil
	}
	return l.sections(c)
}

// Args returns the arguments of the last Load that are not flags.
func (l *Loader) Args() []string { return l.args }

// Load reads args (without the program's name), then the environment through lookup, then the files
// that they name through readFile. A flag wins over its variable. White space around a value is
// dropped, and an empty value counts as absent: the default holds.
//
// Flags are written --name value or --name=value, and may come before, after and
// between arguments; after "--" there are only arguments. Load returns
// flag.ErrHelp if help was asked for, else nil or an *Error with every fault; the Config of
// an *Error has the warnings alone.
func (l *Loader) Load(args []string, lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (Config, error) {
	var cfg Config
	r := &reader{lookup: lookup, readFile: readFile, hide: cfg.Hide, files: map[string]string{}, byFlag: map[string]string{}}
	settings := slices.Concat(l.bindSections(&cfg).allSettings(), l.ownSettings)
	line, err := r.parseArgs(args, settings)
	if err != nil {
		return Config{}, err
	}
	for i := l.MaxArgs; i < len(line.args) && !line.strange; i++ {
		r.addFault(argumentName(line.args[i].at), "is not expected; flags begin with --")
	}
	for _, s := range settings {
		r.applySetting(s, line.flags)
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
	if l.sections != nil {
		r.reportUnknown(l.Environ, settings, &cfg)
	}
	if l.Check != nil {
		l.Check(r.addFault)
	}
	cfg.Proxy = proxyOf(r)
	cfg.ChildEnv = childEnv(lookup)
	if len(r.faults) > 0 {
		return Config{Warnings: cfg.Warnings}, &Error{Faults: r.faults}
	}
	l.args = nil
	for _, a := range line.args {
		l.args = append(l.args, a.text)
	}
	return cfg, nil
}

// argumentName names an argument by its place: its text may be a secret.
func argumentName(at int) string { return "argument " + strconv.Itoa(at) }
