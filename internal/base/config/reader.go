package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// maxText is the largest size of a text's file, in bytes. A larger file is surely the wrong one.
const maxText = 64 << 10

// reader is one Load under way.
type reader struct {
	lookup   func(string) (string, bool)
	readFile func(string) ([]byte, error)
	hide     func(setting string, values ...Secret) // Config.Hide
	files    map[string]string                      // what secret returned, by the variable
	byFlag   map[string]string                      // the flags that gave settings, by the variable

	faults []Fault
}

// addFault collects a fault under a setting's name. No value is repeated: it may
// be a key under the wrong name.
func (r *reader) addFault(name, message string) {
	if flag := r.byFlag[name]; flag != "" {
		message += " (given as --" + flag + ")"
	}
	r.faults = append(r.faults, Fault{Name: name, Message: message})
}

// applySetting reads one setting: from its flag, else from its variables, else its default. If a
// flag is repeated, its last value counts, or each value if the setting allows it.
func (r *reader) applySetting(s Setting, flags map[string][]string) {
	values, isFlag := flags[s.flag]
	if !s.repeated || len(values) == 0 {
		r.applyOne(s, lastValue(values), isFlag)
		return
	}
	for _, value := range values {
		r.applyOne(s, value, true)
	}
}

// lastValue returns the last value of a repeated flag, as flags usually behave.
func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// effectiveValue returns the value that counts, the name of its source, and its parser.
func (r *reader) effectiveValue(s Setting, given string) (value, name string, parse func(string) error) {
	if value = strings.TrimSpace(given); value != "" {
		return value, s.faultName(), s.parse
	}
	if s.second != "" {
		if value = strings.TrimSpace(r.givenValue(s, s.second)); value != "" {
			return value, s.second, s.parseSecond
		}
	}
	return s.Default, s.faultName(), s.parse
}

// applyOne applies one setting. A flag wins over the variable, the variable
// over the default; one that is set to nothing counts as not set.
func (r *reader) applyOne(s Setting, given string, isFlag bool) {
	if !isFlag {
		given = r.givenValue(s, s.Variable)
	}
	value, name, parse := r.effectiveValue(s, given)
	if value == "" {
		return
	}
	if isFlag && name == s.Variable {
		r.byFlag[name] = s.flag
	}
	if err := parse(value); err != nil {
		r.addFault(name, err.Error())
	}
}

// givenValue returns the value of a variable of s.
func (r *reader) givenValue(s Setting, variable string) string {
	if !s.orFile || variable == "" {
		return r.envValue(variable)
	}
	value, _ := r.secretValue(variable)
	return value
}

// envValue returns a variable, or "" for an empty name.
func (r *reader) envValue(name string) string {
	if name == "" {
		return ""
	}
	value, _ := r.lookup(name)
	return value
}

// readText reads a small file that a setting names, such as a system prompt.
func (r *reader) readText(name, path string, p *string) {
	if path == "" {
		return
	}
	content, err := r.readFile(path)
	if fault := TextFault(content, err, maxText); fault != "" {
		r.addFault(name, withPath(path, fault))
		return
	}
	*p = string(content)
}

// withPath returns the fault of a file with its path in front. A word without a separator and
// without an extension may be a secret in the wrong place, and is left out.
func withPath(path, fault string) string {
	if strings.ContainsAny(path, `/\.`) {
		return path + ": " + fault
	}
	return fault
}

// TextFault returns the fault of a text file of up to most bytes, from its content or the error of
// its reading. It returns "" for a good text.
func TextFault(content []byte, err error, most int) string {
	switch {
	case err != nil:
		return Unreadable(err)
	case len(content) > most:
		return fmt.Sprintf("the file has more than %d KiB", most>>10)
	case !utf8.Valid(content):
		return "the file is not UTF-8 text"
	case strings.TrimSpace(string(content)) == "":
		return "the file is empty"
	}
	return ""
}

// Unreadable returns why a file could not be read, without its path.
func Unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "we may not read the file"
	case errors.Is(err, ErrNoFile):
		return ErrNoFile.Error()
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	}
	return "the file cannot be read"
}

// placeData sets the default path of a file of the user's data.
func (r *reader) placeData(p *string, isDefault *bool, name string) {
	if *p != "" {
		return
	}
	*p, *isDefault = ":memory:", true
	if folder := dataFolder(runtime.GOOS, r.lookup); folder != "" {
		*p = filepath.Join(folder, filepath.FromSlash(name))
	}
}
