// This file reads the section workflows of the configuration file: it puts defaults in, checks the
// file, and hands a Definition to Compile. Only the reader knows the keys of a type, the store, and
// the agents and servers of the file. Faults of Compile come back as pointers and are reported at
// their place in the file.
//
// All faults go to the file.Node, which collects them; nothing here stops at the first.

package graph

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/state/store"
	"sluice/internal/turn/tool"
)

// schema lacks the names of the kinds.
//
//go:embed workflows.json
var schema string

// Section is the section workflows of the configuration file. It reads from c whether there is a
// store and which MCP servers exist; c is complete by then. Each node is of one of the kinds.
func Section(list *[]*Workflow, c *config.Config, kinds []Kind) file.Section {
	types := strings.Replace(schema, `"enum": []`, `"enum": [`+kindNames(kinds)+`]`, 1)
	return file.Section{Name: "workflows", Schema: types, Read: func(all *file.Node) {
		for n := range all.Members() {
			r := reader{at: n, cfg: c, kinds: kinds, def: Definition{MaxIterations: defaultIterations, Timeout: defaultTimeout}}
			if w := r.readWorkflow(); w != nil {
				*list = append(*list, w)
			}
		}
	}}
}

// reader reads one workflow.
//
// at is the workflow's own object; cfg is what other sections have said.
type reader struct {
	at    *file.Node
	cfg   *config.Config
	kinds []Kind
	def   Definition
}

// readWorkflow returns nil if the workflow has a fault.
func (r *reader) readWorkflow() *Workflow {
	d, n := &r.def, r.at
	n.Decode(d)
	if nodes := n.Get("nodes"); nodes != nil {
		r.refuseWithNodes("agent", "critic")
		for node := range nodes.Members() {
			r.readNode(node)
		}
		r.readEdges()
		r.checkPatterns()
	} else {
		r.fromPatterns()
	}
	r.checkPeople()
	if n.Section("agents").Has(n.Name()) {
		n.FaultKey("is the name of an agent: a workflow needs another one")
	}
	w, problems := Compile(*d, r.kinds)
	if w != nil {
		problems = w.blindRetries(config.Of[tool.Reporting](r.cfg))
	}
	for _, p := range problems {
		r.reportProblem(p)
	}
	if !n.Sound() {
		return nil
	}
	return w
}

// refuseWithNodes refuses keys that have a meaning without nodes only.
func (r *reader) refuseWithNodes(keys ...string) {
	for _, key := range keys {
		if k := r.at.Get(key); k != nil {
			k.FaultKey("is not taken beside nodes: each has its own")
		}
	}
}

// fromPatterns makes the nodes of a workflow that lists patterns alone.
//
// Each pattern becomes one agent node of its name, in a chain in the order of the list. It is the
// short form of a workflow with one agent.
func (r *reader) fromPatterns() {
	patterns := r.at.Get("patterns")
	if patterns == nil {
		r.at.FaultMissing("nodes", "is required where there are no patterns")
		return
	}
	r.refuseKeys("edges", "entry_point")
	agent := r.readAgent(r.at, "agent")
	if !r.at.Has("agent") {
		r.at.FaultMissing("agent", "is required where there are no nodes")
	}
	var before string
	for item := range patterns.Members() {
		pattern, ok := item.Text()
		if !ok {
			continue
		}
		n := Node{ID: pattern, Type: AgentNode, Agent: agent, Pattern: pattern}
		if pattern == PatternReflection {
			n.Repeat = r.reflectionRepeat()
		}
		r.def.Nodes = append(r.def.Nodes, n)
		if before != "" {
			r.def.Edges = append(r.def.Edges, Edge{From: before, To: pattern})
		}
		before = pattern
	}
}

// refuseKeys refuses keys that say nothing without nodes.
func (r *reader) refuseKeys(keys ...string) {
	for _, key := range keys {
		if k := r.at.Get(key); k != nil {
			k.FaultKey("is not taken without nodes")
		}
	}
}

