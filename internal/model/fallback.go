package model

import (
	"context"
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
)

// Link is a model that a Chain, or Forms, can ask: a Model, or a Chain itself.
type Link interface {
	// Key is the model's in the configuration, Name what its provider calls it.
	Key() string
	Name() string
	// Stream makes one model call; see Model.Stream.
	Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error
}

// ChainConfig describes a Chain.
type ChainConfig struct {
	// Links are different models, in the order in which they are asked. There may be one alone.
	Links []Link
	// On lists the classes of failures after which the chain asks the next model.
	On []string
	// AfterText allows the next model also after a failure within an answer. The answer begins again
	// if the shown text can be reset: see chat.ModelRequest.Retracts. Else the next model continues
	// it.
	AfterText AfterText
	// Windows holds how many tokens a model takes, by key; 0: not known.
	Windows map[string]int
	// Metrics counts the changes of model, and the seams. Nil: they are not counted.
	Metrics *metrics.Registry
}

// Chain is a model with fallbacks: a call that fails before any text of its answer was
// handed on goes to the next model; with ChainConfig.AfterText one that fails later does, too. A
// single model is then asked once more. It is safe for concurrent use.
//
// If an answer fails, a chunk with Restarted resets its thoughts, calls and text. A chunk of Switch
// comes before the first part of another model's answer. So text that was taken back is always
// followed by a Switch, or by the call's error: then it stays. A text that another model continues
// is followed by a Switch with Continued. A request that names, in Answered, the model that the
// turn stays with begins with that one.
type Chain struct {
	cfg       ChainConfig
	fallbacks metrics.Counter
	seams     metrics.Counter
}

// NewChain returns a Chain.
func NewChain(cfg ChainConfig) (*Chain, error) {
	if len(cfg.Links) == 0 {
		return nil, errors.New("model: a chain has no model")
	}
	for i, l := range cfg.Links {
		if slices.ContainsFunc(cfg.Links[:i], func(m Link) bool { return m.Key() == l.Key() }) {
			return nil, errors.New("model: a chain has a model twice")
		}
	}
	return &Chain{cfg, cfg.Metrics.Counter("model_fallbacks_total", "Model calls that went to the next model of a chain.", "from", "to", "reason"),
		cfg.Metrics.Counter("seams_total", "Answers of models that were to continue a text.", "way", "outcome")}, nil
}

// Key returns that of the first model.
func (c *Chain) Key() string { return c.cfg.Links[0].Key() }

// Name returns that of the first model.
func (c *Chain) Name() string { return c.cfg.Links[0].Name() }

// AfterText returns the rule for a call that fails after its first text.
func (c *Chain) AfterText() AfterText { return c.cfg.AfterText }

// Stream makes one model call.
func (c *Chain) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	links := c.cfg.Links
	if i := slices.IndexFunc(links, func(l Link) bool { return l.Key() == req.Answered }); i > 0 {
		links = links[i:]
	}
	r := c.newRelay(ctx, req, yield, links[0])
	var first error
	for i := 0; ; i++ {
		l := links[i]
		err := c.overflowError(l, req, i == len(links)-1)
		if err == nil {
			err = r.askModel(l)
		}
		if err == nil || !r.mayContinue() {
			return err
		}
		if i == 0 {
			first = err
		}
		reason := Class(err)
		if i == len(links)-1 && c.asksOnceMore(&r, i, reason) {
			links = append(slices.Clip(links), l)
		}
		if i == len(links)-1 || !slices.Contains(c.cfg.On, reason) || reason == classBlocked && r.keepsText() {
			return r.finalError(first, err)
		}
		if err := r.endFailed(l, reason, err); err != nil {
			return err
		}
		if links[i+1] != l {
			c.reportFallback(ctx, l, links[i+1], reason, req.Step)
		}
	}
}

// newRelay returns the relay of a call. Its first model is l.
func (c *Chain) newRelay(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error, l Link) relay {
	r := relay{ctx: ctx, chain: c, req: req, sent: req, yield: yield, announced: l}
	switch after := c.cfg.AfterText; {
	case req.Hidden, after.IsOn() && req.Held, after.Restarts && req.Retracts:
		r.retracts = true
	case after.IsOn():
		r.continues = req.Seams.Remain()
	}
	r.acceptShown()
	return r
}

