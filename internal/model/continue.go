// This file lets a call continue the shown text of a call that failed. See seam.go for the place
// where the two meet.

package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// maxShown is how long a shown text may be that another call continues, in bytes.
const maxShown = 64 << 10

// errNoSeam ends an answer that does not continue the shown text. For the breaker it is an answer.
var errNoSeam = errors.New("the answer does not continue the shown text")

// joint is the state of an answer that continues the shown text.
type joint struct {
	seam    *seam
	way     string // anchor or prefill
	emitted bool   // the caller knows of the seam
	called  bool   // the answer has a call
	held    []chat.Part
	chunk   chat.Chunk // reused for each chunk
}

// Ways of a seam.
const (
	wayAnchor  = "anchor"
	wayPrefill = "prefill"
)

// prefiller is a Link that may continue behind a last message of the model.
type prefiller interface {
	// Prefills reports whether the model is asked so.
	Prefills() bool
	// StopPrefill has Prefills return false from now on.
	StopPrefill()
}

// Prefills reports whether the model continues an answer behind a last message of its own.
func (m *Model) Prefills() bool { return m.cfg.Prefill && !m.noPrefill.Load() }

// StopPrefill has Prefills return false from now on: the model has refused such a message.
func (m *Model) StopPrefill() { m.noPrefill.Store(true) }

// continueShown is Stream for a request with a shown text.
func (m *Model) continueShown(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c, err := NewChain(ChainConfig{Links: []Link{m}, On: DefaultFallbackOn(), Metrics: m.cfg.Metrics})
	if err != nil {
		return err
	}
	return c.Stream(ctx, req, yield)
}

// acceptShown has the call continue the text of another process.
func (r *relay) acceptShown() {
	if r.req.ShownText == "" {
		return
	}
	own := *r.req
	own.ShownText = ""
	r.shownText, r.req, r.sent, r.retracts, r.reason = r.req.ShownText, &own, &own, false, chat.TakenOver
	r.broken = &fault.Error{Type: fault.TurnLost, Message: fault.TurnLostMessage, Err: errNoSeam}
}

// keepsText reports whether there is a shown text that cannot be taken back.
func (r *relay) keepsText() bool { return r.shownText != "" || r.text && !r.retracts }

// maySeam reports whether another call may continue the text of the answer that failed.
func (r *relay) maySeam() bool {
	if !r.continues || len(r.shownText)+r.size > maxShown || !r.req.Seams.Remain() {
		return false
	}
	used := r.spent
	used.Add(r.usage)
	return !chat.TurnOf(r.ctx).Budget.Reached(used)
}

// keepChunk hands on a chunk of an answer that another call may continue, and keeps its text.
func (r *relay) keepChunk(c *chat.Chunk) error {
	for i := range c.Parts {
		if p := &c.Parts[i]; isAnswerText(*p) && r.size <= maxShown {
			r.pieces = append(r.pieces, p.Text)
		}
	}
	return r.measureChunk(c)
}

// keepShown ends an answer whose text stays. It hands on the usage so far.
func (r *relay) keepShown(reason string, err error) error {
	if r.text {
		r.shownText, r.broken, r.reason = r.shownText+strings.Join(r.pieces, ""), err, reason
	}
	if r.text || r.size > 0 {
		r.estimateUsage()
	}
	r.spent.Add(r.usage)
	r.usage, r.size, r.text, r.pieces, r.total = chat.Usage{}, 0, false, nil, r.spent
	return r.yieldChunk(&chat.Chunk{Usage: &r.total, More: true})
}

// finalError returns the error of a call whose chain is at its end. A text that no call continues
// has the error that it broke with.
func (r *relay) finalError(first, last error) error {
	if r.shownText == "" || r.text {
		return reportedError(first, last)
	}
	if r.size > 0 || r.usage != (chat.Usage{}) {
		if err := r.keepShown("", nil); err != nil {
			return err
		}
	}
	return r.broken
}

// continueWith has a model continue the shown text. A refused prefill is followed by an anchor.
func (r *relay) continueWith(l Link) error {
	p, ok := l.(prefiller)
	if ok && p.Prefills() && strings.TrimSpace(r.shownText) != "" {
		err := r.joinAnswer(l, true)
		if refusal, refused := errors.AsType[*Refusal](err); !refused || !refusal.badRequest() || r.joint.emitted {
			return err
		}
		p.StopPrefill()
	}
	return r.joinAnswer(l, false)
}