// reflectionRepeat returns how the node of that pattern is repeated.
func (r *reader) reflectionRepeat() *Repeat {
	if !r.at.Has("critic") {
		r.at.FaultMissing("critic", "is required of reflection")
	}
	return &Repeat{Critic: r.readAgent(r.at, "critic"), Until: passed, Max: defaultRounds}
}

// passed is the default of until for a node with a critic.
const passed = "critic.json.passed"

// readNode reads one node and adds it to the definition, also if it has faults: otherwise each
// edge to it would be reported as well.
func (r *reader) readNode(at *file.Node) {
	name, ok := at.Get("type").Text()
	if !ok { // edges may name it all the same
		r.def.Nodes = append(r.def.Nodes, Node{ID: at.Name()})
		return
	}
	n := Node{Type: NodeType(name)}
	kind := kindOf(r.kinds, n.Type)
	keys := append(kind.Keys(), "type", "output")
	for k := range at.Members() {
		if k.Sound() && !slices.Contains(keys, k.Name()) {
			k.FaultKey("is not a key of a node of type " + name)
		}
	}
	kind.Default(&n)
	r.readValues(at, &n, keys)
	at.Decode(&n)
	least, most := kind.Bounds()
	at.Get("timeout").Duration(&n.Timeout, least, most)
	n.Repeat = r.readRepeat(at.Get("repeat"))
	r.def.Nodes = append(r.def.Nodes, n)
}

// readValues reads the fields of Node that its tags do not describe, and checks references to the
// rest of the file. Keys that the node must not have are left alone.
func (r *reader) readValues(at *file.Node, n *Node, keys []string) {
	if slices.Contains(keys, "agent") {
		r.readAgent(at, "agent")
	}
	if slices.Contains(keys, "tool") {
		r.checkTool(at.Get("tool"))
	}
	if slices.Contains(keys, "arguments") {
		for a := range at.Get("arguments").Members() {
			n.Arguments = append(n.Arguments, readArgument(a))
		}
	}
	if slices.Contains(keys, "schema") {
		checkSchema(at.Get("schema"))
	}
}

func checkSchema(s *file.Node) {
	if s == nil || !s.Sound() {
		return
	}
	if _, _, err := tool.Compile(s.JSON(), tool.Room); err != nil {
		s.Fault("is no JSON Schema of an object that can be used")
	}
}

// readArgument reads one argument of a tool: a text is an expression, anything else stands for
// itself. A constant text is written as an expression, "'text'".
func readArgument(at *file.Node) Argument {
	if text, ok := at.Text(); ok {
		return Argument{Name: at.Name(), Expression: text}
	}
	return Argument{Name: at.Name(), Value: at.JSON()}
}

// readRepeat reads the loop of a node; it returns nil without one. With a critic the default of
// until is the critic's own judgement.
func (r *reader) readRepeat(at *file.Node) *Repeat {
	if at == nil {
		return nil
	}
	rep := &Repeat{Max: defaultRounds}
	if at.Has("critic") {
		r.readAgent(at, "critic")
		rep.Until = passed
	}
	at.Decode(rep)
	if rep.Until == "" {
		at.FaultMissing("until", "is required where there is no critic")
	}
	return rep
}

// readAgent returns an agent that is in the file. A remote agent lacks steps for the journal and a
// model for a judgement: every run that came to it would fail.
func (r *reader) readAgent(at *file.Node, key string) string {
	id, ok := at.Get(key).Text()
	switch agents := at.Section("agents"); {
	case !ok:
	case !agents.Has(id):
		at.Get(key).Fault(file.Unknown("agent", id, agents.Names()))
	case agents.Get(id).Has("card"):
		at.Get(key).Fault("names a remote agent: only those of this file can work in a node")
	}
	return id
}

