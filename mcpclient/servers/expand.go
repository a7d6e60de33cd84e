package servers

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/internal/check"
)

// expandedStr reads a string and puts the environment's values in place of
// ${NAME}. "$${" stands for "${" itself. What was put in is added to used unless
// that is nil.
//
// Our own key is refused: it never goes to an MCP server or a child process.
func (f *reader) expandedStr(at jsontext.Pointer, v jsontext.Value, used *[]config.Secret) (string, bool) {
	s, ok := f.str(at, v)
	if !ok {
		return "", false
	}
	if f.within != nil {
		return s, f.expandedWithin(at, used)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			return b.String(), ok
		}
		if escaped, is := strings.CutSuffix(before, "$"); is {
			b.WriteString(escaped + "${")
			s = after
			continue
		}
		b.WriteString(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !check.VariableName(name) {
			f.fault(at, "${ must be followed by a variable's name and }; write $${ for a plain ${")
			return "", false
		}
		value, good := f.variable(at, name)
		b.WriteString(value)
		ok = ok && good
		if used != nil && value != "" {
			*used = append(*used, config.Secret(value))
		}
		s = rest
	}
}

// variable returns the value of an environment variable that a file names. One
// that is set to nothing is as good as any.
func (f *reader) variable(at jsontext.Pointer, name string) (value string, ok bool) {
	if neverPassedOn(name) {
		f.fault(at, name+" is never passed on")
		return "", false
	}
	value, ok = f.lookup(name)
	if !ok {
		f.fault(at, "the variable "+name+" is not set")
	}
	return value, ok
}

// expandedWithin looks at what is in the string of another document by now.
func (f *reader) expandedWithin(at jsontext.Pointer, used *[]config.Secret) (ok bool) {
	ok = true
	for name, value := range f.within.Variables(at) {
		if neverPassedOn(name) {
			f.fault(at, name+" is never passed on")
			ok = false
		}
		if used != nil && value != "" {
			*used = append(*used, value)
		}
	}
	return ok
}

// neverPassedOn are the keys of the model: no server and no child process gets
// them, whatever a file says.
func neverPassedOn(name string) bool { return name == "GEMINI_API_KEY" || name == "GOOGLE_API_KEY" }
