package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// maxPrompt is the size of a system prompt's file, in bytes, above which it is
// surely the wrong file.
const maxPrompt = 64 << 10

// reader is one Load under way.
type reader struct {
	lookup   func(string) (string, bool)
	readFile func(string) ([]byte, error)

	cfg        Config
	serverURL  string // of MCP_SERVER_URL
	serverFile string // of MCP_CONFIG
	promptFile string
	faults     []Fault
}

func (r *reader) fault(name, message string) {
	r.faults = append(r.faults, Fault{Name: name, Message: message})
}

// apply reads one setting: from its flag, else from its variables, else its default.
func (r *reader) apply(s setting, flags map[string]string) {
	given, isFlag := flags[s.flag]
	if !isFlag {
		given = r.env(s.variable)
	}
	value, name, parse := strings.TrimSpace(given), s.name(), s.parse
	if value == "" && s.second != "" {
		value, name, parse = strings.TrimSpace(r.env(s.second)), s.second, s.parseSecond
	}
	if value == "" {
		value, name, parse = s.def, s.name(), s.parse
	}
	if value == "" {
		return
	}
	if err := parse(value); err != nil {
		message := err.Error()
		if isFlag && name == s.variable {
			message += " (given as --" + s.flag + ")"
		}
		r.fault(name, message)
	}
}

func (r *reader) env(name string) string {
	if name == "" {
		return ""
	}
	value, _ := r.lookup(name)
	return value
}

func (r *reader) readPrompt() {
	if r.promptFile == "" {
		return
	}
	const name = "SLUICE_SYSTEM_PROMPT"
	content, err := r.readFile(r.promptFile)
	switch {
	case err != nil:
		r.fault(name, unreadable(err))
	case len(content) > maxPrompt:
		r.fault(name, "the file has more than 64 KiB")
	case !utf8.Valid(content):
		r.fault(name, "the file is not UTF-8 text")
	case strings.TrimSpace(string(content)) == "":
		r.fault(name, "the file is empty")
	default:
		r.cfg.SystemPrompt = string(content)
	}
}

// unreadable says why a file could not be read, without its path.
func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "we may not read the file"
	}
	return "the file cannot be read"
}

// readServers adds up the MCP servers of both sources.
func (r *reader) readServers() {
	taken := make(map[string]bool)
	if r.serverURL != "" {
		taken[serverName] = true
		r.cfg.MCPServers = []MCPServer{{Name: serverName, Transport: HTTP, URL: r.serverURL}}
	}
	if r.serverFile == "" {
		return
	}
	content, err := r.readFile(r.serverFile)
	if err != nil {
		r.fault("MCP_CONFIG", unreadable(err))
		return
	}
	f := newMCPFile(r.serverFile, r.lookup, taken)
	r.cfg.MCPServers = append(r.cfg.MCPServers, f.read(content)...)
	r.faults = append(r.faults, f.faults...)
}

// placeTodoDB says where the built-in todo server keeps its file if nobody else did.
func (r *reader) placeTodoDB() {
	if r.cfg.TodoDB != "" {
		return
	}
	r.cfg.TodoDB, r.cfg.TodoDBIsDefault = ":memory:", true
	if folder := dataFolder(runtime.GOOS, r.lookup); folder != "" {
		r.cfg.TodoDB = filepath.Join(folder, "sluice", "todo.db")
	}
}
