package servers

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/internal/check"
	"sluice/mcpclient"
)

// side tells which servers a key is for, by the key that makes them such.
type side string

const (
	both       side = ""
	childSide  side = "command"
	remoteSide side = "url"
)

// key is one key that a server can have.
type key struct {
	name string
	side side
	read func(at jsontext.Pointer, v jsontext.Value)
}

// keyNamed finds a key by its exact name.
func keyNamed(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// keys lists all keys of a server, bound to s.
func (f *reader) keys(s *Server) []key {
	return []key{
		{"type", both, f.checked(transport(&s.Transport))},
		{"command", childSide, f.checked(command(&s.Command))},
		{"builtin", both, f.checked(config.OneOf("", &s.Builtin, "", builtins(), "").Parse)},
		{"args", childSide, func(at jsontext.Pointer, v jsontext.Value) { s.Args = f.expandedList(at, v, s) }},
		{"env", childSide, func(at jsontext.Pointer, v jsontext.Value) { s.Env = f.env(at, v) }},
		{"dir", childSide, f.checked(f.dir(&s.Dir))},
		{"url", remoteSide, func(at jsontext.Pointer, v jsontext.Value) { s.URL = f.url(at, v, s) }},
		{"headers", remoteSide, func(at jsontext.Pointer, v jsontext.Value) { s.Headers = f.headers(at, v) }},
		{"timeout", both, func(at jsontext.Pointer, v jsontext.Value) { s.Timeout = f.timeout(at, v) }},
		{"protocolVersion", both, f.checked(protocolVersion(&s.ProtocolVersion))},
		{"allow", both, func(at jsontext.Pointer, v jsontext.Value) { s.Allow = f.tools(at, v) }},
		{"deny", both, func(at jsontext.Pointer, v jsontext.Value) { s.Deny = f.tools(at, v) }},
		{"fallback", both, func(at jsontext.Pointer, v jsontext.Value) { s.Fallback = f.fallback(at, v, s.Name) }},
		{"readOnly", both, func(at jsontext.Pointer, v jsontext.Value) { s.ReadOnly = f.tools(at, v) }},
		{"idempotent", both, func(at jsontext.Pointer, v jsontext.Value) { s.Idempotent = f.tools(at, v) }},
		{"destructive", both, func(at jsontext.Pointer, v jsontext.Value) { s.Destructive = f.tools(at, v) }},
		{"confirm", both, func(at jsontext.Pointer, v jsontext.Value) { s.Confirm = f.confirm(at, v) }},
		{"on_unknown", both, f.checked(config.OneOf("", &s.OnUnknown, "", []string{AskUnknown, TellUnknown}, "").Parse)},
		{"trust", both, func(at jsontext.Pointer, v jsontext.Value) { s.Untrusted = !f.truth(at, v) }},
		{"cache", both, func(at jsontext.Pointer, v jsontext.Value) { s.Cache = f.cache(at, v) }},
		{"cache_shared", both, func(at jsontext.Pointer, v jsontext.Value) { s.CacheShared = f.truth(at, v) }},
		{"identity", both, func(at jsontext.Pointer, v jsontext.Value) { s.Identity = f.truth(at, v) }},
	}
}

// Values of Server.OnUnknown.
const (
	AskUnknown  = "ask"  // a person
	TellUnknown = "tell" // the model, as in a turn
)

// builtins are the servers that the program brings along.
func builtins() []string {
	return []string{"todo", "home-lights", "home-music", "home-climate", "timesheet", "fake-payments"}
}

// checked reads a string that parse accepts.
func (f *reader) checked(parse func(string) error) func(jsontext.Pointer, jsontext.Value) {
	return func(at jsontext.Pointer, v jsontext.Value) {
		s, ok := f.str(at, v)
		if !ok {
			return
		}
		if err := parse(s); err != nil {
			f.fault(at, err.Error())
		}
	}
}

// transport takes the name of a transport that a file can ask for.
func transport(p *mcpclient.Transport) func(string) error {
	return func(value string) error {
		word := ""
		err := config.OneOf("", &word, "", []string{string(mcpclient.Stdio), string(mcpclient.HTTP), string(mcpclient.SSE)}, "").Parse(value)
		*p = mcpclient.Transport(word)
		return err
	}
}

// str reads a string as it stands, without variables.
func (f *reader) str(at jsontext.Pointer, v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		f.fault(at, "must be a string")
		return "", false
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b), true
}

