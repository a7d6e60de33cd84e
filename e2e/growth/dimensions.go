// This file has what grows within a gateway.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// requestBody returns the body of a request, with further members.
func requestBody(input, members string) string {
	return fmt.Sprintf(`{"input":%q,"accumulated":false%s}`, input, members)
}

// addProbe adds a size to a series.
func (s *series) addProbe(size int, g *gateway, do func() error) {
	s.probes = append(s.probes, &probe{size: size, pids: []int{g.pid}, do: do})
}

// growChunks has an answer grow.
func growChunks(r *run) {
	g := r.startGateway("", r.modelEnv())
	deltas, whole := &series{name: "deltas alone"}, &series{name: "each with the text so far"}
	for _, n := range r.allowedSizes(100, 500, 1000, 5000, 10_000, 50_000) {
		deltas.addProbe(n, g, g.turnFunc(requestBody(fmt.Sprintf("chunks %d.", n), "")))
	}
	for _, n := range r.allowedSizes(100, 200, 500, 1000, 2000, 5000) {
		whole.addProbe(n, g, g.turnFunc(fmt.Sprintf(`{"input":"chunks %d."}`, n)))
	}
	r.measureSeries(deltas, whole)
	r.printChart(&chart{title: "CPU a chunk, by the chunks of an answer", x: "chunks of an answer", each: true, series: []*series{deltas, whole}})
}

// growTools has the tools grow that each model call offers.
func growTools(r *run) {
	shown, called := &series{name: "a turn, one model call"}, &series{name: "a turn with a tool call"}
	env := r.modelEnv()
	for _, n := range r.allowedSizes(1, 5, 20, 50, 100, 200, 500) {
		g := r.startGateway(r.withTools(n), env)
		shown.addProbe(n, g, g.turnFunc(requestBody("hello", "")))
		called.addProbe(n, g, g.turnFunc(requestBody("call look_up_0.", "")))
	}
	r.measureSeries(shown, called)
	r.printChart(&chart{title: "CPU a turn, by the tools on offer", x: "tools on offer", series: []*series{shown, called}})
}

// growAgents has a catalogue grow. A file has 64 at most.
func growAgents(r *run) {
	routed, named := &series{name: "routed by a model"}, &series{name: "named by the request"}
	env := r.modelEnv()
	for _, n := range r.allowedSizes(1, 2, 4, 8, 16, 32, 64) {
		var b strings.Builder
		b.WriteString("agents:\n")
		for i := range n {
			fmt.Fprintf(&b, "  agent-%d: {description: %q, capabilities: [%q, %q], examples: [%q]}\n", i,
				fmt.Sprintf("Knows all about the subject of number %d", i), "looks things up", "writes short reports", "What is new there?")
		}
		g := r.startGateway(b.String(), env)
		routed.addProbe(n, g, g.turnFunc(requestBody("hello", "")))
		named.addProbe(n, g, g.turnFunc(requestBody("hello", `,"agent":"agent-0"`)))
	}
	r.measureSeries(routed, named)
	r.printChart(&chart{title: "CPU a turn, by the agents of a catalogue", x: "agents of a catalogue", series: []*series{routed, named}})
}

// growNodes has a workflow grow.
func growNodes(r *run) {
	sizes := r.allowedSizes(5, 10, 20, 50, 100, 200)
	env := r.modelEnv()
	config := r.withTools(1) + "workflows:\n"
	kinds := []string{"row", "sides", "choices"}
	for _, n := range sizes {
		config += workflowYAML(fmt.Sprintf("row%d", n), n, row) + workflowYAML(fmt.Sprintf("sides%d", n), n, sides) + workflowYAML(fmt.Sprintf("choices%d", n), n, choices)
	}
	plain, kept := r.startGateway(config, env), r.startGateway(config, env, "SLUICE_STORE=sqlite:"+r.memoryFolder()+"/tasks.db")
	all := []*series{{name: "conditions in a row"}, {name: "tools side by side"}, {name: "tools in a row"}, {name: "the same, kept in SQLite"}}
	for _, n := range sizes {
		body := func(kind string) string { return requestBody("go", fmt.Sprintf(`,"workflow":"%s%d"`, kind, n)) }
		all[0].addProbe(n, plain, plain.turnFunc(body(kinds[2])))
		all[1].addProbe(n, plain, plain.turnFunc(body(kinds[1])))
		all[2].addProbe(n, plain, plain.turnFunc(body(kinds[0])))
		all[3].addProbe(n, kept, kept.turnFunc(body(kinds[0])))
	}
	r.measureSeries(all...)
	r.printChart(&chart{title: "CPU a node, by the nodes of a workflow", x: "nodes of a workflow", each: true, series: all})
}

