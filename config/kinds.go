package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The functions below make a Setting that stores its value in *p. The default is a
// value of the type, so that it can be the constant that the package uses itself.

// Func is for a value of which only the caller knows the form. parse stores a value
// that is not empty; its error says what the value must be and does not repeat it.
func Func(variable, def, values, meaning string, parse func(value string) error) Setting {
	return Setting{Variable: variable, Default: def, Values: values, Meaning: meaning, parse: parse}
}

// Text takes any text.
func Text(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "text", meaning, text(p))
}

// Bool takes true or false, and as a flag needs no value. It is false by default.
func Bool(variable string, p *bool, meaning string) Setting {
	s := Func(variable, "false", "`true`, `false`", meaning, boolean(p))
	s.isBool = true
	return s
}

// Int takes a whole number from lowest to highest. A def of 0, if it lies outside,
// is no default.
func Int(variable string, p *int, def, lowest, highest int, meaning string) Setting {
	text := strconv.Itoa(def)
	if def == 0 && lowest > 0 {
		text = ""
	}
	return Func(variable, text, fmt.Sprintf("%d to %d", lowest, highest), meaning, integer(p, lowest, highest))
}

// Float takes a number above 0 and up to highest. A def of 0 is no default.
func Float(variable string, p *float64, def, highest float64, meaning string) Setting {
	text := ""
	if def != 0 {
		text = strconv.FormatFloat(def, 'f', -1, 64)
	}
	return Func(variable, text, fmt.Sprintf("above 0, up to %.0f", highest), meaning, number(p, highest))
}

// Duration takes more than 0.
func Duration(variable string, p *time.Duration, def time.Duration, meaning string) Setting {
	return Func(variable, DurationText(def), "duration, above 0", meaning, duration(p, 1))
}

// DurationOrNone takes 0 or more; 0 means something that meaning tells.
func DurationOrNone(variable string, p *time.Duration, def time.Duration, meaning string) Setting {
	return Func(variable, DurationText(def), "duration, or 0", meaning, duration(p, 0))
}

// OneOf takes one of some words.
func OneOf(variable string, p *string, def string, words []string, meaning string) Setting {
	return Func(variable, def, "`"+strings.Join(words, "`, `")+"`", meaning, oneOf(p, words))
}

// BaseURL takes the root of an http or https server, without its trailing slash.
func BaseURL(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "URL", meaning, baseURL(p))
}

// Key takes a secret that is sent in a header. It has no flag: others on the machine
// can see a command line.
func Key(variable, second string, p *Secret, meaning string) Setting {
	s := Func(variable, "", "printable ASCII", meaning, apiKey(p)).Or(second, apiKey(p))
	s.secret = true
	return s
}

// Address takes host:port or :port.
func Address(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "host:port", meaning, address(p))
}

// Port parses a port alone into a listen address of all our hosts, for Setting.Or.
func Port(p *string) func(value string) error { return portOnly(p) }

// Zone takes an IANA name.
func Zone(variable string, p **time.Location, def, meaning string) Setting {
	return Func(variable, def, "IANA name", meaning, timezone(p))
}

// Origins takes a comma-separated list of origins, or * alone.
func Origins(variable string, p *[]string, meaning string) Setting {
	return Func(variable, "", "origins", meaning, origins(p)).As("none")
}

// Hosts takes a comma-separated list of names and addresses without ports.
func Hosts(variable string, p *[]string, meaning string) Setting {
	return Func(variable, "", "hosts", meaning, hosts(p))
}

// TextFile takes the path of a file and stores what the file holds.
func TextFile(variable string, p *string, meaning string) Setting {
	var path string
	s := Func(variable, "", "path", meaning, text(&path))
	s.then = func(r *reader) { r.readText(variable, path, p) }
	return s
}

// Sources are what a document may look at beside its own text.
type Sources struct {
	// Lookup knows the environment.
	Lookup func(name string) (string, bool)
	// ReadFile reads a file that the document names; nil: it can name none.
	ReadFile func(path string) ([]byte, error)
}

// Document takes the path of a file and hands what the file holds to read, which returns
// its faults. All other settings have their values by then, those of files included.
func Document(variable, meaning string, read func(path string, content []byte, from Sources) []Fault) Setting {
	s, last := fileSetting(variable, meaning, read)
	s.last = last
	return s
}

// File is a Document that others depend on: it is read before any of them, when the settings have their values
// from flags and environment.
func File(variable, meaning string, read func(path string, content []byte, from Sources) []Fault) Setting {
	s, then := fileSetting(variable, meaning, read)
	s.then = then
	return s
}

// fileSetting returns a setting that takes the path of a file, and what reads the file later.
func fileSetting(variable, meaning string, read func(path string, content []byte, from Sources) []Fault) (Setting, func(*reader)) {
	var path string
	return Func(variable, "", "path", meaning, text(&path)).As("none"), func(r *reader) {
		if path == "" {
			return
		}
		content, err := r.readFile(path)
		if err != nil {
			r.fault(variable, Unreadable(err))
			return
		}
		r.faults = append(r.faults, read(path, content, Sources{r.lookup, r.readFile})...)
	}
}

// DataFile takes a path, or ":memory:". Unless one is given it is name in the user's
// data folder, or ":memory:" where no such folder is known; isDefault says so.
func DataFile(variable string, p *string, isDefault *bool, name, meaning string) Setting {
	s := Func(variable, "", "path", meaning, text(p)).As("`" + name + "` in the user's data folder")
	s.then = func(r *reader) { r.placeData(p, isDefault, name) }
	return s
}

// DurationText writes d as a person would: 60s, not 1m0s.
func DurationText(d time.Duration) string {
	if d%time.Second == 0 && d < 2*time.Minute {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}