// asksOnceMore reports whether a chain of one model asks it again, in the middle of an answer.
func (c *Chain) asksOnceMore(r *relay, asked int, reason string) bool {
	return len(c.cfg.Links) == 1 && c.cfg.AfterText.IsOn() && asked == 0 && r.text && (reason == classUnavailable || reason == classTimeout)
}

// overflowError returns the error of a request that is too long for a model. It returns nil if On
// does not list overflow, or for the last model: then the provider decides.
func (c *Chain) overflowError(l Link, req *chat.ModelRequest, last bool) error {
	window := c.cfg.Windows[l.Key()]
	if window == 0 || last || !slices.Contains(c.cfg.On, classOverflow) || requestBytes(req)/bytesPerToken <= window {
		return nil
	}
	return &fault.Error{Type: fault.ModelError, Message: "The conversation is too long for the AI service", Service: "model:" + l.Key(),
		Err: &Refusal{Kind: KindOverflow}}
}

// bytesPerToken is the rule of thumb without a count by the provider.
const bytesPerToken = 4

// requestBytes returns about how many bytes of a request the model reads.
func requestBytes(req *chat.ModelRequest) int {
	n := len(req.System)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			n += len(p.Text)
			if p.Call != nil {
				n += len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Text)
			}
		}
	}
	if req.Tools != nil {
		for i := range req.Tools.Specs {
			s := &req.Tools.Specs[i]
			n += len(s.Name) + len(s.Description) + len(s.InputSchema)
		}
	}
	return n
}

// reportFallback counts and logs that another model is asked. reason is a class, so that no
// text of a provider's becomes a label.
func (c *Chain) reportFallback(ctx context.Context, from, to Link, reason string, step int) {
	c.fallbacks.Inc(from.Key(), to.Key(), reason)
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().
		Str("from", from.Key()).Str("to", to.Key()).Str("reason", reason).Int("step", step)).Msg("model_fallback")
}

// reportedError returns the error of a call without an answer: the last one, or the first if the
// breaker refused the last model.
func reportedError(first, last error) error {
	if _, refused := errors.AsType[*breaker.OpenError](last); refused {
		last = first
	}
	if f, ok := errors.AsType[*fault.Error](last); ok && isMalformedCall(last) {
		settled := *f // it was asked for twice
		settled.Err = &askedTwice{f.Err}
		return &settled
	}
	return last
}

// askedTwice wraps the error of a malformed call so that it is not retried again.
type askedTwice struct{ err error }

// It is the text of the model's own failure: the chain adds nothing to it.
func (e *askedTwice) Error() string { return e.err.Error() }

// relay hands on the answer to one call, from each model in turn.
type relay struct {
	ctx   context.Context
	chain *Chain
	req   *chat.ModelRequest
	sent  *chat.ModelRequest // to the current model
	// yield is the caller's, who sees one answer whichever model it is of.
	yield func(*chat.Chunk) error

	announced Link   // the model that the caller takes the answer to be of
	reason    string // the class of its failure; empty: it has not failed
	link      Link   // the model that is asked
	asksAgain bool   // the same model is asked once more

	yielded   bool  // a chunk of this answer was handed on
	text      bool  // text was: nothing can be taken back, unless retracts
	callerErr error // the caller's own error; not noted once there was text, unless retracts
	// The usage of the call's failed answers, and of the current one so far.
	spent, usage chat.Usage
	total        chat.Usage // of both, for the chunk at hand

	retracts bool
	size     int // with retracts or continues: bytes of the answer at hand

	continues bool     // another call may continue the shown text
	pieces    []string // with continues: the shown text of the answer at hand
	shownText string   // of the answers before: the next one continues it
	broken    error    // why that text ended
	joint     *joint   // of the answer at hand, if it continues shown
}