// joinAnswer has a model continue the shown text in one of two ways.
func (r *relay) joinAnswer(l Link, prefilled bool) error {
	r.joint = &joint{seam: newSeam(r.shownText, prefilled), way: wayAnchor}
	if prefilled {
		r.joint.way = wayPrefill
	}
	r.sent = r.continuingRequest(prefilled)
	err := l.Stream(r.ctx, r.sent, r.forwardJoined)
	if err == nil && !r.joint.emitted {
		err = errNoSeam
	}
	if errors.Is(err, errNoSeam) {
		r.reportSeam(string(seamRefused))
		return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Service: "model:" + l.Key(), Err: errNoSeam}
	}
	return err
}

// continuingRequest returns the request that asks for the remaining answer.
func (r *relay) continuingRequest(prefilled bool) *chat.ModelRequest {
	req := *r.req
	req.ForceTool, req.Tool = false, ""
	if strings.TrimSpace(r.shownText) == "" {
		return &req
	}
	req.Written, req.Prefill = len(r.shownText)/bytesPerToken, prefilled
	req.Messages = append(slices.Clip(req.Messages), chat.Message{Role: chat.RoleModel, Maker: chat.ShownMaker, Parts: []chat.Part{{Text: r.shownText}}})
	if !prefilled {
		req.Messages = append(req.Messages, chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: continueNote(r.joint.seam.anchor)}}})
	}
	return &req
}

// forwardJoined hands on a chunk of a continuing answer, as far as it continues the shown text.
// Thoughts and calls before the seam wait for the end, so that no front end ends its text there.
func (r *relay) forwardJoined(c *chat.Chunk) error {
	j, final := r.joint, c.Finish != chat.FinishNone
	clear(j.chunk.Parts)
	j.chunk = chat.Chunk{Parts: j.chunk.Parts[:0], Finish: c.Finish, More: c.More, Maker: chat.SeamMaker}
	for i := range c.Parts {
		j.addPart(&c.Parts[i], &r.size)
	}
	if final {
		j.addText(j.seam.end(j.called))
		j.chunk.Parts = append(j.chunk.Parts, j.held...)
	}
	if c.Usage != nil {
		r.usage = *c.Usage
	}
	switch {
	case j.seam.outcome == seamRefused:
		return errNoSeam
	case len(j.chunk.Parts) == 0 && !final:
		return nil
	}
	if !j.emitted {
		if err := r.announceSeam(); err != nil {
			return err
		}
	}
	return r.yieldJoined(c.Usage != nil || final)
}

// addPart takes a part of a continuing answer.
func (j *joint) addPart(p *chat.Part, size *int) {
	*size += len(p.Text)
	if isAnswerText(*p) {
		j.addText(j.seam.add(p.Text))
		return
	}
	if p.Call == nil && (!p.Thought || p.Text == "") {
		return // data for its maker alone
	}
	part := chat.Part{Text: p.Text, Thought: p.Thought, Call: p.Call}
	if p.Call != nil {
		*size += len(p.Call.Name) + len(p.Call.Arguments)
		own := *p.Call
		own.Arguments = own.Arguments.Clone()
		j.called, part.Call = true, &own
	}
	if j.emitted || len(j.chunk.Parts) > 0 {
		j.chunk.Parts = append(j.chunk.Parts, part)
	} else {
		j.held = append(j.held, part)
	}
}

// addText adds a text to show.
func (j *joint) addText(text string) {
	if text != "" {
		j.chunk.Parts = append(j.chunk.Parts, chat.Part{Text: text})
	}
}

// announceSeam hands on that the shown text goes on.
func (r *relay) announceSeam() error {
	if r.req.Seams != nil && !r.req.Seams.Claim() {
		return errNoSeam
	}
	r.joint.emitted = true
	r.reportSeam(string(r.joint.seam.outcome))
	return r.announceModel(true)
}

// yieldJoined hands on the chunk of a continuing answer.
func (r *relay) yieldJoined(withUsage bool) error {
	c := &r.joint.chunk
	for i := range c.Parts {
		if p := &c.Parts[i]; isAnswerText(*p) {
			r.text = true
			if r.continues {
				r.pieces = append(r.pieces, p.Text)
			}
		}
	}
	if withUsage {
		r.total = r.spent
		r.total.Add(r.usage)
		c.Usage = &r.total
	}
	return r.yieldChunk(c)
}

// reportSeam counts and logs an answer that was to continue the shown text.
func (r *relay) reportSeam(outcome string) {
	r.chain.seams.Inc(r.joint.way, outcome)
	zerolog.Ctx(r.ctx).Info().Dict("details", zerolog.Dict().
		Str("from", r.announced.Key()).Str("to", r.link.Key()).Str("reason", r.reason).Str("way", r.joint.way).Str("outcome", outcome).
		Int("chars", utf8.RuneCountInString(r.shownText)).Int("dropped", r.joint.seam.dropped)).Msg("text_continued")
}
