package quality

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Around returns a runner for requests for which Applies is true.
func (c *Checker) Around(inner stream.Runner, agent string) stream.Runner {
	return &runner{c, inner, agent}
}

// runner runs the turns of one request.
type runner struct {
	*Checker
	inner stream.Runner
	agent string
}

// Run implements stream.Runner.
func (r *runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	t := newTurn(r, ctx, req, sink)
	if saved, err := readSavedDelivery(req); err != nil {
		return t.out, err
	} else if saved != nil {
		return t.deliverAgain(saved), t.sink.Err
	}
	defer t.planning.stop()
	err := t.runInner(r.inner)
	t.reportChecks(err)
	return t.out, err
}

// newTurn begins a turn.
func newTurn(r *runner, ctx context.Context, req *chat.Request, sink stream.Sink) *turn {
	t := &turn{
		Checker: r.Checker, brief: r.briefOf(req), rules: rules{agent: r.agent}, rounds: rounds{attempt: 1},
		ctx: ctx, sink: run.Out{Sink: sink}, start: time.Now(),
	}
	t.Owner = t
	return t
}

// runInner runs the inner runner, and handles its answer by the settings.
func (t *turn) runInner(inner stream.Runner) error {
	if t.agent != "" || !t.cfg.Spec.hasAgentSettings() {
		t.applyRules()
	}
	if t.sink.Err != nil {
		return t.sink.Err
	}
	err := t.askInner(inner)
	defer t.settleInner("") // unless something was sent
	t.applyRules()
	if err == nil && t.sink.Err != nil {
		err = t.sink.Err
	}
	if err == nil && t.out.Reason == "" {
		err = errors.New("the runner returned before its answer was complete")
	}
	if err == nil {
		err = t.handleAnswer()
	} else {
		t.endWithoutAnswer()
	}
	if err != nil {
		return err
	}
	if t.awaitsPlan() { // reportChecks waits for the plan; without a wait, Done goes out together with the text
		t.sink.Flush()
	}
	return t.sink.Err
}

// askInner has the inner runner answer.
func (t *turn) askInner(inner stream.Runner) (err error) {
	t.begun = true
	own, began := t.innerRequest(), time.Now()
	own.Facts.Held = t.decideHold
	if t.watched || !t.settled {
		t.evidence.restore(t.req.Resumed)
		t.evidence.storeOnPause(&own.Facts)
	}
	t.out, err = inner.Run(t.ctx, own, t)
	t.logAnswer(began, err)
	return err
}

// handleAnswer checks or sends the answer of the inner runner.
func (t *turn) handleAnswer() error {
	switch {
	case t.endsWithQuestion():
		t.sendUnchecked()
	case !t.held && !t.watched:
		t.sendText(t.after)
	default:
		if err := t.finishAnswer(); err != nil {
			t.endWithoutAnswer()
			return err
		}
	}
	return nil
}

// decideHold settles the turn, and reports whether its answer is held back.
func (t *turn) decideHold() bool {
	t.applyRules()
	return t.held
}

// applyRules decides what becomes of the answer, and has the planner begin.
func (t *turn) applyRules() {
	if !t.fixSettings(&t.cfg.Spec, &t.brief) {
		return
	}
	if t.held || t.watched {
		t.Max, t.Long = maxHeld, tooLong()
	}
	if !t.watched {
		return
	}
	if t.set.Plan != noPlan {
		t.beginPlan()
	}
	t.reportPhase(stream.Extracting)
}

// beginPlan has the planner begin, and waits for a plan that is to guide the answer.
func (t *turn) beginPlan() {
	t.reportPhase(stream.Planning)
	t.planning = t.askPlanner()
	if t.set.Plan == guide && !t.begun {
		t.awaitPlan()
		t.sink.Emit(t.phaseEvent(stream.Planning, func(q *stream.Quality) { q.Plan = t.executionPlan(planCreated) }))
	}
}

