package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// turn is one run of the loop. All of it belongs to one goroutine; the tools run
// in others, which report back to it.
type turn struct {
	agent *Agent
	ctx   context.Context
	sink  run.Out
	log   *zerolog.Logger

	budget *chat.TokenBudget // nil: none
	req    *chat.Request     // whose turn it is

	state      State
	inputCount int // of the messages those that were there when the turn began
	// before has the numbers of durations in the state when the turn began: these were reported
	// then.
	before struct{ model, tools int }
	// tools is the set of this step. It may be another one in the next:
	// servers come and go.
	tools *tool.Set
	// clients are the client's tools, and required the calls of them that end the turn.
	clients   merged
	required  *stream.Required
	request   chat.ModelRequest // of the step at hand
	step      step
	shownText string // of the answer at hand, by a process that is gone
	hand      atHand // zero: nothing of the step is saved
	ofModel   modelCall
}

// beginTurn makes the first State of a turn.
func (t *turn) beginTurn(req *chat.Request) error {
	if err := t.stopCause(); err != nil {
		return err
	}
	t.state.Access = req.Tools
	t.listTools()
	t.makePrompt(req)
	return t.stopCause()
}

// makePrompt makes the prompt and the messages of a turn that begins with the tools that there are.
func (t *turn) makePrompt(req *chat.Request) {
	t.state.System = t.agent.systemPrompt(req)
	line := req.Line
	if line == "" {
		line = t.agent.clock.Line(req.Location)
	}
	offered := func(name string) bool { return t.tools.Lookup(name) != nil }
	t.state.Messages = req.WithMoment(chat.Portable(req.Dated(line), t.agent.cfg.Origin, offered), line, unavailableNote(t.tools))
	if req.App != nil {
		t.state.Messages = append(t.state.Messages, chat.Portable(capResults(req.App.Continues), t.agent.cfg.Origin, offered)...)
	}
	t.inputCount = len(t.state.Messages)
}

// listTools finds the tools of this turn and reports the unavailable servers. If a server's tools
// still have fallbacks, it is reported when they are called: only then is it known whether the turn
// misses it.
func (t *turn) listTools() {
	t.tools = t.availableTools()
	for _, u := range t.tools.Unavailable {
		if t.stopCause() == nil && !hasToolOf(t.tools, u.Server) {
			t.reportFailure(u.Err)
		}
	}
	t.sink.Flush()
}

// availableTools returns the tools that this turn may call, with those of the client.
func (t *turn) availableTools() *tool.Set {
	return t.clients.addClientTools(t.ofServers(), t.req.App)
}

// ofServers returns what servers run. A turn that may call nothing does not learn
// of servers that are unavailable.
func (t *turn) ofServers() *tool.Set {
	switch t.state.Access {
	case chat.ToolsAll:
		return t.agent.cfg.Tools.Tools(t.ctx)
	case chat.ToolsReadOnly:
		return t.agent.readOnly(t.agent.cfg.Tools.Tools(t.ctx))
	}
	return new(tool.Set)
}

// hasToolOf reports whether a server has any tool in the set.
func hasToolOf(tools *tool.Set, server string) bool {
	return slices.ContainsFunc(tools.Specs, func(s tool.Spec) bool { return s.Server == server })
}

// setState takes over an earlier State, with the request that it belongs to. A stored State
// belongs to no request.
func (t *turn) setState(s State) {
	if t.state, t.req = s, s.request; t.req == nil {
		t.req = new(chat.Request)
	}
}

// stopCause returns why the turn must stop, or nil.
func (t *turn) stopCause() error {
	if t.sink.Err != nil {
		return t.sink.Err
	}
	return fault.Cause(t.ctx)
}

// askModel makes the model call of a step, and once again when the model wrote a call
// that cannot be read. Not so when part of the answer is out: it would come twice.
func (t *turn) askModel(req *chat.ModelRequest) (chat.Finish, error) {
	t.step.gave = false
	finish, err := t.askOnce(req)
	if isMalformed(err) && !t.step.answered {
		finish, err = t.askOnce(req)
	}
	return finish, err
}

