package servers

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/mcpclient"
)

// maxFile is the largest size of an mcpServers file, in bytes. A larger file is surely the wrong
// one.
const maxFile = 1 << 20

// reader reads one mcpServers file, the form that MCP clients share:
//
//	{"mcpServers": {"todo": {"command": "uvx", "args": ["fastmcp", "run", "server.py"]}}}
//
// A file may belong to several programs, so other members next to mcpServers are theirs and
// are passed over. Within a server nothing is.
//
// It also reads the section mcpServers of the configuration file, which a schema has checked and
// whose variables are filled in.
type reader struct {
	folder string // of the file
	// lookup knows the environment; nil: the object is a section.
	lookup func(string) (string, bool)
	used   map[string]bool // names of servers
	faults []config.Fault  // of a file
}

// newReader returns a reader of the file at path. Relative folders in it are
// meant from there. Names of others, which other sources have, are taken.
func newReader(path string, lookup func(string) (string, bool), others []Server) *reader {
	used := make(map[string]bool)
	for _, s := range others {
		used[s.Name] = true
	}
	return &reader{folder: filepath.Dir(path), lookup: lookup, used: used}
}

// addFault lists a fault of a file.
func (f *reader) addFault(message string) {
	f.faults = append(f.faults, config.Fault{Name: "MCP_CONFIG", Message: message})
}

// readContent returns the servers in the order of the file. The list is complete only if there are
// no faults.
func (f *reader) readContent(content []byte) (list []Server) {
	root := f.parseTree(content)
	if root == nil {
		return nil
	}
	switch all := root.Get("mcpServers"); {
	case root.Kind() != '{':
		root.Fault("must be a JSON object")
	case all == nil:
		root.Fault("must hold an object mcpServers")
	default:
		list = f.readServers(all)
	}
	for _, message := range root.Messages() {
		f.addFault(message)
	}
	return list
}

// parseTree checks the grammar of the whole text, unique names and UTF-8 included, and returns its
// tree. It returns nil and a fault if that fails.
func (f *reader) parseTree(content []byte) *file.Node {
	if len(content) > maxFile {
		f.addFault("the file has more than 1 MiB")
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(content))
	root, err := d.ReadValue()
	if err != nil {
		f.faultInGrammar(content, err)
		return nil
	}
	root = root.Clone()
	if rest := bytes.TrimLeft(content[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		f.addFault("more follows after the end of the JSON value")
		return nil
	}
	return file.FromJSON(root)
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
	f.addFault(file.Pointed(string(at), fmt.Sprintf("%s (line %d)", what, line)))
}

// readServers reads the member mcpServers, in the order of the file. A server with
// a fault is returned as far as it could be read, so that all its faults come
// at once.
func (f *reader) readServers(all *file.Node) (list []Server) {
	for n := range membersOf(all, "must be an object") {
		if !n.Sound() { // of the section: its faults are listed already
			continue
		}
		isObject := n.Kind() == '{'
		if !check.ServerName(n.Name()) {
			n.FaultKey("a server's name must be 1 to 64 of A-Z a-z 0-9 _ -")
		}
		if f.used[n.Name()] {
			n.FaultKey(f.otherSources() + " a server of this name already")
		}
		f.used[n.Name()] = true
		if !isObject {
			n.Fault("must be an object")
			continue
		}
		list = append(list, f.readServer(n))
	}
	return list
}

// otherSources names the sources that were read before this one.
func (f *reader) otherSources() string {
	if f.lookup == nil {
		return "MCP_SERVER_URL or MCP_CONFIG has"
	}
	return "MCP_SERVER_URL is"
}

// readServer reads one server. Its transport decides which keys it may have. The transport may
// follow from the keys alone.
func (f *reader) readServer(n *file.Node) Server {
	s := Server{Name: n.Name()}
	keys := f.serverKeys(&s)
	for m := range n.Members() {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == m.Name() })
		if i < 0 {
			m.FaultKey("there is no such key; there are " + joinNames(keys))
			continue
		}
		keys[i].check(m)
	}
	n.Decode(&s)
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(f.folder, s.Dir)
	}
	settleTransport(n, &s, keys)
	checkAgreement(n)
	return s
}

// settleTransport finds the transport out, from the type if there is one, and refuses the
// keys of another.
func settleTransport(n *file.Node, s *Server, keys []key) {
	if n.Has("builtin") {
		settleBuiltin(n, s, keys)
		return
	}
	remote := n.Has("url")
	if n.Has("command") == remote {
		n.Fault("must have either command or url")
		return
	}
	switch {
	case s.Transport == "" && remote:
		s.Transport = mcpclient.HTTP
	case s.Transport == "":
		s.Transport = mcpclient.Stdio
	case remote == (s.Transport == mcpclient.Stdio):
		n.Get("type").Fault("must be stdio with command, http or sse with url")
		return
	}
	for _, k := range keys {
		if at := n.Get(k.name); at != nil && k.side != both && (k.side == remoteSide) != remote {
			at.FaultKey("belongs to a server with " + string(k.side))
		}
	}
}

// settleBuiltin refuses the keys of servers outside the process.
func settleBuiltin(n *file.Node, s *Server, keys []key) {
	s.Transport = mcpclient.InProcess
	for _, k := range keys {
		if at := n.Get(k.name); at != nil && (k.side != both || k.name == "type") {
			at.FaultKey("belongs to a server that is not built in")
		}
	}
}

// joinNames joins the names of keys, for a fault.
func joinNames(keys []key) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.name
	}
	return strings.Join(list, ", ")
}
