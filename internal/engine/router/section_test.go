package router_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/engine/router"
)

// configured reads a file with the sections of a team, and those that they name things
// of.
func configured(content string, files map[string]string) (router.Spec, []string) {
	var s router.Spec
	table := file.Table{
		{Name: "models", Schema: `{"type":"object"}`}, {Name: "mcpServers", Schema: `{"type":"object"}`},
		router.AgentsSection(&s, &config.Config{}), router.RouterSection(&s, func() bool { return true }), router.DispatchSection(&s), router.AggregateSection(&s),
	}
	r := table.Read(filepath.Join("etc", "f.yaml"), []byte(content), config.Sources{
		Lookup: func(string) (string, bool) { return "", false },
		ReadFile: func(path string) ([]byte, error) {
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	})
	var lines []string
	for _, f := range r.Faults {
		_, at, _ := strings.Cut(f.Name, ":")
		message, _, _ := strings.Cut(f.Message, "; ") // a hint
		lines = append(lines, at+": "+message)
	}
	return s.Settled(), lines
}

func TestTeamOfAFile(t *testing.T) {
	t.Parallel()
	got, faults := configured(`
models: {large: {}}
mcpServers: {lights: {}, music: {}}
agents:
  one:
    description: Does one
    name: The One
    capabilities: [a, b]
    examples: [do one]
    role: You are one.
    prompt_file: one.md
    model: large
    temperature: null
    tools: [lights, music/play]
    max_steps: 3
    timeout: 90s
    max_output_tokens: 100
    routable: false
  two: {description: Does two, prompt: Two., temperature: 0}
router:
  escalate: large
  confidence_threshold: 0
  temperature: null
  timeout: 100ms
  user_template: "{1} {0}"
  rules: [{match: "(?i)^one", agents: [one, two]}]
  history_turns: 0
dispatch: {mode: sequential, retries: 0, retry_delay: 0s, turn_timeout: 15m}
aggregate: {natural_joining: false, fallback_message: Sorry.}
`, map[string]string{filepath.Join("etc", "one.md"): "Be one.\n"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	zero, warm := 0.0, 0.7
	want := []router.AgentSpec{
		{ID: "one", Name: "The One", Description: "Does one", Capabilities: []string{"a", "b"}, Examples: []string{"do one"}, Role: "You are one.",
			Prompt: "Be one.\n", Model: "large", Tools: []string{"lights", "music/play"}, MaxSteps: 3, Timeout: 90 * time.Second, MaxTokens: 100, Hidden: true},
		{ID: "two", Description: "Does two", Prompt: "Two.", Temperature: &zero, MaxSteps: 10},
	}
	if diff := cmp.Diff(want, got.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	c := router.Defaults()
	c.Escalate, c.Threshold, c.Temperature, c.Timeout, c.UserTemplate, c.HistoryTurns = "large", 0, nil, 100*time.Millisecond, "{1} {0}", 0
	c.Dispatch.Sequential, c.Dispatch.Retries, c.Dispatch.RetryDelay = true, 0, 0
	c.Aggregate.NaturalJoining, c.Aggregate.Fallback = false, "Sorry."
	if diff := cmp.Diff(c, got.Config, cmpopts.IgnoreFields(router.Config{}, "Rules")); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if r := got.Config.Rules; len(r) != 1 || !r[0].Match.MatchString("ONE and") || len(r[0].Agents) != 2 || got.TurnTimeout != 15*time.Minute {
		t.Errorf("rules %v, turn %v", r, got.TurnTimeout)
	}
	plain, faults := configured("agents: {one: {description: x}}\nrouter: off\n", nil)
	if len(faults) > 0 || !plain.Config.Off || *plain.Agents[0].Temperature != warm || plain.TurnTimeout != time.Minute {
		t.Errorf("got %+v, %v", plain, faults)
	}
}

func TestFaultsOfATeam(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 301)
	tests := []struct {
		name, content string
		want          []string
	}{
		{"the router", `
agents: {a: {description: x, exposed: true, delegates: []}}
router: {sticky: glue, max_clarifications: 6}
`, []string{
			"3:18: /router/sticky: must be one of off, hint, hold",
			"3:44: /router/max_clarifications: must be from 0 to 5"}},
		{"delegates", "agents:\n  a: {description: x, delegates: [a, b, c]}\n  b: {description: x}\n  " + long[:53] + ": {description: x}\n  d: {description: x, delegates: [" + long[:53] + "]}\n", []string{
			"2:35: /agents/a/delegates/0: is the agent itself",
			"2:41: /agents/a/delegates/2: names an agent that is not in agents",
			"5:35: /agents/d/delegates/0: is longer than 52 characters, too long for the name of a tool"}},
		{"remote agents", `
agents:
  a: {description: x, card: "ftp://h/c", prompt: y, refresh: 9s, headers: {"a b": x, Host: x, X-A: "1", x-a: "2"}}
  b: {description: x, card: "http://u:p@h", streaming: 1}
  c: {description: x, headers: {X-A: y}}
`, []string{
			"3:29: /agents/a/card: must be a URL with http or https and a host, without a user and a fragment",
			"3:42: /agents/a/prompt: is not taken beside card: a remote agent has its own",
			"3:62: /agents/a/refresh: must be a duration from 10s to 24h, with its unit, such as 15s, 90m or 7d",
			"3:76: /agents/a/headers/a b: is not a header's name",
			"3:86: /agents/a/headers/Host: is a header that cannot be set",
			"3:105: /agents/a/headers/x-a: is given twice: names that differ only in upper and lower case are the same",
			"4:29: /agents/b/card: must be a URL with http or https and a host, without a user and a fragment",
			"4:56: /agents/b/streaming: must be true or false",
			"5:23: /agents/c/headers: belongs to a remote agent, which has a card"}},
		{"memory, tasks and a2a neither", "agents: {}\nmemory: {}\ntasks: {}\na2a: {}\n", []string{
			"2:1: /memory: there is no such key", "3:1: /tasks: there is no such key", "4:1: /a2a: there is no such key"}},
		{"texts", "agents:\n  a: {description: '', name: " + long[:65] + ", role: " + long[:201] + "}\n  b: {}\n  c: {description: " + long + "}\n  C: {description: x}\n", []string{
			"2:20: /agents/a/description: must not be empty",
			"2:30: /agents/a/name: must not be longer than 64 characters",
			"2:103: /agents/a/role: must not be longer than 200 characters",
			"3:6: /agents/b/description: is required",
			"4:20: /agents/c/description: must not be longer than 300 characters",
			"5:3: /agents/C: an agent's id must be 1 to 64 of a-z 0-9 _ -, and not begin with _ or -"}},
		{"names of what is not there", `
mcpServers: {lights: {}}
agents:
  a: {description: x, model: larg, tools: [light, lights/, lights, lights/x, todo]}
router: {model: b, escalate: c, rules: [{match: "(", agents: [d]}]}
`, []string{
			"4:30: /agents/a/model: there is no such model",
			"4:44: /agents/a/tools/0: names a server that is not in mcpServers",
			"4:51: /agents/a/tools/1: must be server, or server/tool",
			"4:68: /agents/a/tools/3: is among all tools of its server, which are listed already",
			"4:78: /agents/a/tools/4: names a server that is not in mcpServers",
			"5:17: /router/model: there is no such model",
			"5:30: /router/escalate: there is no such model",
			"5:49: /router/rules/0/match: is not a regular expression of RE2",
			"5:63: /router/rules/0/agents/0: there is no such agent"}},
		{"prompts", `
agents:
  a: {description: x, prompt: y, prompt_file: z}
  b: {description: x, prompt_file: gone}
  c: {description: x, prompt_file: empty}
  d: {description: x, prompt_file: long}
`, []string{
			"3:34: /agents/a/prompt_file: is not taken beside prompt",
			"4:36: /agents/b/prompt_file: there is no such file",
			"5:36: /agents/c/prompt_file: the file is empty",
			"6:36: /agents/d/prompt_file: the file has more than 32 KiB"}},
		{"numbers and durations", `
agents: {a: {description: x, temperature: 2.1, max_steps: 65, timeout: 999ms, max_output_tokens: 0}}
router: {confidence_threshold: 1.1, max_attempts: 11, timeout: 61s, max_output_tokens: 49, thinking: lots, history_turns: 4, max_concurrent: 0}
dispatch: {mode: both, retries: 6, retry_delay: 31s, max_agents: 9, timeout: 11m, turn_timeout: 1}
`, []string{
			"2:43: /agents/a/temperature: must be from 0 to 2",
			"2:59: /agents/a/max_steps: must be from 1 to 64",
			"2:72: /agents/a/timeout: must be a duration from 1s to 10m, with its unit, such as 15s, 90m or 7d",
			"2:98: /agents/a/max_output_tokens: must be from 1 to 65536",
			"3:32: /router/confidence_threshold: must be from 0 to 1",
			"3:51: /router/max_attempts: must be from 1 to 10",
			"3:64: /router/timeout: must be a duration from 100ms to 60s, with its unit, such as 15s, 90m or 7d",
			"3:88: /router/max_output_tokens: must be from 50 to 8192",
			"3:102: /router/thinking: must be one of off, summary, low, medium, high",
			"3:123: /router/history_turns: must be from 0 to 3",
			"3:142: /router/max_concurrent: must be from 1 to 10000",
			"4:18: /dispatch/mode: must be one of parallel, sequential",
			"4:33: /dispatch/retries: must be from 0 to 5",
			"4:49: /dispatch/retry_delay: must be a duration from 0s to 30s, with its unit, such as 15s, 90m or 7d",
			"4:66: /dispatch/max_agents: must be from 1 to 8",
			"4:78: /dispatch/timeout: must be a duration from 1s to 10m, with its unit, such as 15s, 90m or 7d",
			"4:97: /dispatch/turn_timeout: must be a string"}},
		{"templates", `
router: {user_template: "{request}"}
aggregate: {partial_failure_template: "But {failureMessage}"}
`, []string{
			"2:25: /router/user_template: must hold {agents}",
			"3:39: /aggregate/partial_failure_template: must begin with {successMessage}: what the agents said is out by then"}},
		{"another word for off", "router: no\n", []string{"1:9: /router: must be an object, or off"}},
	}
	files := map[string]string{filepath.Join("etc", "empty"): " \n", filepath.Join("etc", "long"): strings.Repeat("x", 32<<10+1)}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := configured(tt.content, files)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a file holds, it is read without a panic, and a team without faults can be
// made.
func FuzzSections(f *testing.F) {
	f.Add("agents: {a: {description: x, tools: [todo]}}\nrouter: {rules: [{match: a, agents: [a]}]}\n")
	f.Add("router: off\n")
	f.Add("dispatch: {timeout: 1s}\naggregate: {partial_failure_template: '{successMessage}'}\n")
	f.Fuzz(func(t *testing.T, content string) {
		s, faults := configured(content, nil)
		if len(faults) > 0 {
			return
		}
		cfg := s.Config
		for _, a := range s.Agents {
			cfg.Agents = append(cfg.Agents, router.Agent{ID: a.ID, Description: a.Description})
		}
		router.New(cfg)
	})
}

// What needs to know what was before needs a store.
func TestHoldNeedsAStore(t *testing.T) {
	t.Parallel()
	for kept, want := range map[bool]int{false: 1, true: 0} {
		var s router.Spec
		r := file.Table{router.RouterSection(&s, func() bool { return kept })}.Read("f", []byte("router: {sticky: hold, max_clarifications: 0}"), config.Sources{})
		if len(r.Faults) != want || s.Config.Sticky != router.StickyHold || s.Config.MaxClarifications != 0 {
			t.Errorf("%v: %v, %+v", kept, r.Faults, s.Config)
		}
		if want == 1 && (r.Faults[0].Name != "f:1:18" || r.Faults[0].Message != "/router/sticky: hold needs a store: SLUICE_STORE") {
			t.Errorf("%v: %v", kept, r.Faults)
		}
	}
}
