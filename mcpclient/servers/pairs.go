package servers

import (
	"errors"
	"net/textproto"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/internal/check"
)

// pairs reads an object of strings, expands its values and hands each on.
func (f *reader) pairs(at jsontext.Pointer, v jsontext.Value, check func(name, value string) error) map[string]config.Secret {
	if v.Kind() != '{' {
		f.fault(at, "must be an object of strings")
		return nil
	}
	all := make(map[string]config.Secret)
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		value, ok := f.expandedStr(at, m.value, nil)
		if !ok {
			continue
		}
		if err := check(m.name, value); err != nil {
			f.fault(at, err.Error())
		}
		all[m.name] = config.Secret(value)
	}
	return all
}

// env reads the variables that a child process gets beside the few that it
// inherits.
func (f *reader) env(at jsontext.Pointer, v jsontext.Value) map[string]config.Secret {
	return f.pairs(at, v, func(name, value string) error {
		if !check.Variable(name, value) {
			return errors.New("a variable needs a name without =, and neither part may hold a NUL")
		}
		return nil
	})
}

// headers refuses what net/http would refuse later, call by call, and names that
// are one to HTTP, of which only one would be sent.
func (f *reader) headers(at jsontext.Pointer, v jsontext.Value) map[string]config.Secret {
	seen := make(map[string]bool)
	return f.pairs(at, v, func(name, value string) error {
		same := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !check.HeaderName(name):
			return errors.New("is not a header's name")
		case seen[same]:
			return errors.New("is given twice: names that differ only in upper and lower case are the same")
		case !check.HeaderValue(value):
			return errors.New("the value must not hold line ends or other control characters")
		}
		seen[same] = true
		return nil
	})
}
