package agent

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// turn is one run of the loop. All of it belongs to one goroutine; the tools run
// in others, which report back to it.
type turn struct {
	agent *Agent
	ctx   context.Context
	req   chat.Request
	sink  stream.Sink
	log   *zerolog.Logger
	told  error // the sink's first error; nothing is told after it

	request  chat.ModelRequest // of the step at hand
	messages []chat.Message
	step     step
	tail     byte // the last one of the text shown; 0: none was
	calls    ledger

	usage   chat.Usage
	models  []time.Duration
	timings []stream.ToolTiming
	reason  stream.FinishReason
}

func (t *turn) run() error {
	t.emit(&stream.Start{ConversationID: t.req.ConversationID, UserID: t.req.UserID, Model: t.agent.cfg.Model.Name()})
	t.flush()
	if err := t.over(); err != nil {
		return err
	}
	tools := t.tools()
	t.messages = []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: t.req.Input}}}}
	req := &t.request
	*req = chat.ModelRequest{System: t.agent.systemPrompt(&t.req, tools), Tools: tools}
	for req.Step = 1; ; req.Step++ {
		last := req.Step >= t.agent.cfg.MaxSteps
		if last && len(tools.Specs) > 0 {
			req.NoTools = true
			req.System += lastStepNote
		}
		req.Messages = t.messages
		finish, err := t.ask(req)
		if err != nil {
			return err
		}
		if len(t.step.calls) == 0 || last {
			t.reason = reasonOf(finish, req.NoTools || len(t.step.calls) > 0)
			return nil
		}
		if err := t.runTools(tools); err != nil {
			return err
		}
	}
}

// tools returns what can be called in this turn, and tells what cannot. A turn that
// may call none does not learn of servers that are away.
func (t *turn) tools() *chat.ToolSet {
	if t.req.Tools != chat.ToolsAll && t.req.Tools != chat.ToolsReadOnly {
		return new(chat.ToolSet)
	}
	tools := t.agent.cfg.Tools.Tools(t.ctx)
	for _, u := range tools.Unavailable {
		if t.over() == nil {
			t.fail(u.Err, false)
		}
	}
	t.flush()
	if t.req.Tools == chat.ToolsReadOnly {
		return t.agent.readOnly(tools)
	}
	return tools
}

// reasonOf returns why a turn ended well. limited says that the model might have
// gone on, had it had more steps.
func reasonOf(f chat.Finish, limited bool) stream.FinishReason {
	switch {
	case f == chat.FinishMaxTokens:
		return stream.MaxTokens
	case limited:
		return stream.MaxSteps
	}
	return stream.Stop
}

// over returns why the turn must not begin anything more, or nil.
func (t *turn) over() error {
	if t.told != nil {
		return t.told
	}
	return fault.Cause(t.ctx)
}

// ask makes the model call of a step, and once again when the model wrote a call
// that cannot be read. Not so when part of the answer is out: it would come twice.
func (t *turn) ask(req *chat.ModelRequest) (chat.Finish, error) {
	finish, err := t.askOnce(req)
	if malformed(err) && !t.step.answered {
		finish, err = t.askOnce(req)
	}
	return finish, err
}

func malformed(err error) bool {
	var m interface{ MalformedCall() bool }
	return errors.As(err, &m) && m.MalformedCall()
}

func (t *turn) askOnce(req *chat.ModelRequest) (chat.Finish, error) {
	if err := t.over(); err != nil {
		return chat.FinishNone, err
	}
	t.step.reset()
	began := time.Now()
	var usage chat.Usage
	var finish chat.Finish
	err := t.agent.cfg.Model.Stream(t.ctx, req, func(c *chat.Chunk) error {
		if c.Usage != nil {
			usage = *c.Usage
		}
		if c.Finish != chat.FinishNone {
			finish = c.Finish
		}
		if err := t.parts(c.Parts); err != nil {
			return err
		}
		if !c.More {
			t.flush()
		}
		return t.told
	})
	t.models = append(t.models, time.Since(began))
	t.usage.Add(usage)
	t.step.seal()
	if n := t.step.thoughts; n > 0 {
		t.log.Info().Dict("details", zerolog.Dict().Int("step", req.Step).Int("thought_length", n)).Msg("agent_reasoning")
	}
	if err == nil && finish == chat.FinishNone {
		err = &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage,
			Err: errors.New("the answer ended without a finish reason")}
	}
	return finish, err
}

// parts takes the parts of a chunk. There is mostly one, but a chunk has room for
// tens of thousands, and the turn may end meanwhile.
func (t *turn) parts(parts []chat.Part) error {
	for i := range parts {
		if i > 0 {
			if err := t.over(); err != nil {
				return err
			}
		}
		t.part(&parts[i])
	}
	return nil
}

// part takes one part of the answer: thoughts are shown and forgotten, text is
// shown and kept, calls are kept for when the answer is complete.
func (t *turn) part(p *chat.Part) {
	switch {
	case p.Thought:
		if p.Text != "" {
			t.step.thoughts += len(p.Text)
			t.emit(&stream.Thinking{Content: p.Text})
		}
	case p.Call != nil:
		t.step.call(p)
	default:
		first := !t.step.answered
		t.step.text(p)
		if p.Text != "" {
			t.say(p.Text, first)
		}
	}
}

// say shows a piece of the answer. The texts of two steps are apart in time, with
// tool calls between them, and the model ends the one without a thought for the
// other: where neither has white space, a blank line keeps them from running into
// one another.
func (t *turn) say(text string, first bool) {
	if first && t.tail != 0 && !space(t.tail) && !space(text[0]) {
		t.step.delta.Text = "\n\n"
		t.emit(&t.step.delta)
	}
	t.tail = text[len(text)-1]
	t.step.delta.Text = text
	t.emit(&t.step.delta)
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// fail logs err and tells it.
func (t *turn) fail(err error, fatal bool) {
	f := fault.From(err)
	level := zerolog.WarnLevel
	if fatal {
		level = zerolog.ErrorLevel
	}
	t.log.WithLevel(level).Dict("details", zerolog.Dict().
		Str("error_type", string(f.Type)).
		AnErr("error_message", errors.New(fault.LogText(err, t.agent.cfg.LogPayloads))).
		Bool("recoverable", f.Type.Recoverable())).Msg("error_occurred")
	t.emit(stream.NewError(f, fatal))
}

func (t *turn) emit(ev stream.Event) {
	if t.told == nil {
		t.told = t.sink.Emit(ev)
	}
}

func (t *turn) flush() {
	if t.told == nil {
		t.told = t.sink.Flush()
	}
}
