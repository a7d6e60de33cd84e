package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// pattern is the form of the latest chunk of an answer. Three of four chunks in recorded answers
// equal the one before but for text and figures, and more in long answers
// (TestRecordedChunksAreAlike). Such a chunk takes a sixth of the time (BenchmarkDecodeAlike).
type pattern struct {
	model.Alike
	thought bool
	seen    bool // the chunk had a usage
}

// Figures that an integer may count, by number.
const (
	inputTokens = iota + 1
	outputTokens
	thinkingTokens
	cachedTokens
)

// figureIn returns the place of a figure in a usage.
func figureIn(figure int, u *chat.Usage) *int {
	return [...]*int{inputTokens: &u.InputTokens, outputTokens: &u.OutputTokens, thinkingTokens: &u.ThinkingTokens, cachedTokens: &u.CachedTokens}[figure]
}

// readAlike reads a chunk that is like the one before it into c. It returns false for every other one,
// and does not touch c.
func (p *pattern) readAlike(d *decoder, data []byte, c *rawChunk) bool {
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

// learnForm makes data, which d has read into c, the form of the chunks to come, if it is a text alone.
func (p *pattern) learnForm(d *decoder, data []byte, c *rawChunk) {
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
