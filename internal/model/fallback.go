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
	// Links are the models, in the order in which they are asked: two or more, each
	// once.
	Links []Link
	// On lists the classes of failures after which the next one is asked.
	On []string
	// AfterText says that the next one is asked also after a failure in the middle of an answer,
	// where what was shown can be taken back: see chat.ModelRequest.Retracts.
	AfterText bool
	// Windows holds how many tokens a model takes, by key; 0: not known.
	Windows map[string]int
	// Metrics counts the changes of model. Nil: they are not counted.
	Metrics *metrics.Registry
}

// Chain is a model with fallbacks: a call that fails before any text of its answer was
// handed on goes to the next model; with ChainConfig.AfterText one that fails later does, too.
// It is safe for concurrent use.
//
// What was handed on of an answer that failed, thoughts, calls and text, is taken back with a
// chunk of Again; a chunk of Switch comes before the first part of another model's
// answer. So text that was taken back is always followed by a Switch, or by the call's error:
// then it stays. A request that names, in Answered, the model that the turn stays with begins
// with that one.
type Chain struct {
	cfg       ChainConfig
	fallbacks metrics.Counter
}

// NewChain returns a Chain.
func NewChain(cfg ChainConfig) (*Chain, error) {
	if len(cfg.Links) < 2 {
		return nil, errors.New("model: a chain has two models or more")
	}
	for i, l := range cfg.Links {
		if slices.ContainsFunc(cfg.Links[:i], func(m Link) bool { return m.Key() == l.Key() }) {
			return nil, errors.New("model: a chain has a model twice")
		}
	}
	return &Chain{cfg, cfg.Metrics.Counter("model_fallbacks_total", "Model calls that went to the next model of a chain.", "from", "to", "reason")}, nil
}

// Key returns that of the first model.
func (c *Chain) Key() string { return c.cfg.Links[0].Key() }

// Name returns that of the first model.
func (c *Chain) Name() string { return c.cfg.Links[0].Name() }

// Stream makes one model call.
func (c *Chain) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	links := c.cfg.Links
	if i := slices.IndexFunc(links, func(l Link) bool { return l.Key() == req.Answered }); i > 0 {
		links = links[i:]
	}
	r := relay{ctx: ctx, req: req, yield: yield, announced: links[0], retracts: c.cfg.AfterText && req.Retracts}
	var first error
	for i := 0; ; i++ {
		l := links[i]
		err := c.overflows(l, req, i == len(links)-1)
		if err == nil {
			err = r.ask(l)
		}
		if err == nil || !r.mayGoOn() {
			return err
		}
		if i == 0 {
			first = err
		}
		reason := Class(err)
		if i == len(links)-1 || !slices.Contains(c.cfg.On, reason) {
			return final(first, err)
		}
		if err := r.retract(l, reason); err != nil {
			return err
		}
		c.report(ctx, l, links[i+1], reason, req.Step)
	}
}

// overflows returns the error of a request that is too long for a model. If that is
// none to continue after, or nobody is left to continue with, the provider decides.
func (c *Chain) overflows(l Link, req *chat.ModelRequest, last bool) error {
	window := c.cfg.Windows[l.Key()]
	if window == 0 || last || !slices.Contains(c.cfg.On, classOverflow) || requestBytes(req)/bytesPerToken <= window {
		return nil
	}
	return &fault.Error{Type: fault.ModelError, Message: "The conversation is too long for the AI service", Service: "model:" + l.Key(),
		Err: &Refusal{Kind: KindOverflow}}
}

// bytesPerToken is the rule of thumb where nobody counts.
const bytesPerToken = 4

// requestBytes is about how long a request is for the model.
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

// report counts and logs that another model is asked. reason is a class, so that no
// text of a provider's becomes a label.
func (c *Chain) report(ctx context.Context, from, to Link, reason string, step int) {
	c.fallbacks.Inc(from.Key(), to.Key(), reason)
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().
		Str("from", from.Key()).Str("to", to.Key()).Str("reason", reason).Int("step", step)).Msg("model_fallback")
}

// final returns what counts of the errors of a call that nobody answered: the last, or
// the first if the last model was not even asked.
func final(first, last error) error {
	if _, refused := errors.AsType[*breaker.OpenError](last); refused {
		last = first
	}
	if f, ok := errors.AsType[*fault.Error](last); ok && malformed(last) {
		settled := *f // it was asked for twice
		settled.Err = &asked{f.Err}
		return &settled
	}
	return last
}

