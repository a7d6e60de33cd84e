// This file reads the sections agents, router, dispatch and aggregate of the configuration file.
// All of them fill one Spec, in whichever order they come. The schemas next to this file have the
// bounds that a JSON Schema can express. The rest is here: references to other sections, durations,
// files.

package router

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/turn/tool"
)

// Spec is a team as the configuration file describes it. The zero value is that of a file without a
// team.
type Spec struct {
	Agents []AgentSpec
	// Config lacks Agents and Asker. It holds the defaults once a section was read; see
	// Settled.
	Config Config
	// TurnTimeout bounds a turn of the team; 0: DefaultTurnTimeout.
	TurnTimeout time.Duration `key:"turn_timeout" from:"1s" to:"15m"`

	begun bool
}

// defaultTurnTimeout is how long a turn of a team may take.
const defaultTurnTimeout = time.Minute

// Settled returns s with the defaults where the file says nothing.
func (s Spec) Settled() Spec {
	s.fillDefaults()
	if s.TurnTimeout == 0 {
		s.TurnTimeout = defaultTurnTimeout
	}
	return s
}

// fillDefaults fills in the defaults once, whichever section comes first.
func (s *Spec) fillDefaults() {
	if !s.begun {
		s.begun, s.Config = true, Defaults()
	}
}

// AgentSpec is one agent of the configuration file.
type AgentSpec struct {
	ID           string   `key:"@"`
	Name         string   `key:"name"` // may be empty
	Description  string   `key:"description"`
	Capabilities []string `key:"capabilities"`
	Examples     []string `key:"examples"`
	// Role is the first line of the system prompt, and Prompt the rest; empty: none, and
	// the built-in one.
	Role        string        `key:"role"`
	Prompt      string        `key:"prompt" most:"32 KiB"`
	Model       string        `key:"model" of:"models,default"` // a key; empty: the default model
	Temperature *float64      `key:"temperature"`               // nil: none is asked for
	MaxTokens   int           `key:"max_output_tokens"`         // 0: the model's
	Tools       []string      `key:"tools"`                     // server, or server/tool
	MaxSteps    int           `key:"max_steps"`
	Timeout     time.Duration `key:"timeout" from:"1s" to:"10m"` // 0: Dispatch.Timeout
	Hidden      bool          `key:"routable" is:"false"`        // from the router
	Closed      bool          `key:"exposed" is:"false"`         // it has no A2A endpoint
	Delegates   []string      `key:"delegates"`                  // ids of agents that it may call
	// Remote is where a remote agent is; nil: it runs here. Then Role to MaxSteps say nothing.
	Remote *Remote `json:",omitempty"`
}

// Routed returns an agent as the router sees it; it lacks its Runner.
func (a *AgentSpec) Routed() Agent {
	return Agent{
		ID: a.ID, Name: a.Name, Description: a.Description, Capabilities: a.Capabilities, Examples: a.Examples,
		Hidden: a.Hidden, Timeout: a.Timeout,
	}
}

// Defaults of an AgentSpec.
const (
	defaultTemperature = 0.7
	defaultSteps       = 10
)

// builtinServer is the server that there is if none is configured.
const builtinServer = "todo"

// maxPrompt bounds the file of a prompt, in bytes.
const maxPrompt = 32 << 10

// schemas are the JSON Schemas of the sections, a file each.
//
//go:embed agents.json router.json dispatch.json aggregate.json
var schemas embed.FS

