package servers

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fallback reads an object of tool names, or lists of them. Whether the tools exist only
// their servers can tell.
func (f *reader) fallback(at jsontext.Pointer, v jsontext.Value, server string) map[string][]string {
	if v.Kind() != '{' {
		f.fault(at, `must be an object of strings, such as {"search": "archive/search"}`)
		return nil
	}
	all := make(map[string][]string)
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		if m.value.Kind() != '[' {
			all[m.name] = f.addFallback(nil, at, m.value, server, m.name)
			continue
		}
		list := f.elements(at, m.value)
		if len(list) == 0 {
			f.fault(at, "must name a tool, or be left out")
		}
		for i, e := range list {
			all[m.name] = f.addFallback(all[m.name], at.AppendToken(strconv.Itoa(i)), e, server, m.name)
		}
	}
	return all
}

// addFallback adds one fallback of a tool to those before it.
func (f *reader) addFallback(list []string, at jsontext.Pointer, v jsontext.Value, server, tool string) []string {
	to, ok := f.str(at, v)
	switch {
	case !ok:
	case tool == "" || to == "":
		f.fault(at, "must not be empty")
	case to == server+"/"+tool:
		f.fault(at, "must be another tool")
	case slices.Contains(list, to):
		f.fault(at, "is named twice")
	}
	return append(list, to)
}

// confirm reads an object of tool names with always or never.
func (f *reader) confirm(at jsontext.Pointer, v jsontext.Value) map[string]string {
	if v.Kind() != '{' {
		f.fault(at, `must be an object of always and never, such as {"refund": "always"}`)
		return nil
	}
	all := make(map[string]string)
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		how, ok := f.str(at, m.value)
		switch {
		case !ok:
		case m.name == "":
			f.fault(at, "must not be empty")
		case how != "always" && how != "never":
			f.fault(at, "must be always or never")
		}
		all[m.name] = how
	}
	return all
}

// truth reads a boolean.
func (f *reader) truth(at jsontext.Pointer, v jsontext.Value) bool {
	kind := v.Kind()
	if kind != 't' && kind != 'f' {
		f.fault(at, "must be true or false")
	}
	return kind == 't'
}

// agree refuses a tool that is said to be two things that exclude one another. The
// policy would take it to be destructive, which may not be what is meant.
func (f *reader) agree(at jsontext.Pointer, s *Server) {
	for i, name := range s.Destructive {
		if name != "" && slices.Contains(s.ReadOnly, name) {
			f.fault(at.AppendToken("destructive").AppendToken(strconv.Itoa(i)), "is in readOnly, too")
		}
	}
}