// asked hides that a failure is one to ask again after.
type asked struct{ err error }

// It is that of the model's own failure: the chain adds nothing to it.
func (e *asked) Error() string { return e.err.Error() }

// relay hands on the answer to one call, from whichever model gives it.
type relay struct {
	ctx context.Context
	req *chat.ModelRequest
	// yield is the caller's, who sees one answer whichever model it is of.
	yield func(*chat.Chunk) error

	announced Link   // the model that the caller takes the answer to be of
	reason    string // the class of its failure; empty: it has not failed
	link      Link   // the model that is asked

	handed bool  // a chunk of this answer was handed on
	text   bool  // text was: nothing can be taken back, unless retracts
	gone   error // the caller's own error; not noted once there was text, unless retracts
	// What failed answers of the call have cost, and what the one at hand has so far.
	spent, usage chat.Usage
	total        chat.Usage // of both, for the chunk at hand

	retracts bool
	size     int // with retracts: bytes of the answer at hand
}

// ask asks a model, and once more if it wrote a call that cannot be read.
func (r *relay) ask(l Link) error {
	r.link = l
	yield := r.forward
	if r.retracts {
		yield = r.measure
	}
	err := l.Stream(r.ctx, r.req, yield)
	if !malformed(err) || r.text || !r.mayGoOn() {
		return err
	}
	if err := r.void(); err != nil {
		return err
	}
	return l.Stream(r.ctx, r.req, yield)
}

// measure hands on a chunk of an answer that may be taken back, and counts what is in it: an
// answer that breaks off is not reported by its provider.
func (r *relay) measure(c *chat.Chunk) error {
	for i := range c.Parts {
		p := &c.Parts[i]
		r.size += len(p.Text)
		if p.Call != nil {
			r.size += len(p.Call.Name) + len(p.Call.Arguments)
		}
	}
	return r.forward(c)
}

// forward hands on a chunk of the answer.
func (r *relay) forward(c *chat.Chunk) error {
	if r.text && c.Usage == nil && !r.retracts { // nearly all of them
		return r.yield(c)
	}
	if r.link != r.announced && len(c.Parts) > 0 {
		if err := r.change(); err != nil {
			return err
		}
	}
	if !r.text {
		r.text = slices.ContainsFunc(c.Parts, shows)
	}
	r.handed = true
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
	return r.pass(c)
}

// shows says whether a part is text of the answer.
func shows(p chat.Part) bool {
	return p.Text != "" && !p.Thought && p.Call == nil && p.Result == nil
}

// change says that the model at hand answers.
func (r *relay) change() error {
	to := chat.Switch{Key: r.link.Key(), Model: r.link.Name(), Previous: r.announced.Key(), Reason: r.reason}
	r.announced, r.reason = r.link, ""
	return r.pass(&chat.Chunk{Switch: &to, More: true})
}

// pass hands a chunk on, and remembers when nobody wants any more: no further model
// is asked then.
func (r *relay) pass(c *chat.Chunk) error {
	err := r.yield(c)
	if err != nil {
		r.gone = err
	}
	return err
}

// mayGoOn says whether the call can still become an answer of another model.
func (r *relay) mayGoOn() bool { return (!r.text || r.retracts) && r.gone == nil && r.ctx.Err() == nil }

// retract ends the answer of a model that failed.
func (r *relay) retract(l Link, reason string) error {
	if r.announced == l {
		r.reason = reason
	}
	return r.void()
}

// void ends the answer at hand, so that another one can begin. What is voided was paid
// for.
func (r *relay) void() error {
	again := chat.Chunk{Restarted: true}
	if r.text {
		r.guess()
	}
	r.spent.Add(r.usage)
	if r.text {
		r.total = r.spent
		again.Usage = &r.total
	}
	r.usage, r.size, r.text = chat.Usage{}, 0, false
	if !r.handed {
		return nil
	}
	r.handed = false
	return r.pass(&again)
}

// guess completes the usage of an answer that broke off behind its first text: with what it was
// asked and has said, where its provider has not reported that.
func (r *relay) guess() {
	u := &r.usage
	if u.InputTokens == 0 {
		u.InputTokens = requestBytes(r.req) / bytesPerToken
	}
	u.OutputTokens = max(u.OutputTokens, (r.size+bytesPerToken-1)/bytesPerToken-u.ThinkingTokens)
	u.Estimated = true
}
