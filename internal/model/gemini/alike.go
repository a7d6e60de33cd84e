package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// pattern is the form of the latest chunk of an answer. Of recorded answers three of four chunks are
// like the one before, and more in long ones (TestRecordedChunksAreAlike); such a one takes a sixth
// of the time (BenchmarkDecodeAlike).
type pattern struct {
	model.Alike
	thought bool
	seen    bool // the chunk had a usage
}

// What an integer counts, as a figure of a form.
const (
	inputTokens = iota + 1
	outputTokens
	thinkingTokens
	cachedTokens
)

// count returns what a figure is of in a usage.
func count(figure int, u *chat.Usage) *int {
	return [...]*int{inputTokens: &u.InputTokens, outputTokens: &u.OutputTokens, thinkingTokens: &u.ThinkingTokens, cachedTokens: &u.CachedTokens}[figure]
}

// read reads a chunk that is like the one before it into c. It returns false for every other one,
// and does not touch c.
func (p *pattern) read(d *decoder, data []byte, c *rawChunk) bool {
	quoted := p.Read(data)
	if quoted == nil {
		return false
	}
	text, err := jsontext.AppendUnquote(d.text[:0], quoted)
	if d.text = text; err != nil {
		return false
	}
	c.reset()
	c.candidates, c.hasUsage = 1, p.seen
	c.usage = chat.Usage{InputTokens: p.Sums[inputTokens], OutputTokens: p.Sums[outputTokens], ThinkingTokens: p.Sums[thinkingTokens], CachedTokens: p.Sums[cachedTokens]}
	c.parts = append(c.parts, rawPart{text: string(text), thought: p.thought})
	return true
}

// learn makes data, which d has read into c, the form of the chunks to come, if it is a text alone.
func (p *pattern) learn(d *decoder, data []byte, c *rawChunk) {
	if c.candidates != 1 || c.finish != "" || c.block != "" || len(c.parts) != 1 {
		p.Forget()
		return
	}
	part := &c.parts[0]
	if part.foreign || part.call != nil || part.signature != "" {
		p.Forget()
		return
	}
	p.Learn(data, d.noted.text, d.noted.figures)
	p.thought, p.seen = part.thought, c.hasUsage
}
