package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// members returns n members of a JSON object or list.
func members(n int, format string) string {
	list := make([]string, n)
	for i := range n {
		list[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

func definition(name, schema string) string {
	return `{"name":"` + name + `","inputSchema":` + schema + `}`
}

func properties(list string) string { return `{"type":"object","properties":{` + list + `}}` }

// A tool whose schema would cost too much is left out and logged; the others work.
func TestCostlySchemasAreLeftOut(t *testing.T) {
	t.Parallel()
	var log logBuffer
	repeated := properties(members(300, `"p%d":{"type":"string","pattern":"(abcdefghij%d){1000}"}`))
	cfg := over(serve(t, newFake(definition("costly", repeated), toolWrite)))
	cfg.Log = log.logger()
	c := newClient(t, cfg)
	if diff := cmp.Diff([]string{"write"}, names(c.Tools(t.Context()))); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, log.String())
	}
	if !strings.Contains(log.String(), `"tool_name":"costly"`) {
		t.Errorf("nothing is logged of it: %s", log.String())
	}
	mustCall(t, c, "write", "ok")
}

func raws(tools []string) []json.RawMessage {
	list := make([]json.RawMessage, len(tools))
	for i, raw := range tools {
		list[i] = json.RawMessage(raw)
	}
	return list
}

// large returns n tools, each of a twelfth of what one server's may be.
func large(n int) []string {
	tools := make([]string, n)
	for i := range n {
		tools[i] = definition(fmt.Sprintf("t%d", i), properties(`"p":{"enum":[`+members(7500, `"%d"`)+`]}`))
	}
	return tools
}

// The tools of one server share a bound, so that many large ones do not add up.
func TestSchemasOfOneServerAreBounded(t *testing.T) {
	t.Parallel()
	var log logBuffer
	cfg := over(serve(t, newFake(append(large(15), toolWrite)...)))
	cfg.Log = log.logger()
	offered := names(newClient(t, cfg).Tools(t.Context()))
	if n := len(offered); n < 8 || n > 14 || offered[0] != "t0" {
		t.Fatalf("%d tools are offered: %v\n%s", n, offered, log.String())
	}
	if offered[len(offered)-1] != "write" {
		t.Error("a small tool behind the large ones is left out")
	}
	if want := fmt.Sprintf(`"tools":%d,"reason":"%v"`, 16-len(offered), tool.ErrNoRoom); strings.Count(log.String(), want) != 1 {
		t.Errorf("it is not logged once that %s: %s", want, log.String())
	}
}

// What was left out for want of room is offered once there is some, and what stays
// is not compiled again.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	all := raws(large(15))
	s := Server{Name: "s"}
	first := newCatalogue(s, all, nil, zerolog.Nop())
	n := len(first.offers)
	if n == len(all) {
		t.Fatal("there is room for all")
	}
	last := func(c *catalogue) *offer {
		i := slices.IndexFunc(c.offers, func(o *offer) bool { return o.name == fmt.Sprint("t", n-1) })
		if i < 0 {
			t.Fatalf("t%d is not offered", n-1)
		}
		return c.offers[i]
	}
	second := newCatalogue(s, all[n-1:n+1], first, zerolog.Nop())
	if len(second.offers) != 2 || last(second) != last(first) {
		t.Errorf("%d tools are offered, want the last one of before and the next", len(second.offers))
	}
}

// Tools that are dropped take room too, or a list of them would be compiled for
// minutes.
func TestDroppedToolsUseRoom(t *testing.T) {
	t.Parallel()
	bad := definition("bad", properties(`"p":{"enum":[`+members(7500, `"%d"`)+`]},"x":{"$dynamicRef":"#x","$dynamicAnchor":"x"}`))
	var tools []string
	for i := range 20 {
		tools = append(tools, bad+strings.Repeat(" ", i))
	}
	var log logBuffer
	newCatalogue(Server{Name: "s"}, raws(tools), nil, log.logger())
	if n := strings.Count(log.String(), `"tool_name":"bad"`); n < 8 || n > 14 {
		t.Errorf("%d tools were compiled needlessly", n)
	}
}

// slowCheck is a tool whose check takes the longest: a pattern that keeps all its
// threads alive.
const slowCheck = `{"properties":{"s":{"pattern":"(?:a?a?a?a?a?a?a?a?a?a?){100}c"}}}`

var slowArguments = jsontext.Value(`{"s":"` + strings.Repeat("a", 20_000) + `"}`)

func TestCallEndsWhileItsArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFake(definition("t", slowCheck))
	c := newClient(t, over(serve(t, f)))
	c.Tools(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, ended := callWith(ctx, c, "t", string(slowArguments))
	wantFault(t, ended, fault.Timeout, false)
	if f.counts("tools/call") != 0 {
		t.Error("the tool was called")
	}
}