// isMalformed asks for a method, because agent knows no model: the creator of the error implements
// it.
func isMalformed(err error) bool {
	var m interface{ MalformedCall() bool }
	return errors.As(err, &m) && m.MalformedCall()
}

// askOnce asks the model and emits its answer while it comes. Usage and time are counted also if
// the answer fails.
func (t *turn) askOnce(req *chat.ModelRequest) (chat.Finish, error) {
	if err := t.stopCause(); err != nil {
		return chat.FinishNone, err
	}
	t.step.reset(t.state.keptBytes)
	t.ofModel = modelCall{began: time.Now(), tail: t.state.Tail}
	if req.ShownText != "" {
		t.continueShown(req)
	}
	return t.endModelCall(req, t.agent.cfg.Model.Stream(t.ctx, req, t.acceptChunk))
}

// modelCall is the state of the model call at hand. It is a field of the turn, as the frames of a
// waiting model call should be small (docs/performance.md).
type modelCall struct {
	began  time.Time
	usage  chat.Usage
	finish chat.Finish
	// stale is text that was shown of an answer that failed. It is taken back when another model
	// answers. tail is State.Tail before the answer.
	stale stale
	tail  byte
}

// stale is text that was shown and does not count any more.
type stale struct{ bytes, runes int }

// acceptChunk takes a piece of the answer.
func (t *turn) acceptChunk(c *chat.Chunk) error {
	if c.Usage != nil {
		t.ofModel.usage = *c.Usage
	}
	if c.Finish != chat.FinishNone {
		t.ofModel.finish = c.Finish
	}
	switch {
	case c.Switch != nil && c.Switch.Continued:
		t.continueAnswer(c.Switch)
	case c.Restarted || c.Switch != nil:
		t.restartAnswer(c.Switch)
	}
	if len(c.Parts) > 0 {
		t.step.gave = true
		t.step.setMaker(c.Maker)
		if err := t.acceptParts(c.Parts); err != nil {
			return err
		}
	}
	if !c.More {
		t.sink.Flush()
	}
	return t.sink.Err
}

// endModelCall counts a model call that is over.
func (t *turn) endModelCall(req *chat.ModelRequest, err error) (chat.Finish, error) {
	t.state.Model = append(t.state.Model, time.Since(t.ofModel.began))
	t.state.Usage.Add(t.ofModel.usage)
	if t.budget != nil {
		t.budget.Spend(t.ofModel.usage)
	}
	t.step.sealText()
	if n := t.step.thoughts; n > 0 {
		t.log.Info().Dict("details", zerolog.Dict().Int("step", req.Step).Int("reasoning_step", req.Step).Int("thought_length", n)).Msg("agent_reasoning")
	}
	if err == nil && t.ofModel.finish == chat.FinishNone {
		err = &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage,
			Err: errors.New("the answer ended without a finish reason")}
	}
	return t.ofModel.finish, err
}

// restartAnswer forgets an answer that failed, and reports another model that answers now.
func (t *turn) restartAnswer(to *chat.Switch) {
	if t.step.answered {
		t.ofModel.stale = t.step.measureShown(t.ofModel.tail)
	}
	t.step.reset(t.state.keptBytes)
	if to == nil {
		return
	}
	s := &t.state
	t.changeModel(to)
	if old := t.ofModel.stale; old.bytes > 0 {
		t.ofModel.stale, s.Tail = stale{}, t.ofModel.tail
		t.sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: old.bytes, Runes: old.runes})
	}
}

