// This file reads usage, which servers send once, in each chunk, or in a place of their
// own. The last figures count. They are for the log, the budget and the caller; a wrong one
// never spoils an answer.

package openai

import "sluice/internal/turn/chat"

// chatFigures are the figures of a usage object, as the provider counts them.
//
// any is true if at least one figure was read. A usage with only null values has no figures.
type chatFigures struct {
	prompt, completion, total, thinking, cached, written int
	any                                                  bool
}

// readUsage reads a usage object; the last one counts. A figure that cannot be read is ignored, so
// that the rest of the answer survives.
func (d *chatDecoder) readUsage(c *chatChunk) error {
	if d.json.PeekKind() != '{' {
		return d.json.SkipValue()
	}
	c.figures = chatFigures{}
	err := d.readObject(c, (*chatDecoder).usageField)
	if c.figures.any {
		c.usage, c.hasUsage = c.figures.toUsage(), true
	}
	return err
}

// usageField reads a figure, or the details that have cached and thinking
// tokens. Unknown figures are passed over.
func (d *chatDecoder) usageField(c *chatChunk, name []byte) error {
	f := &c.figures
	switch string(name) {
	case `"prompt_tokens"`:
		return d.readCount(c, &f.prompt)
	case `"completion_tokens"`:
		return d.readCount(c, &f.completion)
	case `"total_tokens"`:
		return d.readCount(c, &f.total)
	case `"prompt_cache_hit_tokens"`: // DeepSeek's
		return d.readCount(c, &f.cached)
	case `"prompt_tokens_details"`, `"completion_tokens_details"`:
		if d.json.PeekKind() == '{' {
			return d.readObject(c, (*chatDecoder).usageDetail)
		}
	}
	return d.json.SkipValue()
}

// usageDetail reads a figure of prompt_tokens_details or
// completion_tokens_details, whose names do not collide.
func (d *chatDecoder) usageDetail(c *chatChunk, name []byte) error {
	switch string(name) {
	case `"cached_tokens"`:
		return d.readCount(c, &c.figures.cached)
	case `"cache_write_tokens"`:
		return d.readCount(c, &c.figures.written)
	case `"reasoning_tokens"`:
		return d.readCount(c, &c.figures.thinking)
	}
	return d.json.SkipValue()
}

// readCount keeps a figure that is a whole number in range. null and nonsense count
// as not given: usage is never worth an answer.
func (d *chatDecoder) readCount(c *chatChunk, to *int) error {
	n, ok, err := d.readFigure()
	if ok {
		*to, c.figures.any = n, true
	}
	return err
}

// toUsage reports the figures in our terms. Reasoning is part of completion_tokens unless the
// total shows that it comes on top, as xAI counts.
//
// A total alone counts as output. The frame knows the length of the request and splits the total.
func (f *chatFigures) toUsage() chat.Usage {
	if f.prompt+f.completion == 0 && f.total > 0 {
		return chat.Usage{OutputTokens: max(0, f.total-f.thinking), ThinkingTokens: f.thinking, Estimated: true}
	}
	output := max(0, f.completion-f.thinking)
	if f.thinking > 0 && f.total == f.prompt+f.completion+f.thinking {
		output = f.completion
	}
	return chat.Usage{
		InputTokens:    f.prompt,
		OutputTokens:   output,
		ThinkingTokens: f.thinking,
		CachedTokens:   f.cached,
		WrittenTokens:  f.written,
	}
}
