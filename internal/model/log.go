package model

import (
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
)

// logCall and logResult write the two lines of an attempt to the logger of the request. Both lines
// leave out the texts of user and model, and the provider's messages, because these may quote them.

// logCall logs that a request goes out, with its size and without its text.
func (c *call) logCall(attempt int) {
	e := zerolog.Ctx(c.parent).Info()
	if !e.Enabled() {
		return
	}
	e.Dict("details", c.m.withModelKey(zerolog.Dict().
		Str("model", c.m.cfg.Name).
		Int("step", c.req.Step).
		Int("prompt_length", len(c.body.data)). // bytes of the request
		Int("attempt", attempt))).
		Msg(c.m.cfg.Event + "_called")
}

// withModelKey adds which of several models it is.
func (m *Model) withModelKey(details *zerolog.Event) *zerolog.Event {
	if m.cfg.Key == "" {
		return details
	}
	return details.Str("key", m.cfg.Key).Str("provider", m.cfg.Provider)
}

// logResult logs how an attempt ended. It has counts in place of texts. The error is cut and has no
// key (withoutMessage).
func (c *call) logResult(attempt int, elapsed time.Duration) {
	said, end := &c.tally, &c.end
	c.warnTruncated(said, end)
	c.warnUnknown(said.stats.Unknown)
	level := zerolog.InfoLevel
	if end.outcome != OutcomeOK && end.outcome != OutcomeCancelled {
		level = zerolog.WarnLevel
	}
	e := zerolog.Ctx(c.parent).WithLevel(level)
	if !e.Enabled() {
		return
	}
	details := c.m.withModelKey(zerolog.Dict().
		Str("model", c.m.cfg.Name).
		Int("step", c.req.Step).
		Int("attempt", attempt).
		Str("outcome", end.outcome).
		Int("response_length", said.stats.TextLength). // bytes of answer, without thoughts
		Int("tokens_used", said.usage.InputTokens+said.usage.OutputTokens+said.usage.ThinkingTokens).
		Str("finish_reason", finishFor(said, end)))
	if c.m.cfg.Key != "" {
		details.Str("answered_by", printableName(said.stats.Model))
	}
	if end.cause != nil {
		details.AnErr("cause", withoutMessage(end.cause))
	}
	e.Int64("duration_ms", elapsed.Milliseconds()).Dict("details", details).Msg(c.m.cfg.Event + "_result")
}

// finishFor returns how the answer ended: our word for a good ending, the provider's
// for another, or else what became of the attempt.
func finishFor(said *tally, end *ending) string {
	if end.outcome == OutcomeOK {
		return string(said.finish)
	}
	if reason := Word(said.stats.Finish); reason != "" && said.finish == chat.FinishNone {
		return reason
	}
	return end.outcome
}

// maxModelName bounds the model's name of an answer in the log.
const maxModelName = 128

// printableName returns name if it can be a model's, else "".
func printableName(name string) string {
	if len(name) > maxModelName {
		return ""
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return ""
		}
	}
	return name
}

// logDropped reports, once a member, that requests go without it from now on.
func (c *call) logDropped(member string) {
	zerolog.Ctx(c.parent).Warn().Dict("details", zerolog.Dict().
		Str("key", c.m.cfg.Key).
		Str("member", member)).
		Msg("model_parameter_dropped")
}

// maxUnknown bounds the unknown words of a model that are remembered.
const maxUnknown = 64

// warnUnknown reports, once a word, that the provider ended an answer with a word of its own.
func (c *call) warnUnknown(word string) {
	if word == "" || !c.m.unknown.add(word) {
		return
	}
	zerolog.Ctx(c.parent).Warn().Dict("details", zerolog.Dict().
		Str("key", c.m.cfg.Key).
		Str("finish_reason", word)).
		Msg("model_finish_unknown")
}

// words are those that were logged. It is safe for concurrent use.
type words struct {
	mu   sync.Mutex // guards the field below
	seen []string
}

// add reports whether word is new and there is room for it.
func (w *words) add(word string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) >= maxUnknown || slices.Contains(w.seen, word) {
		return false
	}
	w.seen = append(w.seen, word)
	return true
}

// A request of this many bytes, or more, is too long for a guess of its tokens to be
// half wrong.
const (
	longPrompt     = 8 << 10
	truncatedEvery = time.Hour
)

// isTruncated reports whether the provider counted far fewer tokens than a long request has.
func (t *tally) isTruncated() bool {
	return t.prompt > longPrompt && !t.usage.Estimated && t.usage.InputTokens != 0 && 2*t.usage.InputTokens < estimateTokens(t.prompt)
}

// warnTruncated reports, once an hour, that the provider counted far fewer tokens than the
// request has: some cut a prompt to the context that they were started with, and do not say so.
func (c *call) warnTruncated(said *tally, end *ending) {
	m := c.m
	if m.cfg.Key == "" || end.outcome != OutcomeOK || !said.isTruncated() {
		return
	}
	now, last := time.Now().Unix(), m.warned.Load()
	if last != 0 && now-last < int64(truncatedEvery/time.Second) || !m.warned.CompareAndSwap(last, now) {
		return
	}
	zerolog.Ctx(c.parent).Warn().Dict("details", zerolog.Dict().Str("key", m.cfg.Key)).Msg("model_prompt_truncated")
}
