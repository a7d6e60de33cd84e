package operate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
)

// obliging calls its first tool if it has one, and else says a word.
type obliging struct{}

func (obliging) Version() string { return "obliging" }

func (obliging) Answer(q geminisim.Question) geminisim.Answer {
	if len(q.Functions) > 0 {
		return geminisim.Answer{Calls: []geminisim.Call{{Name: q.Functions[0].Name, Args: []byte(`{"city":"Paris"}`)}}}
	}
	return geminisim.Answer{Text: "ready"}
}

// shy calls a tool only if it is obliged to.
type shy struct{ obliging }

func (s shy) Answer(q geminisim.Question) geminisim.Answer {
	if q.Forced == "" {
		return geminisim.Answer{Text: "It is sunny."}
	}
	return s.obliging.Answer(q)
}

// modelAt serves a model by the protocols of modelsim, or by a script of it.
func modelAt(t *testing.T, m geminisim.Model, script string) string {
	t.Helper()
	cfg := modelsim.Config{Model: m}
	if script != "" {
		parsed, err := modelsim.ParseScript(script)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Script = parsed
	}
	return gatewaytest.ServeHandler(t, modelsim.New(cfg)) + "/v1"
}

// inShort is what a model did, without times.
func inShort(e Examined) string {
	trial := func(t Trial) string {
		switch {
		case !t.Tried:
			return "not asked"
		case errors.Is(t.Err, errNoCall):
			return "no call"
		case t.Err != nil:
			return t.Class()
		case t.Elapsed <= 0 || t.Usage.OutputTokens == 0:
			return fmt.Sprintf("came in %v with %d tokens", t.Elapsed, t.Usage.OutputTokens)
		}
		return "came"
	}
	forced := ""
	if e.Forced {
		forced = " when it was forced"
	}
	return fmt.Sprintf("%s %s %s: word %s, call %s%s, object %s in mode %s, context %d, without %v",
		e.Key, e.Provider, e.Model, trial(e.Word), trial(e.Call), forced, trial(e.Object), e.Mode, e.Context, e.Learned)
}

// Each model is asked for all that a turn needs, one after the other and without fallbacks;
// what it refuses on the way is learned.
func TestExamineModels(t *testing.T) {
	t.Parallel()
	good := modelAt(t, obliging{}, "")
	cfg := configured(t, fmt.Sprintf(`models:
  default: {provider: openai, api: chat, model: m, endpoint: %q, context_tokens: 8000}
  shy: {provider: openai, api: responses, model: m, endpoint: %q}
  silent: {provider: openai, api: chat, model: m, endpoint: %q}
  picky: {provider: openai, api: chat, model: m, endpoint: %q}
  closed: {provider: openai, api: chat, model: m, endpoint: %q, fallback: [default]}
`, good, modelAt(t, shy{}, ""), modelAt(t, nil, "text ready\n---\ntext no\n---\ntext no\n---\n"+`text {"capital":"Paris"}`),
		modelAt(t, nil, "refuse stream_options\n---\ntext ready\n---\ncall get_weather {}\n---\nrefuse response_format\n---\n"+`text {"capital":"Paris"}`),
		modelAt(t, nil, "loop\nerror 401 code=invalid_api_key")))
	var got []string
	if err := ExamineModels(t.Context(), cfg, func(e Examined) { got = append(got, inShort(e)) }, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"default openai m: word came, call came, object came in mode schema, context 8000, without []",
		"shy openai m: word came, call came when it was forced, object came in mode schema, context 0, without []",
		"silent openai m: word came, call no call when it was forced, object came in mode schema, context 0, without []",
		"picky openai m: word came, call came, object came in mode json, context 0, without [stream_options]",
		"closed openai m: word misconfigured, call not asked, object not asked in mode schema, context 0, without []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An examination that is broken off asks no further model.
func TestExaminationIsBrokenOff(t *testing.T) {
	t.Parallel()
	good := modelAt(t, obliging{}, "")
	cfg := configured(t, fmt.Sprintf("models:\n  default: {provider: openai, api: chat, model: m, endpoint: %q}\n  other: {provider: openai, api: chat, model: m, endpoint: %[1]q}\n", good))
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := ExamineModels(ctx, cfg, func(Examined) { n++; cancel() }, zerolog.Nop())
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%d models were asked: %v", n, err)
	}
}