// changeModel notes the model that answers from here on, and reports it.
func (t *turn) changeModel(to *chat.Switch) {
	s := &t.state
	s.Answered = to.Key
	if to.Key != to.Previous {
		if s.Steps > 1 || t.step.gave {
			s.addModel(to.Previous)
		}
		s.addModel(to.Key)
	}
	if to.Key != to.Previous || to.Continued {
		t.sink.Emit(&stream.ModelChanged{Step: s.Steps, Key: to.Key, Model: to.Model, Previous: to.Previous, Reason: to.Reason, Continued: to.Continued})
	}
}

// continueAnswer goes on behind the text so far. Signatures and data of its maker do not go back:
// two calls have written it.
func (t *turn) continueAnswer(to *chat.Switch) {
	t.step.joinMakers()
	t.changeModel(to)
}

// continueShown begins the answer with the text that another process has emitted. The joint between
// two steps does not belong to it.
func (t *turn) continueShown(req *chat.ModelRequest) {
	text := req.ShownText
	if tail := t.state.Tail; tail != 0 && !isSpace(tail) {
		req.ShownText = strings.TrimPrefix(text, between)
	}
	if req.ShownText != "" {
		t.step.gave = true
		t.step.addText(&chat.Part{Text: req.ShownText})
	}
	t.state.Tail = text[len(text)-1]
}

// addModel adds a model that has answered.
func (s *State) addModel(key string) {
	if !slices.Contains(s.Models, key) {
		s.Models = append(s.Models, key)
	}
}

// acceptParts takes the parts of a chunk. There is mostly one, but a chunk has room for
// tens of thousands, and the turn may end meanwhile.
func (t *turn) acceptParts(parts []chat.Part) error {
	for i := range parts {
		if i > 0 {
			if err := t.stopCause(); err != nil {
				return err
			}
		}
		t.acceptPart(&parts[i])
	}
	return nil
}

// acceptPart takes one part of the answer. Thoughts are emitted and dropped, text is emitted and
// stored, and calls are stored until the answer is complete. The provider's data stays with either.
func (t *turn) acceptPart(p *chat.Part) {
	switch {
	case p.Thought:
		if p.Text != "" {
			t.step.thoughts += len(p.Text)
			t.sink.Emit(&stream.Thinking{Content: p.Text})
		}
		if p.Kept != "" {
			t.step.addProviderData(p.Kept)
		}
	case p.Call != nil:
		t.step.addCall(p)
	default:
		first := !t.step.answered
		t.step.addText(p)
		if p.Text != "" {
			t.emitText(p.Text, first)
		}
	}
}

// emitText shows a piece of the answer. The texts of two steps have tool calls between them, and
// the model ends the one without regard to the other. If neither has white space, a blank line
// separates them.
func (t *turn) emitText(text string, first bool) {
	if first && needsGap(t.state.Tail, text) {
		t.step.delta.Text = between
		t.sink.Emit(&t.step.delta)
	}
	t.state.Tail = text[len(text)-1]
	t.step.delta.Text = text
	t.sink.Emit(&t.step.delta)
}

// between is what emitText puts between two texts.
const between = "\n\n"

// needsGap reports whether a text needs something between itself and the one before, which ends so.
func needsGap(tail byte, text string) bool { return tail != 0 && !isSpace(tail) && !isSpace(text[0]) }

// isSpace reports whether c is white space of ASCII. Others belong to the text.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// reportFailure logs err and emits it: the turn continues without the failed part. An unavailable
// server is reported once.
func (t *turn) reportFailure(err error) {
	f := fault.From(err)
	if f.Type == fault.MCPUnavailable && f.Service != "" {
		if slices.Contains(t.state.Missing, f.Service) {
			return
		}
		t.state.Missing = append(t.state.Missing, f.Service)
	}
	t.log.Warn().Dict("details", zerolog.Dict().
		Str("error_type", string(f.Type)).
		AnErr("error_message", errors.New(fault.LogText(err, t.agent.cfg.LogPayloads))).
		Bool("recoverable", f.Type.Recoverable())).Msg("error_occurred")
	t.sink.Emit(stream.NewError(f, false))
}