// innerRequest returns the request as the inner runner gets it. How to write is an
// instruction; the steps of a plan are data, since a model has made them.
func (t *turn) innerRequest() *chat.Request {
	var parts []string
	if t.req.Instruction != "" {
		parts = append(parts, t.req.Instruction)
	}
	if t.cfg.Style != nil {
		parts = append(parts, t.cfg.Style.Instruction(t.req, t.channel))
	}
	own := *t.req
	own.Instruction = strings.Trim(strings.Join(parts, "\n\n"), "\n")
	if t.plan != nil && t.set.Plan == guide && len(t.plan.steps) > 0 {
		own.Data = append(slices.Clip(own.Data), t.plan.guideQuote())
	}
	return &own
}

// CallID implements run.Owner: the owner of a call was set further inside.
func (t *turn) CallID(own string, _ bool) string { return own }

// Pass implements run.Owner. Events without text pass.
func (t *turn) Pass(ev stream.Event, inner bool) error {
	switch ev := ev.(type) {
	case *stream.Thinking:
		if t.watched && t.set.HideThinking {
			return t.sink.Err
		}
	case *stream.ToolCompleted:
		if t.watched || !t.settled {
			t.evidence.add(ev)
		}
	case *stream.Route:
		return t.passRoute(ev)
	case *stream.AgentRun:
		t.recordRunEnd(ev, inner)
	case *stream.InnerDelta:
		if t.held && !t.drafts {
			return t.sink.Err
		}
	case *stream.Approval:
		t.sendUnchecked()
	case *stream.Reset:
		return t.passReset(ev)
	}
	return t.sink.Emit(ev)
}

// recordRunEnd records the end of an agent, but not of an agent inside another one.
func (t *turn) recordRunEnd(ev *stream.AgentRun, inner bool) {
	if ev.Success != nil && !inner {
		t.recordAgent(ev)
		t.logAgent(ev)
	}
}

// passRoute passes the route, and begins the work that waits for the choice of an agent.
func (t *turn) passRoute(ev *stream.Route) error {
	if t.sink.Emit(ev); !t.settled {
		if ev.Decision == stream.Routed {
			t.assignAgent(ev.AgentID)
		}
		t.applyRules()
	}
	return t.sink.Err
}

// passReset takes back text of the inner runner. A held answer was not shown, so the event is
// dropped.
func (t *turn) passReset(ev *stream.Reset) error {
	t.chars = max(0, t.chars-ev.Runes)
	t.pieces.cut(ev.Back)
	if t.held {
		return t.sink.Err
	}
	return t.sink.Emit(ev)
}

// Flush implements stream.Sink.
func (t *turn) Flush() error {
	return t.sink.Flush()
}

// EmitText implements run.Owner.
func (t *turn) EmitText(ev *stream.Delta) error {
	t.applyRules()
	if !t.held && !t.watched { // there is a style
		if t.firstText.IsZero() {
			t.firstText = time.Now()
			t.sendText(t.before)
		}
		return t.sink.Emit(ev)
	}
	t.pieces.add(ev.Text, ev.Attribution)
	first := t.reportComposing(utf8.RuneCountInString(ev.Text))
	switch {
	case !t.held:
		if first {
			t.sendText(t.before)
		}
		t.sink.Emit(ev)
	case t.drafts:
		if first {
			t.showDraft(t.before, stream.Attribution{})
		}
		t.showDraft(ev.Text, ev.Attribution)
	}
	return t.sink.Err
}

// reportComposing says that there is text, and once a second how much. It returns whether this is the
// first.
func (t *turn) reportComposing(chars int) (first bool) {
	first, due := t.countText(chars, time.Now())
	switch {
	case first:
		t.reportPhase(stream.Composing)
	case due:
		t.sink.Emit(t.phaseEvent(stream.Composing, func(q *stream.Quality) { q.Chars = t.chars }))
	}
	return first
}

// endsWithQuestion reports whether the turn ends with a question to a person, or with calls for the
// client. Such a turn has not answered.
func (t *turn) endsWithQuestion() bool {
	switch t.out.Reason {
	case stream.Stop, stream.MaxTokens, stream.MaxSteps:
		return false
	}
	return true
}

// endWithoutAnswer ends a turn without an answer. The held text is dropped.
func (t *turn) endWithoutAnswer() {
	t.outcome, t.pieces = stream.NotEvaluated, holding{}
	if t.watched && !t.released {
		t.reportPhase(stream.Failing)
	}
}
