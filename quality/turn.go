package quality

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/chat"
	"sluice/fault"
	"sluice/run"
	"sluice/stream"
)

// maxHeld bounds a text that is held back, in bytes.
const maxHeld = 2 << 20

// reportEvery is how often a client learns how long a text has become.
const reportEvery = time.Second

// turn is one turn. All of it belongs to the goroutine that called Run, but for the
// planner's question. It is the branch of the inner runner.
type turn struct {
	run.Branch
	*Checker
	ctx   context.Context
	req   *chat.Request
	sink  run.Out
	start time.Time
	begun bool // the inner runner has

	channel string
	form    Formatter // nil: the answer stays as it is
	before  string    // of the style
	after   string
	locale  string

	agent   string // whose settings hold
	set     Settings
	settled bool
	watched bool // the answer is checked
	held    bool // and, or, held back
	drafts  bool

	pieces     holding // of the first attempt
	chars      int
	firstText  time.Time
	lastReport time.Time
	draft      stream.InnerDelta // reused for each event
	released   bool              // the text is out: the turn ends with a question
	sentAt     time.Time

	evidence evidence
	ended    map[string]bool // agents, and whether they did their part
	planning *planning
	plan     *plan
	card     []criterion
	attempt  int
	attempts []*attempt
	outcome  stream.Outcome
	passed   bool
	final    *attempt // that was sent, or the graceful text's; nil: none
	costs    costs

	out    stream.Result
	checks stream.Checks
}

// costs is what the receipt says about times and tokens.
type costs struct {
	ms    stream.ReceiptMillis
	usage chat.Usage
}

func tooLong() error {
	return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the text is too long")}
}

// newTurn begins a turn, whose channel decides which form and which criteria
// there are.
func newTurn(r *runner, ctx context.Context, req *chat.Request, sink stream.Sink) *turn {
	t := &turn{Checker: r.Checker, ctx: ctx, req: req, sink: run.Out{Sink: sink}, start: time.Now(), agent: r.agent, attempt: 1, channel: req.Channel}
	t.Owner = t
	if t.channel == "" {
		t.channel = web
	}
	t.form, t.locale = r.formatter(req), req.Locale
	if r.cfg.Style != nil {
		t.before, t.after = r.cfg.Style.Around(req, t.channel)
		t.locale = r.cfg.Style.Language(req)
	}
	return t
}

// run asks the inner runner, and does with its answer what the settings say.
func (t *turn) run(inner stream.Runner) error {
	if t.agent != "" || !t.cfg.Spec.own() {
		t.settle()
	}
	if t.sink.Err != nil {
		return t.sink.Err
	}
	var err error
	t.begun = true
	own, began := t.instructed(), time.Now()
	own.Facts.Held = t.holds
	if t.watched || !t.settled {
		t.evidence.restore(t.req.Resumed)
		t.evidence.keep(&own.Facts)
	}
	t.out, err = inner.Run(t.ctx, own, t)
	t.logAnswer(began, err)
	defer t.keep("") // unless something was sent
	t.settle()
	if err == nil && t.sink.Err != nil {
		err = t.sink.Err
	}
	if err == nil && t.out.Reason == "" {
		err = errors.New("the runner returned before its answer was complete")
	}
	switch {
	case err != nil:
		return t.fail(err)
	case t.pauses():
		t.release()
	case !t.held && !t.watched:
		t.say(t.after)
	default:
		if err := t.finish(); err != nil {
			return t.fail(err)
		}
	}
	if t.planning != nil && t.plan == nil { // it is waited for; else done goes out with the text
		t.sink.Flush()
	}
	return t.sink.Err
}

// holds settles the turn, and says whether its answer is held back.
func (t *turn) holds() bool {
	t.settle()
	return t.held
}

// keep has the inner runner keep what is sent, if it keeps its answer.
func (t *turn) keep(sent string) {
	settle := t.out.Settle
	if settle == nil {
		return
	}
	t.out.Settle = nil
	if err := settle(sent); err != nil && t.sink.Err == nil {
		t.sink.Err = err
	}
}

// settle decides what becomes of the answer, and has the planner begin.
func (t *turn) settle() {
	if t.settled {
		return
	}
	t.settled = true
	t.set = t.cfg.Spec.on(t.agent, t.channel)
	t.watched = t.set.Mode == Observe || t.set.Mode == Enforce
	t.held = t.set.Mode == Enforce || t.form != nil
	t.drafts = t.held && t.set.drafts(t.req)
	if t.held || t.watched {
		t.Max, t.Long = maxHeld, tooLong()
	}
	if !t.watched {
		return
	}
	if t.set.Plan != noPlan {
		t.report(stream.Planning)
		t.planning = t.askPlanner()
		if t.set.Plan == guide && !t.begun {
			t.awaitPlan()
			t.sink.Emit(t.phase(stream.Planning, func(q *stream.Quality) { q.Plan = t.executionPlan(planCreated) }))
		}
	}
	t.report(stream.Extracting)
}

