// Package config is the one reader of flags and environment.
//
// It turns them into one Config, or into one Error that lists every fault at once. It does not know
// the settings: each package registers its own Section, and the program joins them to a Table. The
// values are the program's to hand out: a package gets its part in its own Config.
//
// A value comes from a flag, else from the environment, else from the default. An empty value
// counts as absent, because container platforms set variables to nothing. Faults and logs never
// repeat a value, which may be a secret under the wrong name. Secret is a string that prints as
// dots.
package config

import (
	"slices"

	"sluice/internal/base/redact"
)

// Config holds the settings of the program. Load fills it, with the defaults that the sections
// name.
type Config struct {
	// Parts holds the settings of packages, each in a type of its own; see Bind.
	Parts Parts `json:"-"`

	// Proxy is where requests to models go through.
	Proxy Proxy
	// ChildEnv is what every child process may know of our environment, as
	// NAME=value. It holds no key.
	ChildEnv []string

	// Hidden holds the values that no log may show; see Hide.
	Hidden []Hidden

	// Strict makes a fault of each unknown variable that Warnings would name.
	Strict bool
	// Warnings are lines without values, each about one variable or one place in the
	// configuration file.
	Warnings []string
}

// Hidden is a value that the log is kept free of.
type Hidden struct {
	// Setting names the source of the value. It is empty unless the name says that the value is
	// secret.
	Setting string
	Value   Secret
}

// Hide keeps values out of the log, for the sections while they are read. setting names their
// source if the name says that they are secret: see ShortSecrets.
func (c *Config) Hide(setting string, values ...Secret) {
	for _, v := range values {
		c.Hidden = append(c.Hidden, Hidden{setting, v})
	}
}

// Secrets returns every secret value for the log's scrubber, in order and each once. For a header
// such as "Bearer <token>" it also holds the token alone. Values shorter than redact.MinLength are
// left out; see ShortSecrets.
func (c Config) Secrets() []string {
	var all []string
	for _, h := range c.Hidden {
		if len(h.Value) >= redact.MinLength {
			all = append(all, h.Value.Reveal())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ShortSecrets names, in order, the settings with a secret that is too short to be searched for, so
// that the log may show it.
func (c Config) ShortSecrets() []string {
	var short []string
	for _, h := range c.Hidden {
		if h.Setting != "" && h.Value != "" && len(h.Value) < redact.MinLength {
			short = append(short, h.Setting)
		}
	}
	slices.Sort(short)
	return short
}
