package config

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fallback reads an object of tool names. Whether the tools exist only their
// servers can tell.
func (f *mcpFile) fallback(at jsontext.Pointer, v jsontext.Value, server string) map[string]string {
	if v.Kind() != '{' {
		f.fault(at, `must be an object of strings, such as {"search": "archive/search"}`)
		return nil
	}
	all := make(map[string]string)
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		to, ok := f.str(at, m.value)
		switch {
		case !ok:
		case m.name == "" || to == "":
			f.fault(at, "must not be empty")
		case to == server+"/"+m.name:
			f.fault(at, "must be another tool")
		}
		all[m.name] = to
	}
	return all
}

// truth reads a boolean.
func (f *mcpFile) truth(at jsontext.Pointer, v jsontext.Value) bool {
	kind := v.Kind()
	if kind != 't' && kind != 'f' {
		f.fault(at, "must be true or false")
	}
	return kind == 't'
}

// agree refuses a tool that is said to be two things that exclude one another. The
// policy would take it to be destructive, which may not be what is meant.
func (f *mcpFile) agree(at jsontext.Pointer, s *MCPServer) {
	for i, name := range s.Destructive {
		if name != "" && slices.Contains(s.ReadOnly, name) {
			f.fault(at.AppendToken("destructive").AppendToken(strconv.Itoa(i)), "is in readOnly, too")
		}
	}
}