// workflowYAML returns a workflow of n nodes for a file. shape returns the type of node i, and
// where it leads.
func workflowYAML(name string, n int, shape func(i, n int) (tool bool, to []int)) string {
	var nodes, edges strings.Builder
	for i := range n {
		tool, to := shape(i, n)
		if tool {
			fmt.Fprintf(&nodes, "      n%d: {type: tool, tool: box/look_up_0, arguments: {id: \"'x%d'\"}}\n", i, i)
		} else {
			fmt.Fprintf(&nodes, "      n%d: {type: condition, expression: \"'on'\"}\n", i)
		}
		for _, t := range to {
			if tool {
				fmt.Fprintf(&edges, "      - {from: n%d, to: n%d}\n", i, t)
			} else {
				fmt.Fprintf(&edges, "      - {from: n%d, to: {on: n%d}}\n", i, t)
			}
		}
	}
	return fmt.Sprintf("  %s:\n    max_iterations: 1000\n    nodes:\n%s    edges:\n%s", name, &nodes, &edges)
}

// row is a chain of tools.
func row(i, n int) (bool, []int) { return true, nextNode(i, n) }

// choices is a chain of conditions with a tool at its end.
func choices(i, n int) (bool, []int) { return i == n-1, nextNode(i, n) }

func nextNode(i, n int) []int {
	if i == n-1 {
		return nil
	}
	return []int{i + 1}
}

// sides has all tools but the first and the last one side by side.
func sides(i, n int) (bool, []int) {
	switch i {
	case 0:
		to := make([]int, n-2)
		for k := range to {
			to[k] = k + 1
		}
		return true, to
	case n - 1:
		return true, nil
	}
	return true, []int{n - 1}
}

// historyMessage is one message of a history.
type historyMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// growHistory has two histories grow, in messages of some hundred characters: one that the request
// brings, and one that the gateway remembers.
func growHistory(r *run) {
	env := r.modelEnv()
	const rules = "history: {messages: 500, chars: 2000000}\n"
	brought := &series{name: "brought by the request"}
	g := r.startGateway(rules, env)
	for _, n := range r.allowedSizes(0, 10, 50, 100, 200, 500) {
		messages := make([]historyMessage, n)
		for i := range messages {
			messages[i] = historyMessage{[]string{"user", "assistant"}[i%2], fmt.Sprintf("%3d. ", i) + strings.Repeat("what was said before ", 5)}
		}
		text, err := json.Marshal(messages)
		r.Must(err)
		brought.addProbe(n, g, g.turnFunc(requestBody("hello", `,"history":`+string(text))))
	}
	remembered := &series{name: "remembered by the gateway"}
	g = r.startGateway(rules+"memory: {enabled: true, max_messages: 200, max_tokens: 100000}\n", env, "SLUICE_STORE=memory")
	for _, n := range r.allowedSizes(0, 10, 50, 100, 190) {
		c := &conversations{g: g, size: n}
		remembered.probes = append(remembered.probes, &probe{size: n, pids: []int{g.pid}, do: c.runNext, before: c.prepareConversations, most: 40})
	}
	r.measureSeries(brought, remembered)
	r.printChart(&chart{title: "CPU a turn, by the messages of its history", x: "messages of the history", series: []*series{brought, remembered}})
}

// conversations are some that the gateway remembers, all of one length. Each is used for one turn,
// as that makes it longer.
type conversations struct {
	g     *gateway
	size  int // messages of each
	begun int
	ready []string
}

// prepareConversations makes as many as are needed.
func (c *conversations) prepareConversations(times int) error {
	for len(c.ready) < times {
		id := fmt.Sprintf("conv_%d_%d", c.size, c.begun)
		c.begun++
		for range c.size / 2 {
			if err := c.g.turnFunc(requestBody(strings.Repeat("what was said before ", 10), `,"conversation_id":"`+id+`"`))(); err != nil {
				return err
			}
		}
		c.ready = append(c.ready, id)
	}
	return nil
}

// runNext runs the turn that follows in one of them.
func (c *conversations) runNext() error {
	id := c.ready[0]
	c.ready = c.ready[1:]
	return c.g.turnFunc(requestBody("hello", `,"conversation_id":"`+id+`"`))()
}
