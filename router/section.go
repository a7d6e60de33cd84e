// This file reads the sections agents, router, dispatch and aggregate of the configuration
// file. All of them fill one Spec, in whichever order they come. Bounds that a JSON Schema
// can say are in the schemas beside this file; here is what it cannot: references to other
// sections, durations, files.

package router

import (
	"embed"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/config"
	"sluice/config/file"
	"sluice/tool"
)

// Spec is what the configuration file says of a team. Its zero value is a file that
// says nothing of one.
type Spec struct {
	Agents []AgentSpec
	// Config lacks Agents and Asker. It holds the defaults once a section was read; see
	// Settled.
	Config Config
	// TurnTimeout bounds a turn of the team; 0: DefaultTurnTimeout.
	TurnTimeout time.Duration

	begun bool
}

// DefaultTurnTimeout is how long a turn of a team may take.
const DefaultTurnTimeout = time.Minute

// Settled returns s with the defaults where the file says nothing.
func (s Spec) Settled() Spec {
	s.begin()
	if s.TurnTimeout == 0 {
		s.TurnTimeout = DefaultTurnTimeout
	}
	return s
}

// begin fills in the defaults once, whichever section comes first.
func (s *Spec) begin() {
	if !s.begun {
		s.begun, s.Config = true, Defaults()
	}
}

// AgentSpec is one agent of the configuration file.
type AgentSpec struct {
	ID, Name, Description  string // Name is empty if there is none
	Capabilities, Examples []string
	// Role is the first line of the system prompt, and Prompt the rest; empty: none, and
	// the built-in one.
	Role, Prompt string
	Model        string   // a key; empty: the default model
	Temperature  *float64 // nil: none is asked for
	MaxTokens    int      // 0: the model's
	Tools        []string // server, or server/tool
	MaxSteps     int
	Timeout      time.Duration // 0: Dispatch.Timeout
	Hidden       bool          // from the router
	Closed       bool          // it has no A2A endpoint of its own
	Delegates    []string      // ids of agents that it may call
	// Remote is where a remote agent is; nil: it runs here. Then Role to MaxSteps say nothing.
	Remote *Remote `json:",omitempty"`
}

// Defaults of an AgentSpec.
const (
	defaultTemperature = 0.7
	defaultSteps       = 10
)

// builtinServer is the server that there is if none is configured.
const builtinServer = "todo"

const (
	maxPrompt   = 32 << 10
	maxTemplate = 16 << 10
)

// schemas are the JSON Schemas of the sections, a file each.
//
//go:embed agents.json router.json dispatch.json aggregate.json
var schemas embed.FS

