package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/check"
)

// The functions below make a Setting that stores its value in *p. The default is a
// value of the type, so that it can be the constant that the package uses itself.

// Func makes a setting of a form that only the caller knows. parse stores a value that is not
// empty; its error states the rule and does not repeat the value.
func Func(variable, def, values, meaning string, parse func(value string) error) Setting {
	return Setting{Variable: variable, Default: def, Values: values, Meaning: meaning, parse: parse}
}

// Text takes any text.
func Text(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "text", meaning, textParser(p))
}

// Bool takes true or false; its flag may stand without a value. It is false by default.
func Bool(variable string, p *bool, meaning string) Setting {
	s := Func(variable, "false", "`true`, `false`", meaning, boolParser(p))
	s.isBool = true
	return s
}

// Int takes a whole number from lowest to highest. A def of 0 below lowest means no default.
func Int(variable string, p *int, def, lowest, highest int, meaning string) Setting {
	text := strconv.Itoa(def)
	if def == 0 && lowest > 0 {
		text = ""
	}
	return Func(variable, text, fmt.Sprintf("%d to %d", lowest, highest), meaning, func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < lowest || n > highest {
			return fmt.Errorf("must be a whole number from %d to %d", lowest, highest)
		}
		*p = n
		return nil
	})
}

// floatSetting takes a number above 0 and up to highest. A def of 0 means no default.
func floatSetting(variable string, p *float64, def, highest float64, meaning string) Setting {
	text := ""
	if def != 0 {
		text = strconv.FormatFloat(def, 'f', -1, 64)
	}
	return Func(variable, text, fmt.Sprintf("above 0, up to %.0f", highest), meaning, func(value string) error {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0 && n <= highest) { // not a number is refused as well
			return fmt.Errorf("must be a number above 0, up to %.0f", highest)
		}
		*p = n
		return nil
	})
}

// Duration takes more than 0.
func Duration(variable string, p *time.Duration, def time.Duration, meaning string) Setting {
	return Func(variable, DurationText(def), "duration, above 0", meaning, durationParser(p, 1))
}

// DurationOrNone takes 0 or more; 0 means what meaning says.
func DurationOrNone(variable string, p *time.Duration, def time.Duration, meaning string) Setting {
	return Func(variable, DurationText(def), "duration, or 0", meaning, durationParser(p, 0))
}

// OneOf takes one of some words, in exactly this case.
func OneOf[T ~string](variable string, p *T, def T, words []T, meaning string) Setting {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return Func(variable, string(def), "`"+strings.Join(list, "`, `")+"`", meaning, func(value string) error {
		if !slices.Contains(words, T(value)) {
			return errors.New("must be one of " + strings.Join(list, ", "))
		}
		*p = T(value)
		return nil
	})
}

// Key takes a secret that is sent in a header. It has no flag, because other users of the machine
// can see a command line.
func Key(variable, second string, p *Secret, meaning string) Setting {
	parse := func(value string) error {
		if !check.Key(value) {
			return errors.New("must be printable ASCII without spaces")
		}
		*p = Secret(value)
		return nil
	}
	s := Func(variable, "", "printable ASCII", meaning, parse).Or(second, parse).Hidden()
	s.then = func(r *reader) { r.hide(variable, *p) }
	return s
}

// Zone takes an IANA name. The database of them is part of the program.
func Zone(variable string, p **time.Location, def, meaning string) Setting {
	return Func(variable, def, "IANA name", meaning, func(value string) error {
		zone, ok := check.Location(value)
		if !ok {
			return errors.New("must be an IANA time zone such as UTC or Europe/Berlin")
		}
		*p = zone
		return nil
	})
}

// TextFile takes the path of a file and stores the content of the file.
func TextFile(variable string, p *string, meaning string) Setting {
	var path string
	s := Func(variable, "", "path", meaning, textParser(&path))
	s.then = func(r *reader) { r.readText(variable, path, p) }
	return s
}

// Sources lets a document read more than its own text.
type Sources struct {
	// Lookup knows the environment, and the files that <NAME>_FILE names.
	Lookup func(name string) (string, bool)
	// ReadFile reads a file that the document names; nil: it can name none.
	ReadFile func(path string) ([]byte, error)
	// Hide is Config.Hide; nil: nothing is hidden.
	Hide func(setting string, values ...Secret)
}

// Document takes the path of a file and passes its content to read, which returns the faults. All
// other settings have their values by then, those of files included.
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

// fileSetting returns a setting that takes the path of a file, and the function that reads the file
// later.
func fileSetting(variable, meaning string, read func(path string, content []byte, from Sources) []Fault) (Setting, func(*reader)) {
	var path string
	return Func(variable, "", "path", meaning, textParser(&path)).As("none"), func(r *reader) {
		if path == "" {
			return
		}
		content, err := r.readFile(path)
		if err != nil {
			r.addFault(variable, withPath(path, Unreadable(err)))
			return
		}
		r.faults = append(r.faults, read(path, content, Sources{r.secretValue, r.readFile, r.hide})...)
	}
}

// DataFile takes a path, or ":memory:". Unless one is given it is name in the user's
// data folder, or ":memory:" where no such folder is known; isDefault says so.
func DataFile(variable string, p *string, isDefault *bool, name, meaning string) Setting {
	s := Func(variable, "", "path", meaning, textParser(p)).As("`" + name + "` in the user's data folder")
	s.then = func(r *reader) { r.placeData(p, isDefault, name) }
	return s
}

// The functions below return parsers that several kinds share. The error of one says the
// rule and does not repeat the value.

// textParser takes any text that a system call takes.
func textParser(p *string) func(string) error {
	return func(value string) error {
		if !check.Plain(value) {
			return errors.New("must not hold a NUL")
		}
		*p = value
		return nil
	}
}

// boolParser takes what strconv.ParseBool takes: true, false, 1, 0 and their like.
func boolParser(p *bool) func(string) error {
	return func(value string) error {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*p = b
		return nil
	}
}

// durationParser takes durations of at least lowest. A lowest of 1 requires more than 0.
func durationParser(p *time.Duration, lowest time.Duration) func(string) error {
	return func(value string) error {
		d, err := ParseDuration(value)
		if err != nil {
			return errors.New("must be a duration with its unit, such as 15s, 500ms or 1m30s")
		}
		if d < lowest {
			if lowest > 0 {
				return errors.New("must be more than 0")
			}
			return errors.New("must not be less than 0")
		}
		*p = d
		return nil
	}
}

// Words takes a comma-separated list of some words, or none alone. All are the default.
func Words(variable string, p *[]string, words []string, meaning string) Setting {
	all := "`" + strings.Join(words, "`, `") + "`, or `none`"
	return Func(variable, strings.Join(words, ","), all, meaning, func(value string) error {
		list := []string{}
		if value != "none" {
			for entry := range strings.SplitSeq(value, ",") {
				entry = strings.TrimSpace(entry)
				if !slices.Contains(words, entry) {
					return errors.New("must be none, or some of " + strings.Join(words, ", "))
				}
				list = append(list, entry)
			}
		}
		*p = list
		return nil
	})
}