// command takes the program of a child process.
func command(p *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		return config.Text("", p, "", "").Parse(value)
	}
}

// dir takes a folder; a relative one starts at the file's own folder.
func (f *reader) dir(p *string) func(string) error {
	return func(value string) error {
		if value != "" && !filepath.IsAbs(value) {
			value = filepath.Join(f.folder, value)
		}
		return config.Text("", p, "", "").Parse(value)
	}
}

// protocolVersion takes a version of MCP, which is a date, or auto.
func protocolVersion(p *string) func(string) error {
	return func(value string) error {
		if _, err := time.Parse(time.DateOnly, value); err != nil && value != "auto" {
			return errors.New("must be a date such as 2025-11-25, or auto")
		}
		*p = value
		return nil
	}
}

// url reads a URL, with variables filled in. What they held is kept, to be
// hidden in the log.
func (f *reader) url(at jsontext.Pointer, v jsontext.Value, s *Server) string {
	value, ok := f.expandedStr(at, v, &s.Expanded)
	if !ok {
		return ""
	}
	if err := check.BaseURL(value); err != nil {
		f.fault(at, err.Error())
	}
	return value
}

// expandedList reads a list of strings with variables filled in. None may hold
// a NUL, which would cut an argument of a process.
func (f *reader) expandedList(at jsontext.Pointer, v jsontext.Value, s *Server) []string {
	var list []string
	for i, e := range f.elements(at, v) {
		at := at.AppendToken(strconv.Itoa(i))
		value, ok := f.expandedStr(at, e, &s.Expanded)
		if ok && strings.ContainsRune(value, 0) {
			f.fault(at, "must not hold a NUL")
		}
		list = append(list, value)
	}
	return list
}

// tools reads a list of tool names. An empty one is refused: as allow it would
// take every tool away, and nobody means that.
func (f *reader) tools(at jsontext.Pointer, v jsontext.Value) []string {
	var list []string
	for i, e := range f.elements(at, v) {
		at := at.AppendToken(strconv.Itoa(i))
		name, ok := f.str(at, e)
		if ok && name == "" {
			f.fault(at, "must not be empty")
		}
		list = append(list, name)
	}
	if v.Kind() == '[' && len(list) == 0 {
		f.fault(at, "must name a tool, or be left out")
	}
	return list
}

// elements lists an array that parse has checked.
func (f *reader) elements(at jsontext.Pointer, v jsontext.Value) []jsontext.Value {
	if v.Kind() != '[' {
		f.fault(at, "must be an array of strings")
		return nil
	}
	var list []jsontext.Value
	d := jsontext.NewDecoder(bytes.NewReader(v))
	d.ReadToken() // [
	for d.PeekKind() != ']' {
		e, _ := d.ReadValue()
		list = append(list, e.Clone())
	}
	return list
}

// timeout reads a duration, or a number of seconds.
func (f *reader) timeout(at jsontext.Pointer, v jsontext.Value) time.Duration {
	var d time.Duration
	var err error
	switch v.Kind() {
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v)
		err = config.Duration("", &d, 0, "").Parse(string(b))
	case '0':
		seconds, _ := strconv.ParseFloat(string(v), 64) // infinite if it is too large
		if seconds < 1e-3 || seconds > 24*3600 {
			err = errors.New("must be from 0.001 seconds to a day")
			break
		}
		d = time.Duration(math.Round(seconds * 1e9))
	default:
		err = errors.New("must be a duration such as 15s, or a number of seconds")
	}
	if err != nil {
		f.fault(at, err.Error())
	}
	return d
}