// askModel asks a model, and once more if it wrote a call that cannot be read.
func (r *relay) askModel(l Link) error {
	r.link = l
	if r.shownText != "" {
		return r.continueWith(l)
	}
	yield := r.forwardChunk
	switch {
	case r.retracts:
		yield = r.measureChunk
	case r.continues:
		yield = r.keepChunk
	}
	err := l.Stream(r.ctx, r.req, yield)
	if !isMalformedCall(err) || r.text || !r.mayContinue() {
		return err
	}
	if err := r.voidAnswer(); err != nil {
		return err
	}
	return l.Stream(r.ctx, r.req, yield)
}

// measureChunk hands on a chunk of an answer that may be reset, and counts its bytes: a provider
// does not report an answer that breaks off.
func (r *relay) measureChunk(c *chat.Chunk) error {
	for i := range c.Parts {
		p := &c.Parts[i]
		r.size += len(p.Text)
		if p.Call != nil {
			r.size += len(p.Call.Name) + len(p.Call.Arguments)
		}
	}
	return r.forwardChunk(c)
}

// forwardChunk hands on a chunk of the answer.
func (r *relay) forwardChunk(c *chat.Chunk) error {
	if r.text && c.Usage == nil && !r.retracts && !r.continues { // nearly all of them
		return r.yield(c)
	}
	if (r.link != r.announced || r.asksAgain) && len(c.Parts) > 0 {
		if err := r.announceModel(false); err != nil {
			return err
		}
	}
	if !r.text {
		r.text = slices.ContainsFunc(c.Parts, isAnswerText)
	}
	r.yielded = true
	if c.Usage != nil {
		r.usage = *c.Usage
		if r.spent != (chat.Usage{}) {
			r.total = r.spent
			r.total.Add(r.usage)
			own := c.Usage
			c.Usage = &r.total
			defer func() { c.Usage = own }()
		}
	}
	return r.yieldChunk(c)
}

// isAnswerText reports whether a part is text of the answer.
func isAnswerText(p chat.Part) bool {
	return p.Text != "" && !p.Thought && p.Call == nil && p.Result == nil
}

// announceModel hands on that the current model answers, or continues the shown text.
func (r *relay) announceModel(continued bool) error {
	to := chat.Switch{Key: r.link.Key(), Model: r.link.Name(), Previous: r.announced.Key(), Reason: r.reason, Continued: continued}
	r.announced, r.reason, r.asksAgain = r.link, "", false
	return r.yieldChunk(&chat.Chunk{Switch: &to, More: true})
}

// yieldChunk hands a chunk on, and remembers the caller's error: no further model is asked then.
func (r *relay) yieldChunk(c *chat.Chunk) error {
	err := r.yield(c)
	if err != nil {
		r.callerErr = err
	}
	return err
}

// mayContinue reports whether the call can still become an answer of another model.
func (r *relay) mayContinue() bool {
	return (!r.text || r.retracts || r.maySeam()) && r.callerErr == nil && r.ctx.Err() == nil
}

// endFailed ends the answer of a model that failed, so that another one can begin, or continue it.
func (r *relay) endFailed(l Link, reason string, err error) error {
	if r.announced == l {
		r.reason = reason
	}
	if r.keepsText() {
		return r.keepShown(reason, err)
	}
	r.asksAgain = r.text
	return r.voidAnswer()
}

// voidAnswer ends the answer at hand, so that another one can begin. The tokens of a voided answer
// were paid for.
func (r *relay) voidAnswer() error {
	again := chat.Chunk{Restarted: true}
	if r.text {
		r.estimateUsage()
	}
	r.spent.Add(r.usage)
	if r.text {
		r.total = r.spent
		again.Usage = &r.total
	}
	r.usage, r.size, r.text = chat.Usage{}, 0, false
	if !r.yielded {
		return nil
	}
	r.yielded = false
	return r.yieldChunk(&again)
}

// estimateUsage completes the usage of an answer that broke off behind its first text. Figures that
// the provider did not report follow from the sizes of the request and the text.
func (r *relay) estimateUsage() {
	u := &r.usage
	if u.InputTokens == 0 {
		u.InputTokens = requestBytes(r.sent) / bytesPerToken
	}
	u.OutputTokens = max(u.OutputTokens, (r.size+bytesPerToken-1)/bytesPerToken-u.ThinkingTokens)
	u.Estimated = true
}
