// This file makes a Workflow of a Definition. Each step reports all faults that it finds, and the
// steps continue after a fault if they can. So the author sees the whole list at once, as Problems
// with pointers into the file.
//
// It stands on graph.go for order and cycles, and on expression.go and template.go for
// texts. It leaves to the gateway whether agents and tools exist, for that can change while
// the program runs.

package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxCycles is how many cycles of one workflow are reported.
const maxCycles = 10

// Workflow is a Definition that can be run. It never changes.
//
// Runs share it between goroutines without a lock. text and sum are the stored form and its
// SHA-256. Runs are pinned to them.
type Workflow struct {
	def   Definition
	text  []byte
	sum   string
	nodes []*Vertex // in the graph's order
	byID  map[string]*Vertex
	edges []*edge
	entry *Vertex
}

// Compile makes a Workflow of a Definition, or lists all that is wrong with it. Whether
// there are such agents and tools it does not know.
//
// The definition's Entry is filled in if it is empty and only one node can be it. Problems
// are in the order of the steps, not of the file. The size of pinned agents does not count
// for the bound: they are the gateway's and not the author's.
func Compile(def Definition, kinds []Kind) (*Workflow, []Problem) {
	c := compiler{w: &Workflow{def: def, byID: map[string]*Vertex{}}, kinds: kinds}
	c.joinGraph()
	c.checkTypes()
	c.orderNodes()
	c.compileNodes()
	c.compileEdges()
	c.checkNames()
	var err error
	if c.w.text, c.w.sum, err = def.encodeStored(); err != nil {
		c.addProblem("", "cannot be stored")
	}
	if len(c.w.text)-len(def.Agents) > maxDefinition {
		c.addProblem("", "must not be longer than 256 KiB")
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.w, nil
}

// Read compiles a stored Definition.
//
// It accepts only what Compile accepts; of several faults it returns the first. The fault
// is a Problem.
func Read(text []byte, kinds []Kind) (*Workflow, error) {
	var def Definition
	if err := json.Unmarshal(text, &def); err != nil {
		return nil, err
	}
	w, problems := Compile(def, kinds)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return w, nil
}

// Definition returns the compiled definition. It must not be changed.
func (w *Workflow) Definition() *Definition { return &w.def }

// Stored returns the definition's JSON, which Read takes, and its SHA-256.
func (w *Workflow) Stored() (text []byte, sum string) { return w.text, w.sum }

// Sum is the definition's SHA-256, in hexadecimal digits.
func (w *Workflow) Sum() string { return w.sum }

// Nodes returns the nodes in an order without edges that lead back.
func (w *Workflow) Nodes() []*Vertex { return w.nodes }

// Node returns the node of that name, or nil.
func (w *Workflow) Node(id string) *Vertex { return w.byID[id] }

// Entry returns the node that a run begins with.
func (w *Workflow) Entry() *Vertex { return w.entry }

// Pinned returns the workflow with settings of agents, to which its runs are pinned too:
// one JSON value.
//
// w itself stays as it is. The nodes are shared, since nothing in them depends on the agents. The
// error is that of agents that are not JSON.
func (w *Workflow) Pinned(agents jsontext.Value) (*Workflow, error) {
	own := *w
	own.def.Agents = agents
	var err error
	own.text, own.sum, err = own.def.encodeStored()
	return &own, err
}

// Agents returns the agents that the workflow names, critics among them.
func (w *Workflow) Agents() (ids []string) {
	for _, n := range w.def.Nodes {
		if n.Agent != "" {
			ids = append(ids, n.Agent)
		}
		if n.Repeat != nil && n.Repeat.Critic != "" {
			ids = append(ids, n.Repeat.Critic)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// NeedsStore reports whether a person is asked.
//
// A question outlives its stream, and without a store nothing would be there to continue with.
func (w *Workflow) NeedsStore() bool {
	return len(w.def.Checkpoints) > 0 || slices.ContainsFunc(w.nodes, func(n *Vertex) bool { return n.Kind.Asks() })
}

// compiler is the state of one Compile. Steps put nil where something could not be
// compiled, and later steps look for that before they use it.
type compiler struct {
	w        *Workflow
	kinds    []Kind
	list     []*Vertex // in the order of the file
	problems []Problem
}

// addProblem adds a fault at a JSON pointer below the workflow. The text is read after the
// name of the place: "must be from 1 to 20".
func (c *compiler) addProblem(pointer, format string, args ...any) {
	c.problems = append(c.problems, Problem{jsontext.Pointer(pointer), fmt.Sprintf(format, args...)})
}

// nodePointer returns the pointer of a node, or of its value under these keys.
func nodePointer(n *Vertex, keys ...string) string {
	return string(pointerTo(jsontext.Pointer("/nodes").AppendToken(n.ID), keys...))
}

// joinGraph makes the graph. Edges of nodes that do not exist are left out.
//
// The edge itself stays in the list, so that its other faults are found too; but no node
// has it, so the steps on the graph need not look for nil.
func (c *compiler) joinGraph() {
	w := c.w
	for i := range w.def.Nodes {
		n := &Vertex{Node: w.def.Nodes[i], Kind: kindOf(c.kinds, w.def.Nodes[i].Type), file: i}
		c.list = append(c.list, n)
		w.byID[n.ID] = n
	}
	for i, e := range w.def.Edges {
		c.connectEdge(&edge{Edge: e, number: i, from: w.byID[e.From], to: w.byID[e.To]})
	}
}

// connectEdge adds an edge to the list, and to its nodes if both exist.
func (c *compiler) connectEdge(e *edge) {
	if e.at == "" {
		e.at = "/edges/" + strconv.Itoa(e.number)
	}
	if e.from == nil {
		c.addProblem(edgeAt(e)+"/from", "there is no such node")
	}
	if e.to == nil {
		c.addProblem(toAt(e), "there is no such node")
	}
	c.w.edges = append(c.w.edges, e)
	if e.from != nil && e.to != nil {
		e.from.out = append(e.from.out, e)
		e.to.in = append(e.to.in, e)
	}
}

// edgeAt returns where the edge stands in the file; one of a map stands in its to.
func edgeAt(e *edge) string {
	before, _, _ := strings.Cut(e.at, "/to")
	return before
}

// toAt is the pointer of an edge's target: the member of the map, or the key to.
func toAt(e *edge) string {
	if e.mapped {
		return e.at
	}
	return e.at + "/to"
}

// checkTypes checks the required keys of each type of node. The reader of the file checks its other
// keys.
func (c *compiler) checkTypes() {
	for _, n := range c.list {
		for _, p := range n.Kind.Check(n) {
			c.addProblem(nodePointer(n)+string(p.Pointer), "%s", p.Text)
		}
	}
}

// orderNodes finds the entry, the cycles and the unreachable nodes, and sorts the nodes.
//
// Collisions are looked for only in a sound graph: a graph with a cycle lacks an order, and a graph
// without an entry lacks a way for a run.
func (c *compiler) orderNodes() {
	w := c.w
	for _, cycle := range findCycles(c.list, maxCycles) {
		c.addProblem(toAt(cycle[len(cycle)-1]), "closes a cycle: %s", cycleText(cycle))
	}
	if w.entry = c.findEntry(); w.entry != nil {
		c.checkReach()
	}
	var rest []*Vertex
	if w.nodes, rest = sortNodes(c.list); len(rest) > 0 || w.entry == nil {
		return
	}
	for _, x := range findCollisions(w.nodes, w.entry) {
		c.addProblem(nodePointer(x.second, "output", x.second.Output[x.output].Field), "%s puts a value into the same field, and both can run at the same time", x.first.ID)
	}
}

// checkReach reports the nodes that no way leads to.
func (c *compiler) checkReach() {
	seen := reachableNodes(c.w.entry)
	for _, n := range c.list {
		if !seen[n] {
			c.addProblem(nodePointer(n), "is out of reach: no way leads here from %s", c.w.entry.ID)
		}
	}
}

// findEntry returns the node that a run begins with: the named one, or the only one without an
// incoming edge. If it returns nil, it has reported that.
func (c *compiler) findEntry() *Vertex {
	if name := c.w.def.Entry; name != "" {
		n := c.w.byID[name]
		if n == nil {
			c.addProblem("/entry_point", "there is no such node")
		}
		return n
	}
	first := c.unenteredNodes()
	switch len(first) {
	case 1:
		c.w.def.Entry = first[0]
		return c.w.byID[first[0]]
	case 0:
		if len(c.list) > 0 {
			c.addProblem("/entry_point", "is required where each node has an incoming edge")
		}
	default:
		c.addProblem("/entry_point", "is required where several nodes have no incoming edge: %s", strings.Join(first, ", "))
	}
	return nil
}

// unenteredNodes returns the ids of the nodes that no edge leads to.
func (c *compiler) unenteredNodes() (ids []string) {
	for _, n := range c.list {
		if !slices.ContainsFunc(c.w.def.Edges, func(e Edge) bool { return e.To == n.ID }) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// compileNodes compiles what nodes say.
func (c *compiler) compileNodes() {
	for _, n := range c.list {
		c.compileTexts(n)
		c.compileOutput(n)
		if r := n.Repeat; r != nil {
			n.until = c.compileExpression(nodePointer(n, "repeat", "until"), r.Until, true)
			if r.Max < 1 || r.Max > maxRounds {
				c.addProblem(nodePointer(n, "repeat", "max"), "must be from 1 to 20")
			}
		}
	}
}

// compileTexts compiles the expressions and templates that a node has.
func (c *compiler) compileTexts(n *Vertex) {
	if n.Expression != "" {
		n.expression = c.compileExpression(nodePointer(n, "expression"), n.Expression, false)
	}
	if n.Prompt != "" {
		n.prompt = c.compileTemplate(nodePointer(n, "prompt"), n.Prompt)
	}
	if n.Input != "" {
		n.input = c.compileTemplate(nodePointer(n, "input"), n.Input)
	}
	for _, a := range n.Arguments {
		var e *expression
		if a.Value == nil {
			e = c.compileExpression(nodePointer(n, "arguments", a.Name), a.Expression, false)
		}
		n.arguments = append(n.arguments, e)
	}
}

// compileOutput checks the fields that a node puts values into, and compiles their expressions.
// Two assignments of one node must not overlap, because neither is the later one. A key of
// metadata has 1 to 128 bytes.
func (c *compiler) compileOutput(n *Vertex) {
	for i, o := range n.Output {
		where := nodePointer(n, "output", o.Field)
		switch key, isKey := strings.CutPrefix(o.Field, metadataPrefix); {
		case isKey && key != "" && len(key) <= 128:
		case o.Field == FieldRouting, o.Field == FieldAction, o.Field == FieldMetadata:
		default:
			c.addProblem(where, "must be routing_key, next_action, metadata or metadata.KEY")
		}
		if slices.ContainsFunc(n.Output[:i], func(w Assignment) bool { return fieldsOverlap(w.Field, o.Field) }) {
			c.addProblem(where, "the node puts a value into this field already")
		}
		n.output = append(n.output, c.compileExpression(where, o.Expression, false))
	}
}

// compileExpression compiles one, or reports why not and returns nil. condition: its value must be
// true or false.
func (c *compiler) compileExpression(where, source string, condition bool) *expression {
	e, err := newExpression(source, condition)
	if err != nil {
		c.addProblem(where, "%s", err)
	}
	return e
}

// compileTemplate is expression for texts with {{ }}.
func (c *compiler) compileTemplate(where, text string) *template {
	t, err := parseTemplate(text)
	if err != nil {
		c.addProblem(where, "%s", err)
	}
	return t
}

// compileEdges compiles conditions, and looks for edges that could never be taken.
//
// It also notes on a node that one of its edges looks at result.is_error or result.unknown. Such a node may
// fail without ending the run, as the author has said what happens then.
func (c *compiler) compileEdges() {
	for _, e := range c.w.edges {
		c.compileEdge(e)
	}
	for _, n := range c.list {
		if n.Kind.Chooses() {
			c.checkChoices(n)
		}
	}
}

func (c *compiler) compileEdge(e *edge) {
	if e.Condition != "" {
		if e.condition = c.compileExpression(e.at+"/condition", e.Condition, true); e.mapped {
			c.addProblem(e.at, "is an object: its edge has no condition")
		}
	}
	if e.from == nil {
		return
	}
	if e.condition.seesOutcome() {
		e.from.Forgiving = true
	}
	if e.mapped && !e.from.Kind.Chooses() {
		c.addProblem(edgeAt(e)+"/to", "may be an object at a condition only")
	}
}

// checkChoices checks the edges of a condition, which takes one.
//
// An edge without a condition and the default of a map mean the same, so that there is one
// of them at most. More than one would hide all but the first.
func (c *compiler) checkChoices(n *Vertex) {
	var always *edge
	seen := map[string]bool{}
	for _, e := range n.out {
		switch {
		case e.mapped && !e.Default:
			if seen[e.Match] {
				c.addProblem(e.at, "this value leads elsewhere already")
			}
			seen[e.Match] = true
		case e.Condition != "":
		case always != nil:
			c.addProblem(toAt(e), "is never taken: another edge of this condition is taken where nothing else fits")
		default:
			always = e
		}
	}
	c.checkExpression(n)
}

// checkExpression wants an expression of a condition whose edges are those of a map, and of no other.
func (c *compiler) checkExpression(n *Vertex) {
	mapped := slices.ContainsFunc(n.out, func(e *edge) bool { return e.mapped })
	switch {
	case mapped && n.Expression == "":
		c.addProblem(nodePointer(n, "expression"), "is required, as the to of an edge is an object")
	case !mapped && n.Expression != "" && len(n.out) > 0:
		c.addProblem(nodePointer(n, "expression"), "is never used: no to of its edges is an object")
	}
}

// checkNames checks the names of nodes in the workflow's own keys.
//
// It marks the nodes that the keys name: nodes of checkpoints, and nodes that speak. Without an
// answer the nodes that speak are those with speak and those that no edge leaves.
func (c *compiler) checkNames() {
	w := c.w
	c.markCheckpoints()
	if w.def.Answer != "" && w.byID[w.def.Answer] == nil {
		c.addProblem("/answer", "there is no such node")
	}
	for _, n := range c.list {
		n.Speaks = n.Speak || n.ID == w.def.Answer || w.def.Answer == "" && len(n.out) == 0
	}
}

func (c *compiler) markCheckpoints() {
	for i, id := range c.w.def.Checkpoints {
		n := c.w.byID[id]
		if n == nil {
			c.addProblem("/checkpoints/"+strconv.Itoa(i), "there is no such node")
			continue
		}
		if n.Kind.Asks() {
			c.addProblem("/checkpoints/"+strconv.Itoa(i), "asks a person itself")
		}
		n.Checkpoint = true
	}
}
