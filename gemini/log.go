package gemini

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
)

// logCall and logResult write the two lines of an attempt to the logger of the
// request. Neither holds a word of the user's or of the model's, nor a message of
// the API's, which may quote them.

func (c *call) logCall(attempt int) {
	e := zerolog.Ctx(c.parent).Info()
	if !e.Enabled() {
		return
	}
	e.Dict("details", zerolog.Dict().
		Str("model", c.m.name).
		Int("step", c.req.Step).
		Int("prompt_length", len(c.body.data)). // bytes of the request
		Int("attempt", attempt)).
		Msg("gemini_api_called")
}

func (c *call) logResult(attempt int, a *assembler, end *ending, took time.Duration) {
	level := zerolog.InfoLevel
	if end.outcome != OutcomeOK && end.outcome != OutcomeCancelled {
		level = zerolog.WarnLevel
	}
	e := zerolog.Ctx(c.parent).WithLevel(level)
	if !e.Enabled() {
		return
	}
	details := zerolog.Dict().
		Str("model", c.m.name).
		Int("step", c.req.Step).
		Int("attempt", attempt).
		Str("outcome", end.outcome).
		Int("response_length", a.textLength). // bytes of answer, without thoughts
		Int("tokens_used", a.usage.InputTokens+a.usage.OutputTokens+a.usage.ThinkingTokens).
		Str("finish_reason", finishFor(a, end))
	if end.cause != nil {
		details.AnErr("cause", brief(end.cause))
	}
	e.Int64("duration_ms", took.Milliseconds()).Dict("details", details).Msg("gemini_api_result")
}

// finishFor returns how the answer ended: our word for a good ending, the API's
// for another, or else what became of the attempt.
func finishFor(a *assembler, end *ending) string {
	if end.outcome == OutcomeOK {
		return string(a.finish)
	}
	if reason := keepUpper(a.reason); reason != "" && a.finish == chat.FinishNone {
		return reason
	}
	return end.outcome
}

// brief returns err without the API's message.
func brief(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		return errors.New(e.Brief())
	}
	return err
}
