package model

import "sluice/internal/turn/chat"

// tally is what an attempt has brought, for its limits and for the log.
type tally struct {
	Budget              // of the parts
	prompt   int        // bytes of the request
	usage    chat.Usage // the latest that a chunk reported
	reported bool       // there was one
	paid     bool       // it was handed on
	hidden   int        // Note.Size beyond the parts, when it was last looked at
	pings    int        // Note.Pings then
	finish   chat.Finish
	note     Note
}

// add counts what is in c.
func (t *tally) add(c *chat.Chunk) error {
	if c.Usage != nil {
		t.usage, t.reported, t.paid = *c.Usage, true, false
	}
	n := 0
	for i := range c.Parts {
		p := &c.Parts[i]
		n += len(p.Text) + len(p.Signature) + len(p.Kept)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.ID) + len(p.Call.Arguments)
		}
	}
	return t.Grow(n)
}

// grown says whether the answer has become longer since the last call, beyond what its
// parts show, and whether the service has said that it lives.
func (t *tally) grown(ans Stream) (grown, pinged bool) {
	hidden, pings := t.hidden, t.pings
	note := ans.Note()
	t.hidden, t.pings = note.Size-t.Size, note.Pings
	return t.hidden > hidden, t.pings > pings
}

// estimate guesses the usage of an answer whose provider did not report it.
func (t *tally) estimate(ans Stream) {
	size := max(t.Size, ans.Note().Size)
	t.usage = chat.Usage{InputTokens: estimate(t.prompt), OutputTokens: estimate(size), Estimated: true}
}

// split guesses how much of a total that was reported is the request's.
func (t *tally) split() {
	input := min(estimate(t.prompt), t.usage.OutputTokens)
	t.usage.InputTokens, t.usage.OutputTokens = input, t.usage.OutputTokens-input
}

// close takes what is known at the end.
func (t *tally) close(ans Stream) {
	t.note = ans.Note()
	if t.note.Usage != nil && *t.note.Usage != (chat.Usage{}) {
		t.usage = *t.note.Usage
	}
}
