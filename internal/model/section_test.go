package model_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/gemini"
	"sluice/internal/model/openai"
)

// configured reads a file with a section models.
func configured(content string, env map[string]string) ([]model.Spec, *config.Config, file.Result) {
	var specs []model.Spec
	cfg, silence, key := &config.Config{}, 15*time.Second, config.Secret(env["GEMINI_API_KEY"])
	r := file.Table{model.Section(&specs, &silence, &key, []model.Preset{gemini.Preset(), openai.Preset(), anthropic.Preset()})}.Read("f.yaml", []byte(content), config.Sources{Lookup: configtest.World{Env: env}.Lookup, Hide: cfg.Hide})
	return specs, cfg, r
}

func lines(r file.Result) (list []string) {
	for _, f := range r.Faults {
		list = append(list, f.Name+": "+f.Message)
	}
	return list
}

func one(t *testing.T, fields string, env map[string]string) model.Spec {
	t.Helper()
	specs, _, r := configured("models: {m: {"+fields+"}}", env)
	if len(r.Faults) > 0 || len(specs) != 1 {
		t.Fatalf("%s: faults %q, %d models", fields, lines(r), len(specs))
	}
	return specs[0]
}

func sameSpec() cmp.Options {
	return cmp.Options{cmp.Comparer(func(a, b zerolog.Logger) bool { return true })}
}

func TestModelDefaults(t *testing.T) {
	t.Parallel()
	got := one(t, "provider: openai, model: gpt", map[string]string{"OPENAI_API_KEY": "sk-1"})
	want := model.Spec{
		Key: "m", Provider: "openai", API: "responses", Endpoint: "https://api.openai.com/v1/responses", Model: "gpt", APIKey: "sk-1",
		Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}, ThinkTags: "auto", Structured: "auto", Cache: "auto"},
		First:      15 * time.Second, Idle: 15 * time.Second, Retries: 2,
		Breaker:    breaker.Config{Service: "model:m", Failures: 3, Recovery: time.Minute, HalfOpenCalls: 3},
		FallbackOn: []string{"unavailable", "timeout", "rate_limited", "misconfigured"},
	}
	if diff := cmp.Diff(want, got, sameSpec()); diff != "" {
		t.Errorf("Spec (-want +got):\n%s", diff)
	}
	if got := one(t, "provider: anthropic, model: c", nil).MaxTokens; got != 8192 {
		t.Errorf("anthropic: limit %d, want 8192", got)
	}
	if got := one(t, "provider: gemini", nil); got.Model != "gemini-flash-latest" || got.Driver != "rest" || got.Endpoint != "https://generativelanguage.googleapis.com" {
		t.Errorf("gemini: %s, %s, %s", got.Model, got.Driver, got.Endpoint)
	}
	if got := one(t, "provider: simulator", nil); got.Provider != "simulator" || got.Endpoint != "" {
		t.Errorf("simulator: %s, %s", got.Provider, got.Endpoint)
	}
}

