package model

import "sluice/internal/turn/chat"

// tally counts the answer of an attempt, for its limits and for the log.
type tally struct {
	Budget              // of the parts
	prompt   int        // bytes of the request
	usage    chat.Usage // the latest that a chunk reported
	reported bool       // there was one
	paid     bool       // it was handed on
	hidden   int        // Stats.Size beyond the parts, at the last look
	pings    int        // Stats.Pings at the last look
	finish   chat.Finish
	stats    Stats
}

// addChunk counts the parts and the usage of c.
func (t *tally) addChunk(c *chat.Chunk) error {
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

// hasGrown reports whether the answer has become longer since the last call, beyond what its
// parts show, and whether the service has said that it lives.
func (t *tally) hasGrown(ans Stream) (grown, pinged bool) {
	hidden, pings := t.hidden, t.pings
	note := ans.Stats()
	t.hidden, t.pings = note.Size-t.Size, note.Pings
	return t.hidden > hidden, t.pings > pings
}

// estimateUsage guesses the usage of an answer whose provider did not report it.
func (t *tally) estimateUsage(ans Stream) {
	size := max(t.Size, ans.Stats().Size)
	t.usage = chat.Usage{InputTokens: estimateTokens(t.prompt), OutputTokens: estimateTokens(size), Estimated: true}
}

// splitTotal guesses the request's share of a reported total.
func (t *tally) splitTotal() {
	input := min(estimateTokens(t.prompt), t.usage.OutputTokens)
	t.usage.InputTokens, t.usage.OutputTokens = input, t.usage.OutputTokens-input
}

// readStats takes the final figures of the answer.
func (t *tally) readStats(ans Stream) {
	t.stats = ans.Stats()
	if t.stats.Usage != nil && *t.stats.Usage != (chat.Usage{}) {
		t.usage = *t.stats.Usage
	}
}