// checkTool warns of a server that does not exist. A server reports which tools it has only when it
// runs.
func (r *reader) checkTool(at *file.Node) {
	name, ok := at.Text()
	if !ok {
		return
	}
	server, _, _ := strings.Cut(name, "/")
	here := at.Section("mcpServers")
	others := config.Of[tool.Servers](r.cfg)
	none := here == nil && len(others) == 0
	if here.Has(server) || none && server == builtinServer || slices.Contains(others, server) {
		return
	}
	at.Warn("names a server that is not in mcpServers: the node will fail")
}

// builtinServer is the server that there is if none is configured.
const builtinServer = "todo"

// readEdges reads the edges. If the to of an edge is an object, each member becomes an edge, so
// that the graph has simple edges only.
func (r *reader) readEdges() {
	i := 0
	for at := range r.at.Get("edges").Members() {
		where := "/edges/" + strconv.Itoa(i)
		i++
		e := Edge{at: where}
		at.Decode(&e)
		if _, ok := at.Get("to").Text(); ok {
			r.def.Edges = append(r.def.Edges, e)
			continue
		}
		for to := range at.Get("to").Members() {
			one := e
			one.mapped, one.Match, one.Default = true, to.Name(), to.Name() == "default"
			if one.Default {
				one.Match = ""
			}
			one.at = string(jsontext.Pointer(where + "/to").AppendToken(to.Name()))
			one.To, _ = to.Text()
			r.def.Edges = append(r.def.Edges, one)
		}
	}
	if len(r.def.Edges) > maxEdges {
		r.at.Get("edges").Fault("must not be more than 1,000")
	}
}

// checkPatterns warns of patterns that are not those of the nodes: the nodes decide.
func (r *reader) checkPatterns() {
	patterns := r.at.Get("patterns")
	if patterns == nil {
		return
	}
	var listed []string
	for item := range patterns.Members() {
		pattern, ok := item.Text()
		if !ok {
			continue
		}
		listed = append(listed, pattern)
		if !slices.ContainsFunc(r.def.Nodes, func(n Node) bool { return n.Pattern == pattern }) {
			item.Warn("no node has this pattern")
		}
	}
	i := slices.IndexFunc(r.def.Nodes, func(n Node) bool { return n.Pattern != "" && !slices.Contains(listed, n.Pattern) })
	if i >= 0 {
		patterns.Warn("does not list " + r.def.Nodes[i].Pattern + ", which a node has")
	}
}

// checkPeople refuses questions to people where a run cannot wait.
func (r *reader) checkPeople() {
	if config.Of[store.Config](r.cfg).On() {
		return
	}
	const needsStore = "needs a store, and there is none; try SLUICE_STORE=memory"
	if c := r.at.Get("checkpoints"); c != nil {
		c.FaultKey(needsStore)
	}
	for n := range r.at.Get("nodes").Members() {
		if name, _ := n.Get("type").Text(); kindOf(r.kinds, NodeType(name)).Asks() {
			n.Get("type").Fault(needsStore)
		}
	}
}

// reportProblem reports a Problem at its place in the file, unless there is a fault already:
// unreadable values are missing in the definition.
func (r *reader) reportProblem(p Problem) {
	found := r.at
	for token := range p.Pointer.Tokens() {
		next := childOf(found, token)
		if next == nil {
			if found.Kind() == '{' { // else it has a fault itself
				found.FaultMissing(token, p.Text)
			}
			return
		}
		found = next
	}
	if !found.Sound() {
		return
	}
	for range found.Variables() { // the compiler's words quote the text, and with it their values
		p.Text, _, _ = strings.Cut(p.Text, ":")
	}
	found.Fault(p.Text)
}

// childOf returns the member of a node, or the item of a list, that a token of a pointer names; or
// nil.
func childOf(n *file.Node, token string) *file.Node {
	member := n.Get(token)
	if i, err := strconv.Atoi(token); member == nil && err == nil {
		return itemOf(n, i)
	}
	return member
}

// itemOf returns an item of a list, or nil.
func itemOf(list *file.Node, i int) *file.Node {
	for m := range list.Members() {
		if i == 0 {
			return m
		}
		i--
	}
	return nil
}
