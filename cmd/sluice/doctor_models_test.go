package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
)

// obliging calls its first tool if it is asked to, and else says a word.
type obliging struct{}

func (obliging) Version() string { return "obliging" }

func (obliging) Answer(q geminisim.Question) geminisim.Answer {
	if len(q.Functions) > 0 {
		return geminisim.Answer{Calls: []geminisim.Call{{Name: q.Functions[0].Name, Args: []byte(`{"city":"Paris"}`)}}}
	}
	return geminisim.Answer{Text: "ready"}
}

func scriptedModels(t *testing.T, script string) (s *modelsim.Server, url string) {
	t.Helper()
	cfg := modelsim.Config{Model: obliging{}}
	if script != "" {
		parsed, err := modelsim.ParseScript(script)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Script = parsed
	}
	s = modelsim.New(cfg)
	return s, gatewaytest.ServeHandler(t, s)
}

// Each model of the file is asked, in its own protocol, and reported with what was learned
// about it.
func TestDoctorAsksTheModelsOfAFile(t *testing.T) {
	t.Parallel()
	_, good := scriptedModels(t, "")
	_, picky := scriptedModels(t, "refuse stream_options\n---\ntext ready\n---\ncall get_weather {}\n---\nrefuse response_format\n---\n"+`text {"capital":"Paris"}`)
	_, closed := scriptedModels(t, "loop\nerror 401 code=invalid_api_key")
	google := gatewaytest.ServeHandler(t, geminisim.New(geminisim.Config{Model: obliging{}}))
	file := written(t, "sluice.yaml", fmt.Sprintf(`models:
  default: {provider: gemini, endpoint: %q, api_key: "${K}", context_tokens: 1000000}
  chat: {provider: openai, api: chat, model: m, endpoint: "%s/v1", api_key: "${K}", fallback: [default]}
  responses: {provider: openai, api: responses, model: m, endpoint: "%s/v1", api_key: "${K}"}
  messages: {provider: anthropic, model: m, endpoint: "%s/v1", api_key: "${K}"}
  picky: {provider: openai, api: chat, model: m, endpoint: "%s/v1", api_key: "${K}"}
  closed: {provider: openai, api: chat, model: m, endpoint: "%s/v1", api_key: "${K}", fallback: [default]}
`, google, good, good, good, picky, closed))
	env := map[string]string{"K": "k3y-CaNaRy"}
	code, stdout, stderr := runCommand(t, env, "doctor", "--config", file, "--json")
	var report modelsReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || stderr != "" || code != exitFailed || report.Healthy || report.Config != file {
		t.Fatalf("%v: exit code %d, stdout %s, stderr %s", err, code, stdout, stderr)
	}
	var got []string
	for _, f := range report.Findings {
		seen, _, _ := strings.Cut(f.Seen, " in ")
		if _, mode, ok := strings.Cut(f.Seen, " asked for in "); ok {
			seen += " " + mode
		}
		got = append(got, fmt.Sprintf("%s %s: %s", f.Check, f.Verdict, seen))
	}
	var want []string
	for _, m := range []struct{ key, name, mode, known string }{
		{"default", "gemini gemini-flash-latest", "schema", "ok: takes all members of requests; context of 1000000 tokens, as configured"},
		{"chat", "openai m", "schema", "ok: takes all members of requests; context not known"},
		{"responses", "openai m", "schema", "ok: takes all members of requests; context not known"},
		{"messages", "anthropic m", "schema", "ok: takes all members of requests; context not known"},
		{"picky", "openai m", "json", "note: does not take stream_options; context not known"},
	} {
		want = append(want, m.key+" ok: a word of "+m.name, m.key+" ok: a tool call", m.key+" ok: a structured answer mode "+m.mode, m.key+" "+m.known)
	}
	want = append(want, "closed problem: a word of openai m did not come: model_error: AI service is not set up correctly: upstream answered 401 authentication_error invalid_api_key: Unauthorized")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(stdout, env["K"]) {
		t.Error("the key is in the report")
	}
}

// shy calls a tool only if it is obliged to.
type shy struct{ obliging }

func (s shy) Answer(q geminisim.Question) geminisim.Answer {
	if q.Forced == "" {
		return geminisim.Answer{Text: "It is sunny."}
	}
	return s.obliging.Answer(q)
}

// A model that calls its tool only when it must is worth a note, and so is the simulator,
// which is asked in place of a default that is not there.
func TestDoctorOfAModelThatDoesNotCall(t *testing.T) {
	t.Parallel()
	url := gatewaytest.ServeHandler(t, modelsim.New(modelsim.Config{Model: shy{}}))
	code, stdout, stderr := runCommand(t, nil, "doctor", "--config", written(t, "sluice.yaml", fmt.Sprintf("models:\n  shy: {provider: openai, api: responses, model: m, endpoint: %q}\n", url+"/v1")))
	for _, want := range []string{"\n  ok      shy         a word of openai m in ", "\n  note    shy         a tool call in ", "only when it was obliged to\n", "  note    default     a simulator, ", "  ok      default     a structured answer in ", "\n\nNo problems found.\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not there:\n%s", want, stdout)
		}
	}
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := runCommand(t, nil, "doctor"); code != exitUsage || !strings.Contains(stderr, "or --config") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
