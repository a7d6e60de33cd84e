package mcpclient

import (
	"crypto/sha256"
	stdjson "encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// maxDescription is how much of a tool's description is kept.
const maxDescription = 8 << 10

// catalogue holds the offers of one server. It is immutable; a list that did not change keeps its
// catalogue, so that pointers can be compared.
type catalogue struct {
	sum    [sha256.Size]byte
	offers []*offer
	// read holds the offer of each definition, by a hash of its bytes; nil for a dropped one. A
	// definition is compiled once.
	read map[[sha256.Size]byte]*offer
	// work is the work for compiling the schemas of the offers and of the definitions that were
	// dropped now.
	work int
}

// offer is one tool of a server.
type offer struct {
	name   string // as the server gives it
	spec   tool.Spec
	schema *tool.Schema
	output *tool.Schema // of its results; nil: they are not checked
	work   int          // that it took to compile both
}

// wireTool is an MCP Tool. Members that only describe the tool are read one by one: one in an odd
// form counts as absent.
type wireTool struct {
	Name        string         `json:"name"`
	Title       jsontext.Value `json:"title"`
	Description jsontext.Value `json:"description"`
	InputSchema jsontext.Value `json:"inputSchema"`
	Output      jsontext.Value `json:"outputSchema"`
	Annotations jsontext.Value `json:"annotations"`
	Execution   jsontext.Value `json:"execution"`
}

// wireHints are the annotations of an MCP Tool.
type wireHints struct {
	Title       jsontext.Value `json:"title"`
	ReadOnly    jsontext.Value `json:"readOnlyHint"`
	Destructive jsontext.Value `json:"destructiveHint"`
	Idempotent  jsontext.Value `json:"idempotentHint"`
	OpenWorld   jsontext.Value `json:"openWorldHint"`
}

// readHints returns the annotations of the tool. Any value but an object counts as absent.
func (t *wireTool) readHints() (h wireHints) {
	if t.Annotations.Kind() != '{' || json.Unmarshal(t.Annotations, &h, wire.Lenient) != nil {
		return wireHints{}
	}
	return h
}

// isTask reports whether the tool runs only as a task.
func (t *wireTool) isTask() bool {
	var e struct {
		TaskSupport jsontext.Value `json:"taskSupport"`
	}
	return t.Execution.Kind() == '{' && json.Unmarshal(t.Execution, &e, wire.Lenient) == nil && stringOf(e.TaskSupport) == "required"
}

// stringOf returns the content of a string, or "" for any other value.
func stringOf(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	return textOf(raw)
}

// hideSecrets returns definitions without the secrets of the configuration. A server that repeats
// them there would show them to the model, and to all who read /tools.
func (u *upstream) hideSecrets(tools []stdjson.RawMessage) []stdjson.RawMessage {
	without := make([]stdjson.RawMessage, len(tools))
	for i, raw := range tools {
		without[i] = u.hide.JSONNames(raw)
	}
	return without
}

// readCatalogue makes the catalogue of a list of tools, and logs the missing ones. It returns old
// if nothing changed.
func (u *upstream) readCatalogue(l *wire.List, old *catalogue) *catalogue {
	tools := u.hideSecrets(l.Tools)
	c := newCatalogue(u.Server, tools, old, u.log)
	u.keepList(tools, c != old)
	if c == old {
		return old
	}
	if missing := l.Missing(); missing != "" {
		leftOut(u.log, u.Name, l.LeftOut, missing)
	}
	u.checkPolicy(c)
	u.checkCache(c)
	return c
}

// newCatalogue reads a server's list of tools. It returns old if nothing changed. If the schemas
// exceed the room of one server, it leaves out tools from the end. The offers are in the order of
// their names, so that the same tools are the same whichever way a server lists them.
func newCatalogue(s Server, tools []stdjson.RawMessage, old *catalogue, log zerolog.Logger) *catalogue {
	c := &catalogue{sum: sumOf(tools), read: map[[sha256.Size]byte]*offer{}}
	if old != nil && old.sum == c.sum {
		return old
	}
	names := map[string]bool{}
	left := 0
	for _, raw := range tools {
		o, err := c.readOffer(s, raw, old, log)
		if errors.Is(err, tool.ErrNoRoom) {
			left++
		}
		if o == nil {
			continue
		}
		if names[o.name] {
			logDropped(log, s.Name, o.name, errors.New("the server offers another tool of that name"))
			continue
		}
		names[o.name] = true
		c.offers = append(c.offers, o)
	}
	if left > 0 {
		leftOut(log, s.Name, left, tool.ErrNoRoom.Error())
	}
	slices.SortFunc(c.offers, func(a, b *offer) int { return strings.Compare(a.name, b.name) })
	return c
}

// sumOf is a hash of the list: of the hash of each definition in turn.
func sumOf(tools []stdjson.RawMessage) [sha256.Size]byte {
	h := sha256.New()
	for _, raw := range tools {
		sum := sha256.Sum256(raw)
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// readOffer returns the offer that raw defines, from old if it was read before; nil
// if the tool is not to be offered. The error is tool.ErrNoRoom or nil.
func (c *catalogue) readOffer(s Server, raw []byte, old *catalogue, log zerolog.Logger) (*offer, error) {
	sum := sha256.Sum256(raw)
	if old != nil {
		if o, known := old.read[sum]; known && (o == nil || c.work+o.work <= tool.Room) {
			c.cacheOffer(sum, o)
			return o, nil
		}
	}
	o, name, work, err := readTool(s, raw, tool.Room-c.work, log)
	if errors.Is(err, tool.ErrNoRoom) { // there may be room another time
		c.work += work
		return nil, tool.ErrNoRoom
	}
	if err != nil {
		c.work += work
		logDropped(log, s.Name, name, err)
	}
	c.cacheOffer(sum, o)
	return o, nil
}

// cacheOffer remembers the offer of a definition, so that it is not compiled again.
func (c *catalogue) cacheOffer(sum [sha256.Size]byte, o *offer) {
	c.read[sum] = o
	if o != nil {
		c.work += o.work
	}
}

// logDropped logs a tool that is not offered, and why. Name and reason are the server's.
func logDropped(log zerolog.Logger, server, name string, err error) {
	log.Warn().Dict("details", zerolog.Dict().Str("server", server).
		Str("tool_name", clipText(tool.Clean(name), 128)).Str("reason", clipText(tool.Clean(err.Error()), 512))).
		Msg("mcp_tool_dropped")
}

// leftOut logs that so many tools were not read, as there are too many. 0 means that
// their number is not known.
func leftOut(log zerolog.Logger, server string, tools int, reason string) {
	log.Warn().Dict("details", zerolog.Dict().Str("server", server).Int("tools", tools).Str("reason", reason)).
		Msg("mcp_tool_dropped")
}

// readTool reads one definition, whose schema may take room to compile, and took
// work. Without an error, a nil offer means that the configuration leaves the tool
// out.
func readTool(s Server, raw []byte, room int, log zerolog.Logger) (o *offer, name string, work int, err error) {
	var t wireTool
	if err := json.Unmarshal(raw, &t, wire.Lenient); err != nil {
		return nil, t.Name, 0, errors.New("the definition cannot be read")
	}
	switch {
	case t.Name == "":
		return nil, "", 0, errors.New("the tool has no name")
	case !s.wantsTool(t.Name):
		return nil, t.Name, 0, nil
	case t.isTask():
		return nil, t.Name, 0, errors.New("the tool runs only as a task")
	}
	schema, used, work, err := tool.CompileLenient(t.InputSchema, room)
	if err == nil {
		err = headersFault(raw)
	}
	if err != nil {
		return nil, t.Name, work, err
	}
	if s.Policy.Untrusted {
		t.Annotations = nil
	}
	t.InputSchema = used
	spec := t.toSpec(s.Name)
	s.Policy.Override(t.Name, &spec.Annotations)
	spec.Confirm = s.Policy.Confirm[t.Name]
	o = &offer{name: t.Name, spec: spec, schema: schema, work: work}
	o.compileOutput(t.Output, room-work, log)
	return o, t.Name, o.work, nil
}

// compileOutput takes the schema of the tool's results. A tool whose schema cannot be used
// is offered all the same: its results are not checked then.
func (o *offer) compileOutput(raw jsontext.Value, room int, log zerolog.Logger) {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return
	}
	schema, used, work, err := tool.CompileLenient(raw, room)
	o.work += work
	if err != nil {
		log.Warn().Dict("details", zerolog.Dict().Str("server", o.spec.Server).Str("tool_name", o.spec.Name).
			Str("reason", clipText(tool.Clean(err.Error()), 512))).Msg("mcp_output_schema_ignored")
		return
	}
	o.output, o.spec.OutputSchema = schema, used
}

// wantsTool reports whether the configuration lets a tool be offered.
func (s Server) wantsTool(name string) bool {
	return !slices.Contains(s.Deny, name) && (len(s.Allow) == 0 || slices.Contains(s.Allow, name))
}

// headersFault returns the fault of the arguments that a tool wants copied into HTTP headers
// (x-mcp-header). Clients must not offer such a tool (SEP-2243).
func headersFault(raw []byte) error {
	var t mcp.Tool
	if stdjson.Unmarshal(raw, &t) != nil {
		return nil // mcp-go cannot read it, and so copies nothing
	}
	return mcp.ValidateParamHeaderAnnotations(&t)
}

// toSpec returns the tool as the model sees it, except that its name may have to change next to
// other servers' tools.
func (t *wireTool) toSpec(server string) tool.Spec {
	hints := t.readHints()
	title := stringOf(hints.Title)
	if title == "" {
		title = stringOf(t.Title)
	}
	description, _ := chat.Truncate(tool.Clean(stringOf(t.Description)), maxDescription)
	return tool.Spec{
		Name:        safeName(t.Name),
		Server:      server,
		Description: description,
		InputSchema: t.InputSchema,
		Annotations: tool.Annotations{
			Title:       clipText(tool.Clean(title), 256),
			ReadOnly:    hintOr(hints.ReadOnly, false),
			Destructive: hintOr(hints.Destructive, true),
			Idempotent:  hintOr(hints.Idempotent, false),
			OpenWorld:   hintOr(hints.OpenWorld, true),
		},
		ClaimsDestructive: hintOr(hints.Destructive, false),
	}
}

// hintOr returns a hint, or the default of the specification for one that is not a boolean.
func hintOr(raw jsontext.Value, unset bool) bool {
	switch raw.Kind() {
	case 't':
		return true
	case 'f':
		return false
	}
	return unset
}
