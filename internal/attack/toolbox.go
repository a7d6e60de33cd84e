package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// startWith starts a gateway beside a server with these tools and waits for them.
func (r *run) startWith(ctx context.Context, o options, list ...string) (*gateway, error) {
	o.tools = &tools{strings.Join(list, ","), new(counter)}
	g, err := r.start(ctx, o)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err = g.await(wait, "mcp_connected")
	return g, err
}

// offered counts the tools of /tools whose name begins with prefix.
func (g *gateway) offered(ctx context.Context, prefix string) (n int, err error) {
	got, _, err := g.fetch(ctx, http.MethodGet, "/tools", "")
	if err != nil {
		return 0, err
	}
	var reply struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(got.body), &reply); err != nil {
		return 0, err
	}
	for _, t := range reply.Tools {
		if strings.HasPrefix(t.Name, prefix) {
			n++
		}
	}
	return n, nil
}

// object is a schema with n string properties that have these further members.
func object(n int, members string) string {
	properties := make([]string, n)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"type":"string"%s}`, i, members)
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
}

func patternBomb(ctx context.Context, r *run) error {
	bomb := object(300, `,"pattern":"(`+strings.Repeat("abcdefghij", 10)+`){1000}"`)
	g, err := r.startWith(ctx, options{}, tool("bomb", bomb), tool("harmless", `{"type":"object"}`))
	if err != nil {
		r.note("connecting", false, "< 20s", "%v", err)
	} else {
		n, err := g.offered(ctx, "harmless")
		r.note("the server's other tool", n == 1 && err == nil, "offered", "%d offered", n)
	}
	if g == nil {
		return err
	}
	r.peak("memory at most", g, 150)
	r.cpu("CPU to connect", g, usage{}, 3*time.Second)
	return nil
}

// slowPattern has an argument checked that takes seconds, and beside it a quick one.
func slowPattern(ctx context.Context, r *run) error {
	patterns := []struct{ name, pattern, argument string }{
		{"nested", "(?:" + strings.Repeat("a?", 90) + "){1000}c", strings.Repeat("a", 5000)},
		{"long", "a{1,1000}c", strings.Repeat("a", 900_000)},
	}
	for _, p := range patterns {
		g, err := r.startWith(ctx, options{
			env: []string{"SLUICE_REQUEST_TIMEOUT=3s"},
			model: func(q question, say func(string)) {
				argument := p.argument
				if q.about("quick") {
					argument = "b"
				}
				calling("check", `{"p0":"`+argument+`"}`)(q, say)
			},
		}, tool("check", object(1, fmt.Sprintf(`,"pattern":%q`, p.pattern))), tool("other", `{"type":"object"}`))
		if err != nil {
			return err
		}
		slow := make(chan turn, 1)
		go func() { slow <- g.ask(ctx, "slow", 15*time.Second) }()
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		r.turn("a quick call beside a slow check, "+p.name, g.ask(ctx, "quick", 15*time.Second), time.Second, "stop")
		r.turn("the slow one, 3 s for a turn, "+p.name, <-slow, 4*time.Second, "stop", "timeout")
	}
	return nil
}

func toolsSurplus(ctx context.Context, r *run) error {
	many := make([]string, 1001)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i), `{"type":"object"}`)
	}
	g, err := r.startWith(ctx, options{}, many...)
	if g == nil {
		return err
	}
	n, err := g.offered(ctx, "t")
	if err != nil {
		return err
	}
	r.note("offered of 1,001 tools", n >= 1000, ">= 1000", "%d", n)
	t := g.ask(ctx, "hi", 5*time.Second)
	told := t.count("error", "mcp_unavailable")
	r.note("mcp_unavailable in a turn", told == 0 && t.end() == "stop", "0", "%d", told)
	return nil
}

// manyCalls has the model make more calls in one answer than anybody can want.
func manyCalls(ctx context.Context, r *run) error {
	const chunks, each, cap = 7, 28_000, 128
	one := `{"functionCall":{"name":"a"}}`
	calls := part("[" + strings.Repeat(one+",", each-1) + one + "]")
	g, err := r.start(ctx, options{
		env: []string{"SLUICE_REQUEST_TIMEOUT=2s"},
		model: func(q question, say func(string)) {
			if q.answered() {
				say(text("Done."))
				return
			}
			for range chunks {
				say(calls)
			}
			say(text("So."))
		},
	})
	if err != nil {
		return err
	}
	before, _ := g.usage()
	t := g.ask(ctx, "hi", 12*time.Second)
	r.turn("a turn of 2 s with 196,000 calls", t, 5*time.Second, "stop", "timeout", "model_unavailable")
	r.cpu("CPU for it", g, before, 5*time.Second)
	told := t.count("tool_call", "in_progress")
	r.note("calls that are told", t.err == nil && told <= cap, "<= 128", "%d", told)
	surplus := 0
	for _, e := range t.events {
		if e.name == "error" && e.data.ErrorType == "tool_execution_failed" && strings.Contains(e.raw, fmt.Sprint(chunks*each-cap)) {
			surplus++
		}
	}
	r.note("errors that tell the number of the rest", surplus == 1, "1", "%d", surplus)
	return nil
}