func TestModelFields(t *testing.T) {
	t.Parallel()
	half := 0.5
	got := one(t, `provider: groq, api: responses, endpoint: "http://h:1/a/v9/?x=y%20z", model: "a/b:c", api_key: "${K}", temperature: 0.5, max_output_tokens: 10,
		thinking: high, structured: tool, timeout: {idle: 2s}, retries: 0, breaker: "1, 5s, 2", fallback: [default], fallback_on: [blocked],
		headers: {x-a: "Bearer ${K}"}, extra: {top_k: 5, deep: {a: [1, null, "${K}"]}}, context_tokens: 1024`, map[string]string{"K": "canary-key"})
	want := model.Spec{
		Key: "m", Provider: "openai", Preset: "groq", API: "responses", Endpoint: "http://h:1/a/v9/responses?x=y%20z", Model: "a/b:c", APIKey: "canary-key",
		Generation: model.Generation{Temperature: &half, MaxTokens: 10, Thinking: model.Thinking{Word: "high"}, ThinkTags: "auto", Structured: "tool", Cache: "auto"},
		First:      15 * time.Second, Idle: 2 * time.Second, Retries: 0,
		Breaker:  breaker.Config{Service: "model:m", Failures: 1, Recovery: 5 * time.Second, HalfOpenCalls: 2},
		Fallback: []string{"default"}, FallbackOn: []string{"blocked"},
		Headers: map[string]config.Secret{"X-A": "Bearer canary-key"}, Extra: []byte(`{"top_k":5,"deep":{"a":[1,null,"canary-key"]}}`), Context: 1024,
	}
	if diff := cmp.Diff(want, got, sameSpec()); diff != "" {
		t.Errorf("Spec (-want +got):\n%s", diff)
	}
	for fields, want := range map[string]string{"provider: gemini, cache: off": model.CacheOff, "provider: gemini, cache: auto": model.CacheAuto, "provider: anthropic, model: m, cache: long": model.CacheLong, "provider: vllm, model: m, cache: marks": model.CacheMarks} {
		if got := one(t, fields, nil).Cache; got != want {
			t.Errorf("%s: cache is %q", fields, got)
		}
	}
	if got := one(t, "provider: ollama, model: m, temperature: null, timeout: 100ms, think_tags: open", nil); !got.NoTemperature || got.Temperature != nil || got.First != 100*time.Millisecond || got.ThinkTags != "open" {
		t.Errorf("got %+v", got)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fields, endpoint, api string }{
		{"provider: openai", "https://api.openai.com/v1/responses", "responses"},
		{"provider: openai, api: chat", "https://api.openai.com/v1/chat/completions", "chat"},
		{"provider: openrouter", "https://openrouter.ai/api/v1/chat/completions", "chat"},
		{"provider: groq", "https://api.groq.com/openai/v1/chat/completions", "chat"},
		{"provider: mistral", "https://api.mistral.ai/v1/chat/completions", "chat"},
		{"provider: deepseek", "https://api.deepseek.com/v1/chat/completions", "chat"},
		{"provider: xai", "https://api.x.ai/v1/chat/completions", "chat"},
		{"provider: ollama", "http://127.0.0.1:11434/v1/chat/completions", "chat"},
		{"provider: lmstudio", "http://127.0.0.1:1234/v1/chat/completions", "chat"},
		{"provider: llamacpp", "http://127.0.0.1:8080/v1/chat/completions", "chat"},
		{"provider: vllm", "http://127.0.0.1:8000/v1/chat/completions", "chat"},
		{"provider: anthropic", "https://api.anthropic.com/v1/messages", ""},
		{`provider: openai, endpoint: "http://h"`, "http://h/v1/chat/completions", "chat"},
		{`provider: openai, endpoint: "http://h/"`, "http://h/v1/chat/completions", "chat"},
		{`provider: openai, endpoint: "http://h/x/"`, "http://h/x/chat/completions", "chat"},
		{`provider: openai, endpoint: "http://h/x/chat/completions/"`, "http://h/x/chat/completions", "chat"},
		{`provider: openai, endpoint: "http://h/x/responses"`, "http://h/x/responses", "responses"},
		{`provider: openai, endpoint: "http://h/a%2Fb?k=v"`, "http://h/a%2Fb/chat/completions?k=v", "chat"},
		{`provider: openai, endpoint: "https://R.openai.azure.com/openai/v1"`, "https://R.openai.azure.com/openai/v1/responses", "responses"},
		{`provider: openai, endpoint: "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=1"`, "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", "chat"},
		{`provider: anthropic, endpoint: "http://h"`, "http://h/v1/messages", ""},
		{`provider: anthropic, endpoint: "http://h/v1/messages"`, "http://h/v1/messages", ""},
		{`provider: gemini, endpoint: "http://h/"`, "http://h", ""},
	} {
		got := one(t, tt.fields+", model: m", nil)
		if got.Endpoint != tt.endpoint || got.API != tt.api {
			t.Errorf("%s: %s, api %q; want %s, api %q", tt.fields, got.Endpoint, got.API, tt.endpoint, tt.api)
		}
	}
}

// A key goes to its own host only, and in clear text nowhere.
func TestPresetKey(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_API_KEY": "sk-1\n", "GOOGLE_API_KEY": "g", "ANTHROPIC_API_KEY": ""}
	for fields, want := range map[string]string{
		"provider: openai": "sk-1",
		`provider: openai, endpoint: "https://api.openai.com/v1/chat/completions"`: "sk-1",
		`provider: openai, endpoint: "http://api.openai.com/v1"`:                   "",
		`provider: openai, endpoint: "https://api.openai.com.evil.test/v1"`:        "",
		`provider: openai, endpoint: "https://api.openai.com:444/v1"`:              "",
		`provider: openai, endpoint: "http://h", api_key: "${OPENAI_API_KEY:-}"`:   "",
		`provider: openai, api_key: ""`:                                            "",
		"provider: gemini":                                                         "g",
		"provider: anthropic":                                                      "",
		"provider: ollama":                                                         "",
	} {
		env := env
		if strings.Contains(fields, "${") {
			env = nil
		}
		if got := one(t, fields+", model: m", env).APIKey.Reveal(); got != want {
			t.Errorf("%s: key %q, want %q", fields, got, want)
		}
	}
}