// schema returns the JSON Schema of a section. A name that has none is a mistake in this
// package, which its tests find: no section could be read at all.
func schema(section string) string {
	text, err := schemas.ReadFile(section + ".json")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// AgentsSection is the section agents of the configuration file. It reads which MCP
// servers there are from c, which is whole by then.
func AgentsSection(s *Spec, c *config.Config) file.Section {
	return file.Section{Name: "agents", Schema: schema("agents"), Read: func(agents *file.Node) {
		s.begin()
		for n := range agents.Members() {
			r := agentReader{node: n, cfg: c, spec: AgentSpec{ID: n.Name()}}
			r.read()
			s.Agents = append(s.Agents, r.spec)
		}
	}}
}

// agentReader reads one agent of the file.
//
// A fault is reported at its node and reading goes on.
type agentReader struct {
	node *file.Node
	cfg  *config.Config
	spec AgentSpec
}

// read reads all fields, so that all faults of an agent come at once.
func (r *agentReader) read() {
	s, n := &r.spec, r.node
	take(&s.Description, n.Get("description"))
	take(&s.Name, n.Get("name"))
	take(&s.Role, n.Get("role"))
	r.remote()
	s.Capabilities = texts(n.Get("capabilities"))
	s.Examples = texts(n.Get("examples"))
	r.prompt()
	s.Model = modelKey(n.Get("model"))
	s.Temperature = temperature(n.Get("temperature"), defaultTemperature)
	s.MaxTokens, _ = n.Get("max_output_tokens").Int()
	s.MaxSteps = defaultSteps
	if steps, ok := n.Get("max_steps").Int(); ok {
		s.MaxSteps = steps
	}
	takeDuration(&s.Timeout, n.Get("timeout"), time.Second, 10*time.Minute)
	routable, given := n.Get("routable").Bool()
	s.Hidden = given && !routable
	exposed, given := n.Get("exposed").Bool()
	s.Closed = given && !exposed
	for item := range n.Get("tools").Members() {
		r.tool(item)
	}
	for item := range n.Get("delegates").Members() {
		r.delegate(item)
	}
}

// prompt reads the system prompt, from the file itself or from one beside it.
func (r *agentReader) prompt() {
	text, named := r.node.Get("prompt"), r.node.Get("prompt_file")
	if text != nil && named != nil {
		named.FaultKey("is not taken beside prompt")
		return
	}
	if text != nil {
		take(&r.spec.Prompt, text)
		if len(r.spec.Prompt) > maxPrompt {
			text.Fault("must not be longer than 32 KiB")
		}
		return
	}
	r.spec.Prompt, _ = named.TextFile(maxPrompt)
}

// tool reads one entry of the tools. Which tools a server has, it tells only when it
// runs.
func (r *agentReader) tool(item *file.Node) {
	text, ok := item.Text()
	if !ok {
		return
	}
	server, tool, one := strings.Cut(text, "/")
	switch {
	case !r.hasServer(item, server):
		item.Fault("names a server that is not in mcpServers")
		return
	case one && tool == "":
		item.Fault("must be server, or server/tool")
		return
	case one && slices.Contains(r.spec.Tools, server):
		item.Fault("is among all tools of its server, which are listed already")
		return
	}
	r.spec.Tools = append(r.spec.Tools, text)
}

// maxDelegate is the longest id of a delegate: with DelegatePrefix it is a tool's name.
const maxDelegate = 64 - len(DelegatePrefix)

// DelegatePrefix begins the name of the tool that calls another agent.
const DelegatePrefix = "delegate_to_"

// delegate reads one of the agents that the agent may call.
//
// A circle of delegates is allowed here; a session refuses it when it would come about.
func (r *agentReader) delegate(item *file.Node) {
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
	default:
		r.spec.Delegates = append(r.spec.Delegates, id)
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

// RouterSection is the section router of the configuration file. It asks
// settings, which are whole by then, whether there is a store.
func RouterSection(s *Spec, settings *config.Config) file.Section {
	return file.Section{Name: "router", Schema: schema("router"), Read: func(n *file.Node) {
		s.begin()
		c := &s.Config
		if _, word := n.Text(); word {
			c.Off = true
			return
		}
		c.Model = modelKey(n.Get("model"))
		c.Escalate = modelKey(n.Get("escalate"))
		takeFloat(&c.Threshold, n.Get("confidence_threshold"))
		takeInt(&c.MaxAttempts, n.Get("max_attempts"))
		takeDuration(&c.Timeout, n.Get("timeout"), 100*time.Millisecond, time.Minute)
		if t := n.Get("temperature"); t != nil {
			c.Temperature = temperature(t, *Defaults().Temperature)
		}
		takeInt(&c.MaxTokens, n.Get("max_output_tokens"))
		take(&c.Thinking, n.Get("thinking"))
		takeTemplate(&c.SystemPrompt, n.Get("system_prompt"))
		takeTemplate(&c.UserTemplate, n.Get("user_template"), "{request}", "{agents}")
		take(&c.CatalogueHeader, n.Get("catalogue_header"))
		takeBool(&c.Capabilities, n.Get("include_capabilities"))
		takeBool(&c.Examples, n.Get("include_examples"))
		take(&c.ClarificationAgent, n.Get("clarification_agent"))
		take(&c.FallbackAgent, n.Get("fallback_agent"))
		take(&c.ClarificationTemplate, n.Get("clarification_template"))
		take(&c.FallbackTemplate, n.Get("fallback_template"))
		takeInt(&c.MaxClarifications, n.Get("max_clarifications"))
		c.Sticky = readSticky(n.Get("sticky"), c.Sticky, settings.HasStore())
		takeInt(&c.HistoryTurns, n.Get("history_turns"))
		takeInt(&c.MaxConcurrent, n.Get("max_concurrent"))
		for rule := range n.Get("rules").Members() {
			c.Rules = append(c.Rules, readRule(rule))
		}
	}}
}

// readSticky reads how a conversation keeps its agent. store: there is one, which hold
// needs.
func readSticky(n *file.Node, otherwise Sticky, store bool) Sticky {
	word, ok := n.Text()
	if !ok {
		return otherwise
	}
	if Sticky(word) == StickyHold && !store {
		n.Fault("hold needs a store: SLUICE_STORE")
	}
	return Sticky(word)
}

// readRule reads a rule that decides without a model. Its expression is of RE2,
// and so takes linear time on any request.
func readRule(n *file.Node) (r Rule) {
	if text, ok := n.Get("match").Text(); ok {
		var err error
		if r.Match, err = regexp.Compile(text); err != nil {
			n.Get("match").Fault("is not a regular expression of RE2")
		}
	}
	agents := n.Section("agents")
	for item := range n.Get("agents").Members() {
		id, ok := item.Text()
		switch {
		case !ok:
		case !agents.Has(id):
			item.Fault("there is no such agent")
		default:
			r.Agents = append(r.Agents, id)
		}
	}
	return r
}

// DispatchSection is the section dispatch of the configuration file.
func DispatchSection(s *Spec) file.Section {
	return file.Section{Name: "dispatch", Schema: schema("dispatch"), Read: func(n *file.Node) {
		s.begin()
		d := &s.Config.Dispatch
		mode, _ := n.Get("mode").Text()
		d.Sequential = mode == "sequential"
		takeInt(&d.Retries, n.Get("retries"))
		takeDuration(&d.RetryDelay, n.Get("retry_delay"), 0, 30*time.Second)
		takeInt(&d.MaxAgents, n.Get("max_agents"))
		takeDuration(&d.Timeout, n.Get("timeout"), time.Second, 10*time.Minute)
		takeDuration(&s.TurnTimeout, n.Get("turn_timeout"), time.Second, 15*time.Minute)
	}}
}

// AggregateSection is the section aggregate of the configuration file.
func AggregateSection(s *Spec) file.Section {
	return file.Section{Name: "aggregate", Schema: schema("aggregate"), Read: func(n *file.Node) {
		s.begin()
		a := &s.Config.Aggregate
		takeBool(&a.NaturalJoining, n.Get("natural_joining"))
		take(&a.PartialFailure, n.Get("partial_failure_template"))
		take(&a.Failure, n.Get("failure_message"))
		take(&a.Fallback, n.Get("fallback_message"))
	}}
}
