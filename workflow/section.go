// This file reads the section workflows of the configuration file: it puts defaults in,
// checks what only the reader can know (which keys a type may have, whether there is a
// store, which agents and servers the file names), and hands a Definition to Compile.
// Faults of Compile come back as pointers and are reported at their place in the file.
//
// All faults go to the file.Node, which collects them; nothing here stops at the first.

package workflow

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/config/file"
	"sluice/store"
	"sluice/tool"
)

//go:embed workflows.json
var schema string

// Section is the section workflows of the configuration file. It reads from c, which is
// whole by then, whether there is a store and which MCP servers there are.
func Section(list *[]*Workflow, c *config.Config) file.Section {
	return file.Section{Name: "workflows", Schema: schema, Read: func(all *file.Node) {
		for n := range all.Members() {
			r := reader{at: n, cfg: c, def: Definition{Name: n.Name(), MaxIterations: DefaultIterations, Timeout: DefaultTimeout}}
			if w := r.read(); w != nil {
				*list = append(*list, w)
			}
		}
	}}
}

// reader reads one workflow.
//
// at is the workflow's own object; cfg is what other sections have said.
type reader struct {
	at  *file.Node
	cfg *config.Config
	def Definition
}

// read returns nil if the workflow has a fault.
func (r *reader) read() *Workflow {
	d, n := &r.def, r.at
	take(&d.Description, n.Get("description"))
	take(&d.Kind, n.Get("kind"))
	take(&d.Answer, n.Get("answer"))
	take(&d.Entry, n.Get("entry_point"))
	takeInt(&d.MaxIterations, n.Get("max_iterations"))
	takeDuration(&d.Timeout, n.Get("timeout"), time.Second, 24*time.Hour)
	if days, ok := n.Get("retention_days").Int(); ok {
		d.RetentionDays = &days
	}
	for item := range n.Get("checkpoints").Members() {
		if id, ok := item.Text(); ok {
			d.Checkpoints = append(d.Checkpoints, id)
		}
	}
	if nodes := n.Get("nodes"); nodes != nil {
		r.unused("agent", "critic")
		for node := range nodes.Members() {
			r.node(node)
		}
		r.edges()
		r.used()
	} else {
		r.fromPatterns()
	}
	r.people()
	w, problems := Compile(*d)
	for _, p := range problems {
		r.fault(p)
	}
	if !n.Sound() {
		return nil
	}
	return w
}

// unused refuses keys that have a meaning without nodes only.
func (r *reader) unused(keys ...string) {
	for _, key := range keys {
		if k := r.at.Get(key); k != nil {
			k.FaultKey("is not taken beside nodes: each has its own")
		}
	}
}

// fromPatterns makes the nodes of a workflow that lists patterns alone.
//
// Each pattern becomes one agent node of its name, in a chain in the order of the list.
// That is the short form of a workflow with one agent.
func (r *reader) fromPatterns() {
	patterns := r.at.Get("patterns")
	if patterns == nil {
		r.at.FaultMissing("nodes", "is required where there are no patterns")
		return
	}
	for _, key := range []string{"edges", "entry_point"} {
		if k := r.at.Get(key); k != nil {
			k.FaultKey("is not taken without nodes")
		}
	}
	agent := r.agent(r.at, "agent")
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
			if !r.at.Has("critic") {
				r.at.FaultMissing("critic", "is required of reflection")
			}
			n.Repeat = &Repeat{Critic: r.agent(r.at, "critic"), Until: passed, Max: defaultRounds}
		}
		r.def.Nodes = append(r.def.Nodes, n)
		if before != "" {
			r.def.Edges = append(r.def.Edges, Edge{From: before, To: pattern})
		}
		before = pattern
	}
}

// passed is what a critic's judgement is asked for unless until says otherwise.
const passed = "critic.json.passed"

// keys lists which keys a type of node may have, beside output, repeat and speak.
//
// A type that is not known has the keys of a human node; the type itself is another fault.
func keys(t NodeType) []string {
	switch t {
	case AgentNode:
		return []string{"type", "output", "repeat", "speak", "timeout", "agent", "input", "pattern"}
	case ToolNode:
		return []string{"type", "output", "repeat", "speak", "timeout", "tool", "arguments"}
	case ConditionNode:
		return []string{"type", "output", "expression"}
	}
	return []string{"type", "output", "timeout", "prompt", "schema", "on_timeout", "approvers"}
}