// sectionSchema returns the JSON Schema of a section. A missing schema is a mistake in this
// package, and its tests find that: no section could be read at all.
func sectionSchema(section string) string {
	text, err := schemas.ReadFile(section + ".json")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// AgentsSection is the section agents of the configuration file. It reads from c which MCP servers
// exist; c is complete by then.
func AgentsSection(s *Spec, c *config.Config) file.Section {
	return file.Section{Name: "agents", Schema: sectionSchema("agents"), Read: func(agents *file.Node) {
		s.fillDefaults()
		for n := range agents.Members() {
			warm := defaultTemperature
			r := agentReader{node: n, cfg: c, spec: AgentSpec{Temperature: &warm, MaxSteps: defaultSteps}}
			r.readAgent()
			s.Agents = append(s.Agents, r.spec)
		}
	}}
}

// agentReader reads one agent of the file.
//
// A fault is reported at its node and reading continues.
type agentReader struct {
	node *file.Node
	cfg  *config.Config
	spec AgentSpec
}

// readAgent reads all fields, so that all faults of an agent come at once.
func (r *agentReader) readAgent() {
	r.readRemote() // first: keys that it refuses are not looked at
	r.node.Decode(&r.spec)
	r.readPrompt()
	var servers []string // that are listed whole
	for item := range r.node.Get("tools").Members() {
		servers = r.checkTool(item, servers)
	}
	for item := range r.node.Get("delegates").Members() {
		r.checkDelegate(item)
	}
}

// readPrompt reads the system prompt from a file of its own, if one is named.
func (r *agentReader) readPrompt() {
	named := r.node.Get("prompt_file")
	switch {
	case named == nil:
	case r.node.Has("prompt"):
		named.FaultKey("is not taken beside prompt")
	default:
		r.spec.Prompt, _ = named.TextFile(maxPrompt)
	}
}

// checkTool checks one entry of the tools, and adds it to servers if it is a whole one. A server
// reports which tools it has only when it runs.
func (r *agentReader) checkTool(item *file.Node, servers []string) []string {
	text, ok := item.Text()
	if !ok {
		return servers
	}
	server, tool, one := strings.Cut(text, "/")
	switch {
	case !r.hasServer(item, server):
		item.Fault("names a server that is not in mcpServers")
	case one && tool == "":
		item.Fault("must be server, or server/tool")
	case one && slices.Contains(servers, server):
		item.Fault("is among all tools of its server, which are listed already")
	case !one:
		return append(servers, server)
	}
	return servers
}

// maxDelegate is the longest id of a delegate: with DelegatePrefix it is a tool's name.
const maxDelegate = 64 - len(DelegatePrefix)

// DelegatePrefix begins the name of the tool that calls another agent.
const DelegatePrefix = "delegate_to_"

// checkDelegate checks one of the agents that the agent may call.
//
// A circle of delegates is allowed here; a session refuses it when it would come about.
func (r *agentReader) checkDelegate(item *file.Node) {
	id, ok := item.Text()
	if !ok {
		return
	}
	switch {
	case id == r.spec.ID:
		item.Fault("is the agent itself")
	case !item.Section("agents").Has(id):
		item.Fault("names an agent that is not in agents")
	case item.Section("agents").Get(id).Has("card"):
		item.Fault("names a remote agent: only those of this file can be called")
	case len(id) > maxDelegate:
		item.Fault("is longer than 52 characters, too long for the name of a tool")
	}
}

// hasServer looks at the file too: a server that has a fault is in no list, and one
// fault is enough.
func (r *agentReader) hasServer(n *file.Node, name string) bool {
	here := n.Section("mcpServers")
	if here.Has(name) {
		return true
	}
	others := config.Of[tool.Servers](r.cfg)
	none := here == nil && len(others) == 0
	return none && name == builtinServer || slices.Contains(others, name)
}

// RouterSection is the section router of the configuration file. stored
// says whether there is a store.
func RouterSection(s *Spec, stored func() bool) file.Section {
	return file.Section{Name: "router", Schema: sectionSchema("router"), Read: func(n *file.Node) {
		s.fillDefaults()
		c := &s.Config
		if _, word := n.Text(); word {
			c.Off = true
			return
		}
		n.Decode(c)
		wantPlaces(n.Get("user_template"), "{request}", "{agents}")
		if c.Sticky == stickyHold && !stored() {
			n.Get("sticky").Fault("hold needs a store: SLUICE_STORE")
		}
		for rule := range n.Get("rules").Members() {
			c.Rules = append(c.Rules, readRule(rule))
		}
	}}
}

// wantPlaces reports a text that lacks a placeholder. A placeholder stands by its name or by its
// number.
func wantPlaces(n *file.Node, placeholders ...string) {
	text, ok := n.Text()
	for i, name := range placeholders {
		if ok && !strings.Contains(text, name) && !strings.Contains(text, fmt.Sprintf("{%d}", i)) {
			n.Fault("must hold " + name)
			return
		}
	}
}

// readRule reads a rule that decides without a model. Its expression is of RE2,
// and so takes linear time on any request.
func readRule(n *file.Node) (r Rule) {
	n.Decode(&r)
	if text, ok := n.Get("match").Text(); ok {
		var err error
		if r.Match, err = regexp.Compile(text); err != nil {
			n.Get("match").Fault("is not a regular expression of RE2")
		}
	}
	return r
}

// DispatchSection is the section dispatch of the configuration file.
func DispatchSection(s *Spec) file.Section {
	return file.Section{Name: "dispatch", Schema: sectionSchema("dispatch"), Read: func(n *file.Node) {
		s.fillDefaults()
		n.Decode(&s.Config.Dispatch)
		n.Decode(s)
	}}
}

// AggregateSection is the section aggregate of the configuration file.
func AggregateSection(s *Spec) file.Section {
	return file.Section{Name: "aggregate", Schema: sectionSchema("aggregate"), Read: func(n *file.Node) {
		s.fillDefaults()
		n.Decode(&s.Config.Aggregate)
	}}
}
