package servers

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/internal/check"
	"sluice/mcpclient"
)

// maxFile is the size of an mcpServers file, in bytes, above which it is
// surely the wrong file.
const maxFile = 1 << 20

// reader reads one mcpServers file, the form that MCP clients share:
//
//	{"mcpServers": {"todo": {"command": "uvx", "args": ["fastmcp", "run", "server.py"]}}}
//
// A file may belong to several programs, so other members beside mcpServers are
// theirs and are passed over. Within a server nothing is.
type reader struct {
	folder string // of the file
	lookup func(string) (string, bool)
	taken  map[string]bool // names of servers
	faults []config.Fault
	within *enclosing // unless nil, what the servers are a part of
}

// newReader returns a reader of the file at path. Relative folders in it are
// meant from there. Names of others, which other sources have, are taken.
func newReader(path string, lookup func(string) (string, bool), others []Server) *reader {
	taken := make(map[string]bool)
	for _, s := range others {
		taken[s.Name] = true
	}
	return &reader{folder: filepath.Dir(path), lookup: lookup, taken: taken}
}

// enclosing is a document of another form, of which an mcpServers object is a part.
// It has put the values of variables in already.
type enclosing struct {
	Path    string         // of the file; relative folders begin at its own
	Servers jsontext.Value // the object, without duplicate names
	Others  []Server       // of other sources
	// Variables returns the variables of the string at a pointer, below /mcpServers.
	Variables func(at jsontext.Pointer) iter.Seq2[string, config.Secret]
	// Fault takes a fault at the value that a pointer names, or at its key.
	Fault func(at jsontext.Pointer, isKey bool, message string)
}

// read returns the servers in the order of the document. They are whole only if there
// was no fault.
func (d enclosing) read() []Server {
	f := newReader(d.Path, nil, d.Others)
	f.within = &d
	return f.servers("/mcpServers", d.Servers)
}

// faultKey lists a fault of a key.
func (f *reader) faultKey(at jsontext.Pointer, message string) {
	if f.within != nil {
		f.within.Fault(at, true, message)
		return
	}
	f.fault(at, message)
}

// fault lists a fault at the place that a JSON pointer names. A pointer holds
// names out of the file, so it is quoted unless it can stand in a line as it is.
func (f *reader) fault(at jsontext.Pointer, message string) {
	if f.within != nil {
		f.within.Fault(at, false, message)
		return
	}
	place := string(at)
	if quoted := strconv.QuoteToASCII(place); quoted != `"`+place+`"` {
		place = quoted
	}
	if place != "" {
		message = place + ": " + message
	}
	f.faults = append(f.faults, config.Fault{Name: "MCP_CONFIG", Message: message})
}

// read returns the servers in the order of the file. What it returns is whole
// only if there are no faults.
func (f *reader) read(content []byte) []Server {
	root, ok := f.parse(content)
	if !ok {
		return nil
	}
	for _, m := range members(root) {
		if m.name == "mcpServers" {
			return f.servers("/mcpServers", m.value)
		}
	}
	f.fault("", "must hold an object mcpServers")
	return nil
}

// parse checks the grammar of the whole text, unique names and UTF-8 included,
// so that later code need not.
func (f *reader) parse(content []byte) (root jsontext.Value, ok bool) {
	if len(content) > maxFile {
		f.fault("", "the file has more than 1 MiB")
		return nil, false
	}
	d := jsontext.NewDecoder(bytes.NewReader(content))
	root, err := d.ReadValue()
	if err != nil {
		f.faultInGrammar(content, err)
		return nil, false
	}
	root = root.Clone()
	if rest := bytes.TrimLeft(content[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		f.fault("", "more follows after the end of the JSON value")
		return nil, false
	}
	if root.Kind() != '{' {
		f.fault("", "must be a JSON object")
		return nil, false
	}
	return root, true
}

// faultInGrammar rewords a decoder's error: its own text may repeat the input.
func (f *reader) faultInGrammar(content []byte, err error) {
	var at jsontext.Pointer
	line := 1
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntax.JSONPointer
		line += bytes.Count(content[:min(int(syntax.ByteOffset), len(content))], []byte("\n"))
	}
	what := "is not valid JSON"
	if errors.Is(err, jsontext.ErrDuplicateName) {
		what = "is given twice"
	}
	f.fault(at, fmt.Sprintf("%s (line %d)", what, line))
}