// node reads one node and adds it to the definition, also if it has faults: otherwise each
// edge to it would be reported as well.
func (r *reader) node(at *file.Node) {
	kind, ok := at.Get("type").Text()
	n := Node{ID: at.Name(), Type: NodeType(kind)}
	if !ok { // edges may name it all the same
		r.def.Nodes = append(r.def.Nodes, n)
		return
	}
	for k := range at.Members() {
		if k.Sound() && !slices.Contains(keys(n.Type), k.Name()) {
			k.FaultKey("is not a key of a node of type " + kind)
		}
	}
	least, most := time.Second, 24*time.Hour
	switch n.Type {
	case AgentNode:
		n.Agent = r.agent(at, "agent")
		take(&n.Input, at.Get("input"))
		n.Pattern = PatternReact
		take(&n.Pattern, at.Get("pattern"))
	case ToolNode:
		n.Timeout = defaultToolTimeout
		take(&n.Tool, at.Get("tool"))
		r.tool(at.Get("tool"))
		for a := range at.Get("arguments").Members() {
			n.Arguments = append(n.Arguments, argument(a))
		}
	case ConditionNode:
		take(&n.Expression, at.Get("expression"))
	case HumanNode:
		least, most = time.Minute, 30*24*time.Hour
		r.human(&n, at)
	}
	takeDuration(&n.Timeout, at.Get("timeout"), least, most)
	if b, ok := at.Get("speak").Bool(); ok {
		n.Speak = b
	}
	for o := range at.Get("output").Members() {
		if text, ok := o.Text(); ok {
			n.Output = append(n.Output, Assignment{o.Name(), text})
		}
	}
	n.Repeat = r.repeat(at.Get("repeat"))
	r.def.Nodes = append(r.def.Nodes, n)
}

// argument reads one argument of a tool: a text is an expression, anything else stands for
// itself. A constant text is written as an expression, "'text'".
func argument(at *file.Node) Argument {
	if text, ok := at.Text(); ok {
		return Argument{Name: at.Name(), Expression: text}
	}
	return Argument{Name: at.Name(), Value: at.JSON()}
}

// human reads the keys of a human node. approvers is one word or a list of ids; without it
// only the owner of the task may answer.
func (r *reader) human(n *Node, at *file.Node) {
	n.Timeout, n.OnTimeout, n.Approvers = defaultHumanTimeout, RejectOnTimeout, []string{"owner"}
	take(&n.Prompt, at.Get("prompt"))
	take(&n.OnTimeout, at.Get("on_timeout"))
	if s := at.Get("schema"); s != nil {
		n.Schema = s.JSON()
		if _, _, err := tool.Compile(n.Schema, tool.Room); err != nil && s.Sound() {
			s.Fault("is no JSON Schema of an object that can be used")
		}
	}
	who := at.Get("approvers")
	if word, ok := who.Text(); ok {
		n.Approvers = []string{word}
		return
	}
	if who != nil {
		n.Approvers = nil
	}
	for item := range who.Members() {
		if id, ok := item.Text(); ok {
			n.Approvers = append(n.Approvers, id)
		}
	}
}

// repeat reads the loop of a node; nil: it has none. With a critic the default of until is
// the critic's own judgement.
func (r *reader) repeat(at *file.Node) *Repeat {
	if at == nil {
		return nil
	}
	rep := &Repeat{Critic: r.agent(at, "critic"), Max: defaultRounds}
	if at.Has("critic") {
		rep.Until = passed
	}
	take(&rep.Until, at.Get("until"))
	takeInt(&rep.Max, at.Get("max"))
	if rep.Until == "" {
		at.FaultMissing("until", "is required where there is no critic")
	}
	return rep
}

