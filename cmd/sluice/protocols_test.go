package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
)

// clerk is a model that uses two tools at once and then says what they said.
type clerk struct{}

func (clerk) Version() string { return "clerk" }

func (clerk) Answer(q geminisim.Question) geminisim.Answer {
	last := q.Messages[len(q.Messages)-1]
	if len(last.Results) == 2 {
		return geminisim.Answer{Thoughts: []string{"Enough. "}, Text: "It is " + string(last.Results[1].Response) + ",\nand that is all: 😀."}
	}
	return geminisim.Answer{
		Thoughts: []string{"The user wants to know the time. ", "And the list. "},
		Calls:    []geminisim.Call{{Name: "list", Args: jsontext.Value(`{"text":"grüß \"Gott\""}`)}, {Name: "now", Args: jsontext.Value(`{}`)}},
	}
}

// The program gives the same events whichever protocol its model speaks, but for ids,
// names and times: from the configuration file to the stream of a turn with two tools.
func TestSameTurnThroughEachProtocol(t *testing.T) {
	t.Parallel()
	tools := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{
		"list": func(context.Context) string { return "eggs, milk" },
		"now":  func(context.Context) string { return "noon" },
	}))
	script, err := modelsim.ParseScript("reasoning plain\nloop") // in Chat Completions; others show thoughts anyway
	if err != nil {
		t.Fatal(err)
	}
	google := geminisim.New(geminisim.Config{Model: clerk{}})
	others := modelsim.New(modelsim.Config{Model: clerk{}, Script: script})
	t.Cleanup(func() {
		for _, f := range append(google.Failures(), others.Failures()...) {
			t.Errorf("a simulator refuses: %s", f)
		}
	})
	var first []string
	for _, m := range []struct {
		fields string
		server http.Handler
	}{
		{"provider: gemini, model: gemini-3-pro-preview", google},
		{"provider: openai, api: chat, model: gpt-4o", others},
		{"provider: openai, api: responses, model: gpt-5", others},
		{"provider: anthropic, model: claude-sonnet-4-5", others},
	} {
		config := fmt.Sprintf("models: {default: {%s, endpoint: %q, api_key: '${KEY}'}}\nmcpServers: {desk: {url: %q}}\n", m.fields, gatewaytest.ServeHandler(t, m.server), tools+"/mcp")
		frames := start(t, map[string]string{"SLUICE_CONFIG": writeConfig(t, config), "KEY": "test-key-0123456789"}).Ask("What is there to do?")
		gatewaytest.WantSuccess(t, frames, "stop")
		got := essence(frames)
		if first == nil {
			first = got
		}
		if diff := gocmp.Diff(first, got); diff != "" || len(got) < 8 {
			t.Errorf("%s (-gemini +got):\n%s", m.fields, diff)
		}
	}
}

// essence is what a turn's frames say apart from ids, names, times and figures. Deltas in a row
// are one, and the ends of calls that ran side by side stand in the calls' order.
func essence(frames []gatewaytest.Frame) (list []string) {
	calls := map[string]int{}
	var ended []string
	for _, f := range frames {
		if id, ok := f.Data["call_id"].(string); ok {
			if calls[id] == 0 {
				calls[id] = len(calls) + 1
			}
			line := fmt.Sprintf("%s %d %v %v %v %v", f.Kind, calls[id], f.Data["tool_name"], f.Data["status"], f.Data["arguments"], f.Data["result"])
			if f.Data["status"] != "in_progress" {
				ended = append(ended, line)
				continue
			}
			list = append(list, line)
			continue
		}
		slices.Sort(ended)
		list, ended = append(list, ended...), nil
		text := cmp.Or[any](f.Data["delta"], f.Data["content"], f.Data["final_output"], f.Data["finish_reason"])
		line := fmt.Sprint(f.Kind, " ", text)
		if n := len(list); n > 0 && text != nil && f.Kind != "done" && len(list[n-1]) > len(f.Kind) && list[n-1][:len(f.Kind)] == f.Kind {
			list[n-1] += fmt.Sprint(text)
			continue
		}
		list = append(list, line)
	}
	return list
}
