// This file has the attacks by tools: schemas that are expensive to compile or to check,
// more tools or calls than anyone needs.

package main

import (
	"fmt"
	"strings"
	"time"
)

// withTools returns o with a server of these tools, which mcp_connected reports.
func (o options) withTools(list ...string) options {
	o.tools = &tools{list: strings.Join(list, ","), calls: new(counter)}
	return o
}

// awaitTools waits for the tools.
func (r *run) awaitTools(g *gateway) {
	_, err := g.awaitEvent("mcp_connected", 20*time.Second)
	r.Must(err)
}

// objectSchema returns a schema with n string properties that have these further members.
func objectSchema(n int, members string) string {
	properties := make([]string, n)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"type":"string"%s}`, i, members)
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
}

// patternBomb offers a tool of 40 KB whose patterns, compiled, take gigabytes.
func patternBomb(r *run) {
	bomb := objectSchema(300, `,"pattern":"(`+strings.Repeat("abcdefghij", 10)+`){1000}"`)
	g := r.mustStart(options{}.withTools(toolEntry("bomb", bomb), toolEntry("harmless", `{"type":"object"}`)))
	_, err := g.awaitEvent("mcp_connected", 20*time.Second)
	r.checkCost(g, usage{}, 3*time.Second, 150)
	r.Must(err)
	n, err := g.countTools("harmless")
	r.Must(err)
	r.Exactly("the server's other tool is offered", n, 1)
}

// slowPattern has an argument checked that takes seconds, and next to it a quick one.
func slowPattern(r *run) {
	for _, p := range []struct{ name, pattern, argument string }{
		{"nested", "(?:" + strings.Repeat("a?", 90) + "){1000}c", strings.Repeat("a", 5000)},
		{"long", "a{1,1000}c", strings.Repeat("a", 900_000)},
	} {
		g := r.mustStart(options{env: []string{"SLUICE_REQUEST_TIMEOUT=3s"}, model: func(q question, say func(string)) {
			argument := p.argument
			if q.mentions("quick") {
				argument = "b"
			}
			callingModel("check", `{"p0":"`+argument+`"}`)(q, say)
		}}.withTools(toolEntry("check", objectSchema(1, fmt.Sprintf(`,"pattern":%q`, p.pattern)))))
		r.awaitTools(g)
		slow := make(chan turn, 1)
		go func() { slow <- g.runTurn("slow", 12*time.Second) }()
		time.Sleep(time.Second) // until the check has begun
		r.checkTurn("a quick call beside a slow check, "+p.name, g.runTurn("quick", 12*time.Second), time.Second, "stop")
		r.checkTurn("the slow one, in a turn of 3 s", <-slow, 4*time.Second, "stop", "timeout")
	}
}

// toolsSurplus offers one tool too many.
func toolsSurplus(r *run) {
	many := make([]string, 1001)
	for i := range many {
		many[i] = toolEntry(fmt.Sprint("t", i), `{"type":"object"}`)
	}
	g := r.mustStart(options{}.withTools(many...))
	r.Pause(time.Second)
	n, err := g.countTools("t")
	r.Must(err)
	r.Check("offered of 1,001 tools", n >= 1000, ">= 1000", "%d", n)
	r.Exactly("mcp_unavailable in a turn", g.runTurn("hi", 5*time.Second).countEvents("error", "mcp_unavailable"), 0)
}

// manyCalls has the model make more calls in one answer than anybody can want.
func manyCalls(r *run) {
	const chunks, each, most = 7, 28_000, 128
	one := `{"functionCall":{"name":"a"}}`
	calls := partialAnswer("[" + strings.Repeat(one+",", each-1) + one + "]")
	g := r.mustStart(options{env: []string{"SLUICE_REQUEST_TIMEOUT=2s"}, model: func(q question, say func(string)) {
		if q.hasResults() {
			say(textAnswer("Done."))
			return
		}
		for range chunks {
			say(calls)
		}
		say(textAnswer("So."))
	}})
	before, _ := g.usage()
	t := g.runTurn("hi", 12*time.Second)
	r.checkTurn("a turn of 2 s with 196,000 calls", t, 5*time.Second, "stop", "timeout")
	r.checkCost(g, before, 5*time.Second, 150)
	r.atMost("calls that are told", t.countEvents("tool_call", `"in_progress"`), most)
	r.Exactly("errors that tell the number of the rest", t.countEvents("error", fmt.Sprint(chunks*each-most)), 1)
}