// agent returns an agent that is in the file. One that is somewhere else has neither steps
// that a journal could keep nor a model that could be asked for a judgement: every run that
// came to it would fail.
func (r *reader) agent(at *file.Node, key string) string {
	id, ok := at.Get(key).Text()
	switch agents := at.Section("agents"); {
	case !ok:
	case !agents.Has(id):
		at.Get(key).Fault("there is no such agent")
	case agents.Get(id).Has("card"):
		at.Get(key).Fault("names a remote agent: only those of this file can work in a node")
	}
	return id
}

// tool warns of a server that there is not. Which tools a server has, it tells only when
// it runs.
func (r *reader) tool(at *file.Node) {
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

// edges reads the edges. One whose to is an object becomes an edge for each member, so that
// the graph knows simple edges only.
func (r *reader) edges() {
	i := 0
	for at := range r.at.Get("edges").Members() {
		where := "/edges/" + strconv.Itoa(i)
		i++
		var e Edge
		take(&e.From, at.Get("from"))
		take(&e.Condition, at.Get("condition"))
		e.at = where
		if to, ok := at.Get("to").Text(); ok {
			e.To = to
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
			take(&one.To, to)
			r.def.Edges = append(r.def.Edges, one)
		}
	}
	if len(r.def.Edges) > maxEdges {
		r.at.Get("edges").Fault("must not be more than 1,000")
	}
}

// used wants the patterns of the file to be those of its nodes.
func (r *reader) used() {
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
			item.Fault("no node has this pattern")
		}
	}
	for i := range r.def.Nodes {
		if p := r.def.Nodes[i].Pattern; p != "" && !slices.Contains(listed, p) {
			patterns.Fault("does not list " + p + ", which a node has")
			return
		}
	}
}

// people refuses questions to people where a run cannot wait.
func (r *reader) people() {
	location, err := store.ParseLocation(r.cfg.Store.Reveal())
	if err != nil || location.Kind != store.None {
		return
	}
	const needsStore = "needs a store, and there is none (SLUICE_STORE)"
	if c := r.at.Get("checkpoints"); c != nil {
		c.FaultKey(needsStore)
	}
	for n := range r.at.Get("nodes").Members() {
		if kind, _ := n.Get("type").Text(); kind == string(HumanNode) {
			n.Get("type").Fault(needsStore)
		}
	}
}

// fault reports a Problem at its place in the file, unless there is a fault already:
// what could not be read is missing in the definition.
func (r *reader) fault(p Problem) {
	found := r.at
	for token := range p.Pointer.Tokens() {
		next := found.Get(token)
		if i, err := strconv.Atoi(token); next == nil && err == nil {
			next = itemOf(found, i)
		}
		if next == nil {
			if found.IsObject() { // else it has a fault itself
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

// itemOf returns an item of a list; nil: there is none.
func itemOf(list *file.Node, i int) *file.Node {
	for m := range list.Members() {
		if i == 0 {
			return m
		}
		i--
	}
	return nil
}

// These put the value of a key in its place. A key that is absent, or has a fault
// already, changes nothing.

func take(p *string, n *file.Node) {
	if s, ok := n.Text(); ok {
		*p = s
	}
}

func takeInt(p *int, n *file.Node) {
	if i, ok := n.Int(); ok {
		*p = i
	}
}

// least and most are inclusive; outside of them the fault names both.
func takeDuration(p *time.Duration, n *file.Node, least, most time.Duration) {
	text, ok := n.Text()
	if !ok {
		return
	}
	d, err := parseDuration(text)
	if err != nil || d < least || d > most {
		n.Fault(fmt.Sprintf("must be a duration from %s to %s, with its unit, such as 90s, 72h or 7d", durationText(least), durationText(most)))
		return
	}
	*p = d
}

const day = 24 * time.Hour

// parseDuration takes days as well, of which time.ParseDuration knows nothing.
func parseDuration(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		return time.Duration(n) * day, err
	}
	return time.ParseDuration(text)
}

// durationText writes a bound as an author would: 30d, 10m, 1s.
func durationText(d time.Duration) string {
	if d > day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := config.DurationText(d)
	for _, empty := range []string{"m0s", "h0m"} { // 10m, not 10m0s
		if strings.HasSuffix(text, empty) {
			text = text[:len(text)-2]
		}
	}
	return text
}