// A preset that needs a key and has none names the variable to set. A server of one's own and a
// key that is written down as empty need none.
// A broken answer continues by prefill where an API documents a member for it, or where the file says so.
func TestPrefillOfAModel(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]bool{
		"provider: mistral":               true,
		"provider: vllm":                  true,
		"provider: llamacpp":              true,
		"provider: vllm, prefill: false":  false,
		"provider: ollama":                false,
		"provider: ollama, prefill: true": true,
		"provider: openai":                false,
		"provider: openai, api: chat":     false,
		`provider: openai, api: chat, endpoint: "https://api.deepseek.com/beta"`: true,
		`provider: openai, api: chat, endpoint: "https://api.deepseek.com/v1"`:   false,
		`provider: openai, api: chat, endpoint: "https://example.com/beta"`:      false,
		"provider: anthropic": false,
	} {
		if got := one(t, fields+", model: m", nil).Prefill; got != want {
			t.Errorf("%s: prefill is %v, want %v", fields, got, want)
		}
	}
	for _, fields := range []string{"provider: openai, prefill: true", "provider: anthropic, prefill: true", "provider: gemini, prefill: false"} {
		if _, _, r := configured("models: {m: {"+fields+", model: m}}", nil); len(r.Faults) != 1 || !strings.Contains(lines(r)[0], "/models/m/prefill: belongs to") {
			t.Errorf("%s: faults %q", fields, lines(r))
		}
	}
}