// servers reads the member mcpServers, in the order of the file. A server with
// a fault is returned as far as it could be read, so that all its faults come
// at once.
func (f *reader) servers(at jsontext.Pointer, v jsontext.Value) []Server {
	if v.Kind() != '{' {
		f.fault(at, "must be an object")
		return nil
	}
	var list []Server
	for _, m := range members(v) {
		at := at.AppendToken(m.name)
		if !check.ServerName(m.name) {
			f.faultKey(at, "a server's name must be 1 to 64 of A-Z a-z 0-9 _ -")
		}
		if f.taken[m.name] {
			f.faultKey(at, f.other()+" a server of this name already")
		}
		f.taken[m.name] = true
		if m.value.Kind() != '{' {
			f.fault(at, "must be an object")
			continue
		}
		list = append(list, f.server(at, m))
	}
	return list
}

// other names the sources that were read before this one.
func (f *reader) other() string {
	if f.within != nil {
		return "MCP_SERVER_URL or MCP_CONFIG has"
	}
	return "MCP_SERVER_URL is"
}

// server reads one server. Which keys it may have depends on its transport,
// which may be found out from the keys alone.
func (f *reader) server(at jsontext.Pointer, m member) Server {
	s := Server{Name: m.name}
	keys := f.keys(&s)
	has := make(map[string]bool)
	for _, m := range members(m.value) {
		at := at.AppendToken(m.name)
		has[m.name] = true
		if k, known := keyNamed(keys, m.name); known {
			k.read(at, m.value)
		} else {
			f.faultKey(at, "there is no such key; there are "+names(keys))
		}
	}
	f.settle(at, &s, keys, has)
	f.agree(at, &s)
	return s
}

// settle finds the transport out, from the type if there is one, and refuses the
// keys of another.
func (f *reader) settle(at jsontext.Pointer, s *Server, keys []key, has map[string]bool) {
	if has["builtin"] {
		f.settleBuiltin(at, s, keys, has)
		return
	}
	if has["command"] == has["url"] {
		f.fault(at, "must have either command or url")
		return
	}
	remote := has["url"]
	switch {
	case s.Transport == "" && remote:
		s.Transport = mcpclient.HTTP
	case s.Transport == "":
		s.Transport = mcpclient.Stdio
	case remote == (s.Transport == mcpclient.Stdio):
		f.fault(at.AppendToken("type"), "must be stdio with command, http or sse with url")
		return
	}
	for _, k := range keys {
		if has[k.name] && k.side != both && (k.side == remoteSide) != remote {
			f.faultKey(at.AppendToken(k.name), "belongs to a server with "+string(k.side))
		}
	}
}

// settleBuiltin refuses the keys of servers outside the process.
func (f *reader) settleBuiltin(at jsontext.Pointer, s *Server, keys []key, has map[string]bool) {
	s.Transport = mcpclient.InProcess
	for _, k := range keys {
		if has[k.name] && k.side != both || k.name == "type" && has["type"] {
			f.faultKey(at.AppendToken(k.name), "belongs to a server that is not built in")
		}
	}
}

// member is one name and value of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// members lists an object that parse has checked.
func members(object jsontext.Value) []member {
	var list []member
	d := jsontext.NewDecoder(bytes.NewReader(object))
	d.ReadToken() // {
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		m := member{name: name.String()} // before the next read, which ends name's life
		value, _ := d.ReadValue()
		m.value = value.Clone()
		list = append(list, m)
	}
	return list
}

// names joins the names of keys, for a fault.
func names(keys []key) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.name
	}
	return strings.Join(list, ", ")
}