// instructed returns the request as the inner runner gets it. How to write is an
// instruction; the steps of a plan are data, since a model has made them.
func (t *turn) instructed() *chat.Request {
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
		own.Data = append(slices.Clip(own.Data), t.plan.guide())
	}
	return &own
}

// CallID implements run.Owner: the owner of a call was set further inside.
func (t *turn) CallID(own string, _ bool) string { return own }

// Pass implements run.Owner. What is not text passes.
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
		if t.sink.Emit(ev); !t.settled {
			if ev.Decision == stream.Routed {
				t.agent = ev.AgentID
			}
			t.settle()
		}
		return t.sink.Err
	case *stream.AgentRun:
		if ev.Success != nil && !inner {
			t.ran(ev)
		}
	case *stream.InnerDelta:
		if t.held && !t.drafts {
			return t.sink.Err
		}
	case stream.Extension:
		if ev.Name() == "approval" {
			t.release()
		}
	}
	return t.sink.Emit(ev)
}

// ran notes whether an agent ended well. A later run replaces an earlier one.
func (t *turn) ran(ev *stream.AgentRun) {
	if t.ended == nil {
		t.ended = map[string]bool{}
	}
	t.ended[ev.AgentID] = *ev.Success
	t.logAgent(ev)
}

// Flush implements stream.Sink.
func (t *turn) Flush() error {
	return t.sink.Flush()
}

// Say implements run.Owner.
func (t *turn) Say(ev *stream.Delta) error {
	t.settle()
	if !t.held && !t.watched { // there is a style
		if t.firstText.IsZero() {
			t.firstText = time.Now()
			t.say(t.before)
		}
		return t.sink.Emit(ev)
	}
	t.pieces.add(ev.Text, ev.Attribution)
	t.composing(utf8.RuneCountInString(ev.Text))
	switch {
	case !t.held:
		if len(t.pieces.ends) == 1 {
			t.say(t.before)
		}
		t.sink.Emit(ev)
	case t.drafts:
		if len(t.pieces.ends) == 1 {
			t.show(t.before, stream.Attribution{})
		}
		t.show(ev.Text, ev.Attribution)
	}
	return t.sink.Err
}

// show emits a piece of the draft of the attempt under way. Pieces joined are what is checked:
// with what the style adds.
func (t *turn) show(text string, who stream.Attribution) {
	if text == "" {
		return
	}
	t.draft = stream.InnerDelta{Attribution: who, Delta: text, Attempt: t.attempt}
	t.sink.Emit(&t.draft)
}

// composing says that there is text, and once a second how much.
func (t *turn) composing(chars int) {
	t.chars += chars
	now := time.Now()
	first := t.firstText.IsZero()
	if !first && now.Sub(t.lastReport) < reportEvery {
		return
	}
	t.lastReport = now
	if first {
		t.firstText = now
		t.report(stream.Composing)
		return
	}
	t.sink.Emit(t.phase(stream.Composing, func(q *stream.Quality) { q.Chars = t.chars }))
}

// pauses says whether the turn ends with a question to somebody: that is not an answer.
func (t *turn) pauses() bool {
	switch t.out.Reason {
	case stream.Stop, stream.MaxTokens, stream.MaxSteps:
		return false
	}
	return true
}

// fail ends a turn without an answer. What is held back is dropped.
func (t *turn) fail(err error) error {
	t.outcome, t.pieces = stream.NotEvaluated, holding{}
	if t.watched && !t.released {
		t.report(stream.Failing)
	}
	return err
}

// phase returns the event of a phase.
func (t *turn) phase(p stream.Phase, fill func(*stream.Quality)) *stream.Quality {
	q := &stream.Quality{Phase: p, Attempt: t.attempt, Millis: time.Since(t.start).Milliseconds()}
	if fill != nil {
		fill(q)
	}
	return q
}

// report reports a phase, if it is one of this turn's. Code that waits within a phase flushes
// before that; a phase without a wait is over before a client could have read of it.
func (t *turn) report(p stream.Phase) {
	if !t.watched && p != stream.Composing && p != stream.Formatting && p != stream.Sending {
		return
	}
	t.sink.Emit(t.phase(p, nil))
}

// warn reports what went wrong without ending the turn.
func (t *turn) warn(kind fault.Type, message string) {
	t.sink.Emit(stream.NewError(&fault.Error{Type: kind, Message: message}, false))
}