func TestMissingKeyOfAPreset(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		"provider: openai":                        "OPENAI_API_KEY",
		"provider: groq":                          "GROQ_API_KEY",
		"provider: anthropic":                     "ANTHROPIC_API_KEY",
		"provider: ollama":                        "",
		`provider: openai, endpoint: "http://h"`:  "",
		`provider: openai, api_key: ""`:           "",
		`provider: openai, api_key: "${K}"`:       "",
		`provider: mistral, timeout: {first: 1s}`: "MISTRAL_API_KEY",
	} {
		if got := one(t, fields+", model: m", map[string]string{"K": "k"}).MissingKey; got != want {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
	if got := one(t, "provider: openai, model: m", map[string]string{"OPENAI_API_KEY": "sk"}).MissingKey; got != "" {
		t.Errorf("with a key: %q", got)
	}
}

func TestModelWarnings(t *testing.T) {
	t.Parallel()
	_, _, r := configured(`models:
  default: {provider: openai, model: m, api_key: sk-literal}
  a: {provider: groq, model: m}
  b: {provider: openai, model: m, endpoint: "http://h"}
  c: {provider: openai, model: m, api_key: "${K}"}
`, map[string]string{"GEMINI_API_KEY": "g", "OPENAI_API_KEY": "sk", "K": "k"})
	want := []string{
		"f.yaml:2:12: /models/default: is used in place of what the GEMINI_* variables say, of which a key is set",
		"f.yaml:2:50: /models/default/api_key: is in the file itself; write ${NAME} and set the variable NAME",
		"f.yaml:3:17: /models/a/provider: there is no api_key, and the variable GROQ_API_KEY is not set",
		"f.yaml:4:17: /models/b/provider: OPENAI_API_KEY is not used, because endpoint is not the preset's host; name it as api_key if it is meant",
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" || len(r.Faults) > 0 {
		t.Errorf("faults %q, warnings (-want +got):\n%s", lines(r), diff)
	}
}

// Each fault stands at its place, and holds no value.
func TestModelFaults(t *testing.T) {
	t.Parallel()
	const canary = "cAnArY-0123"
	env := map[string]string{"K": canary, "BROKEN": canary + "\nx", "OPENAI_API_KEY": "two words"}
	const openai = "provider: openai, api_key: \"${K}\", model: m, "
	for _, tt := range []struct{ fields, want string }{
		{"model: m", "1:13: /models/m/provider: is required"},
		{"provider: openai, api_key: \"${K}\"", "1:13: /models/m/model: is required"},
		{"provider: open, model: m", "1:24: /models/m/provider: must be one of gemini, openai, anthropic, simulator, openrouter, groq, mistral, deepseek, xai, ollama, lmstudio, llamacpp, vllm"},
		{"provider: openai, model: m", "1:24: /models/m/provider: the variable OPENAI_API_KEY must be printable ASCII without spaces and line breaks"},
		{"provider: anthropic, model: m, api: chat", "1:45: /models/m/api: belongs to openai, not to this provider"},
		{openai + "driver: rest", "1:59: /models/m/driver: belongs to gemini, not to this provider"},
		{"provider: simulator, endpoint: \"http://h\"", "1:35: /models/m/endpoint: belongs to gemini, openai, anthropic, not to this provider"},
		{"provider: gemini, think_tags: auto", "1:32: /models/m/think_tags: belongs to openai, not to this provider"},
		{"provider: anthropic, model: m, cache: marks", "1:52: /models/m/cache: must be auto, off or long: exact marks belong to provider openai and its presets"},
		{"provider: gemini, cache: long", "1:39: /models/m/cache: must be auto or off: gemini keeps what it keeps by itself"},
		{openai + "api: responses, think_tags: auto", "1:75: /models/m/think_tags: belongs to api chat"},
		{openai + "api: chat, endpoint: \"http://h/responses\"", "1:64: /models/m/api: is not the one that endpoint ends with"},
		{openai + "endpoint: \"ftp://h\"", "1:69: /models/m/endpoint: must begin with http:// or https://"},
		{openai + "endpoint: \"http://u:${K}@h\"", "1:69: /models/m/endpoint: must not hold a user name or password: a key belongs into api_key"},
		{openai + "endpoint: \"http://h/#${K}\"", "1:69: /models/m/endpoint: must not hold a fragment"},
		{openai + "endpoint: \"http://h/a b\"", "1:69: /models/m/endpoint: must be a URL in ASCII without spaces"},
		{openai + "endpoint: \"h:1\"", "1:69: /models/m/endpoint: must begin with http:// or https://; write http://h:1"},
		{"provider: openai, model: m, api_key: \"${BROKEN}\"", "1:51: /models/m/api_key: must be printable ASCII without spaces and line breaks"},
		{"provider: openai, model: m, api_key: \"${NONE}\"", "1:51: /models/m/api_key: the variable NONE is not set"},
		{"provider: gemini, model: \"../x\"", "1:39: /models/m/model: must be a model's name such as gemini-flash-latest, without a path"},
		{"provider: ollama, model: \"a\\tb\"", "1:39: /models/m/model: must be printable characters"},
		{openai + "temperature: 2.1", "1:72: /models/m/temperature: must be from 0 to 2"},
		{openai + "max_output_tokens: 0", "1:78: /models/m/max_output_tokens: must be from 1 to 1000000"},
		{openai + "thinking: maximal", "1:69: /models/m/thinking: must be one of off, summary, low, medium, high, or a number of tokens"},
		{openai + "thinking: 2000", "1:69: /models/m/thinking: must be one of off, summary, low, medium, high: this protocol takes no number of tokens"},
		{"provider: anthropic, model: m, thinking: 1023", "1:55: /models/m/thinking: must be 1024 or more"},
		{"provider: gemini, thinking: 32769", "1:42: /models/m/thinking: must be from -1 to 32768"},
		{openai + "timeout: 99ms", "1:68: /models/m/timeout: must be a duration from 100ms to 10m, with its unit, such as 15s, 90m or 7d"},
		{openai + "timeout: 30", "1:68: /models/m/timeout: must be a string or an object"},
		{openai + "timeout: {first: 11m}", "1:76: /models/m/timeout/first: must be a duration from 100ms to 10m, with its unit, such as 15s, 90m or 7d"},
		{openai + "timeout: {}", "1:68: /models/m/timeout: must have 1 or more keys"},
		{openai + "timeout: {firts: 1s}", "1:69: /models/m/timeout/firts: there is no such key; did you mean first?"},
		{openai + "retries: 6", "1:68: /models/m/retries: must be from 0 to 5"},
		{openai + "breaker: \"3,60s\"", "1:68: /models/m/breaker: must be failures, recovery time and half-open calls such as 5,30s,3, with counts from 1 to 1000"},
		{openai + "fallback: [no]", "1:70: /models/m/fallback/0: there is no such model"},
		{openai + "fallback: [m]", "1:10: /models/m: its fallbacks lead back to it: m → m"},
		{openai + "fallback: [default, default]", "1:69: /models/m/fallback: must not name one item twice"},
		{openai + "fallback_on: []", "1:72: /models/m/fallback_on: must have 1 or more items"},
		{openai + "fallback_on: [all]", "1:73: /models/m/fallback_on/0: must be one of unavailable, timeout, rate_limited, misconfigured, overflow, blocked"},
		{openai + "headers: {host: x}", "1:69: /models/m/headers/host: is a header that cannot be set"},
		{openai + "headers: {X-Request-ID: x}", "1:69: /models/m/headers/X-Request-ID: is a header that cannot be set"},
		{openai + "headers: {\"a b\": x}", "1:69: /models/m/headers/a b: is not a header's name"},
		{openai + "headers: {a: x, A: x}", "1:75: /models/m/headers/A: is given twice: names that differ only in upper and lower case are the same"},
		{openai + "headers: {a: \"${BROKEN}\"}", "1:72: /models/m/headers/a: must not hold line ends or other control characters"},
		{openai + "headers: {a: \"" + strings.Repeat("x", 4097) + "\"}", "1:72: /models/m/headers/a: must not be longer than 4 KiB"},
		{openai + "extra: {messages: []}", "1:67: /models/m/extra/messages: is set by the gateway and cannot be replaced"},
		{openai + "extra: {a: \"" + strings.Repeat("x", 16<<10) + "\"}", "1:66: /models/m/extra: must not be longer than 16 KiB"},
		{openai + "extra: []", "1:66: /models/m/extra: must be an object"},
		{openai + "context_tokens: 1000", "1:75: /models/m/context_tokens: must be from 1024 to 10000000"},
		{openai + "max_tokens: 5", "1:59: /models/m/max_tokens: there is no such key; "},
	} {
		_, _, r := configured("models: {m: {"+tt.fields+"}}", env)
		got := lines(r)
		if len(got) != 1 || !strings.HasPrefix(got[0], "f.yaml:") || strings.TrimPrefix(got[0], "f.yaml:") != tt.want && !(strings.HasSuffix(tt.want, "; ") && strings.Contains(got[0], tt.want)) {
			t.Errorf("%.100s:\n got %q\nwant %q", tt.fields, got, tt.want)
		}
		if all := fmt.Sprintf("%v %+v", got, r); strings.Contains(strings.Join(append(got, r.Warnings...), "\n"), canary) {
			t.Errorf("a value is repeated: %s", all)
		}
	}
}

func TestFallbackCycle(t *testing.T) {
	t.Parallel()
	_, _, r := configured(`models:
  z: {provider: simulator, fallback: [a]}
  a: {provider: simulator, fallback: [b, c]}
  b: {provider: simulator}
  c: {provider: simulator, fallback: [d]}
  d: {provider: simulator, fallback: [a]}
`, nil)
	want := []string{"f.yaml:3:3: /models/a: its fallbacks lead back to it: a → c → d → a"}
	if diff := cmp.Diff(want, lines(r)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// What may be a secret is in the list for the log's scrubber.
func TestModelSecrets(t *testing.T) {
	t.Parallel()
	_, cfg, _ := configured(`models: {m: {provider: openai, model: m, endpoint: "http://h?k=${Q}", api_key: "${K}", headers: {A: "Bearer ${H}"}, extra: {a: "${E}"}}}`,
		map[string]string{"Q": "canary-q", "K": "canary-k", "H": "canary-h", "E": "canary-e"})
	want := []string{"Bearer canary-h", "canary-e", "canary-h", "canary-k", "canary-q"}
	if diff := cmp.Diff(want, cfg.Secrets()); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"100": "", "100000000": "", "99": "must be from 100 to 100000000", "1.5": "must be a whole number", `"5"`: "must be a whole number"} {
		var tokens int
		r := file.Table{model.BudgetSection(&tokens)}.Read("f.yaml", []byte("budget: {turn_tokens: "+text+"}"), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
		if want == "" && (len(r.Faults) > 0 || fmt.Sprint(tokens) != text) || want != "" && (len(r.Faults) != 1 || r.Faults[0].Message != "/budget/turn_tokens: "+want) {
			t.Errorf("%s: %d, %v", text, tokens, r.Faults)
		}
	}
}
