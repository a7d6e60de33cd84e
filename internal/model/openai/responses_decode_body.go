// This file reads the response object: how it ended, its usage, and for a reply in one
// piece its output.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// responsesBody is the response that the last event holds, or a reply that is not a stream.
//
// total is the provider's own sum; it reports whether thinking is part of the output's figure.
type responsesBody struct {
	status, model, reason string
	failure               jsontext.Value // its error, or nil
	output                jsontext.Value
	usage                 chat.Usage
	total                 int
	hasUsage              bool
}

// readBody reads a response object. Members of a wrong type are passed over where nothing
// depends on them.
func (d *responsesDecoder) readBody(v jsontext.Value) (body responsesBody, err error) {
	d.begin(v)
	err = d.readObject(func(name []byte) error { return d.bodyMember(&body, name) })
	if err == nil {
		err = d.expectEnd()
	}
	if err != nil {
		return body, d.unreadableError(err)
	}
	if body.failure.Kind() == 'n' {
		body.failure = nil
	}
	body.splitThinking()
	return body, nil
}

func (d *responsesDecoder) bodyMember(body *responsesBody, name []byte) (err error) {
	switch string(name) {
	case `"status"`:
		body.status, err = d.readString()
	case `"model"`:
		body.model, err = d.readString()
	case `"error"`:
		body.failure, err = d.readValue()
	case `"output"`:
		body.output, err = d.readValue()
	case `"incomplete_details"`:
		err = d.readLoose('{', func(name []byte) error { return d.incompleteDetail(body, name) })
	case `"usage"`:
		err = d.readLoose('{', func(name []byte) error { return d.usageMember(body, name) })
	default:
		err = d.json.SkipValue()
	}
	return err
}

func (d *responsesDecoder) incompleteDetail(body *responsesBody, name []byte) (err error) {
	if string(name) != `"reason"` {
		return d.json.SkipValue()
	}
	body.reason, err = d.readString()
	return err
}

// usageMember reads a member of the usage. A figure that cannot be read is ignored, so that the
// rest of the answer survives.
func (d *responsesDecoder) usageMember(body *responsesBody, name []byte) error {
	switch string(name) {
	case `"input_tokens"`:
		return d.figureInto(&body.usage.InputTokens, &body.hasUsage)
	case `"output_tokens"`:
		return d.figureInto(&body.usage.OutputTokens, &body.hasUsage)
	case `"total_tokens"`:
		return d.figureInto(&body.total, nil)
	case `"input_tokens_details"`:
		return d.readDetails(map[string]*int{`"cached_tokens"`: &body.usage.CachedTokens, `"cache_write_tokens"`: &body.usage.WrittenTokens})
	case `"output_tokens_details"`:
		return d.readDetails(map[string]*int{`"reasoning_tokens"`: &body.usage.ThinkingTokens})
	}
	return d.json.SkipValue()
}

// readDetails reads the named figures of a usage detail; the others of that object are not
// counted.
func (d *responsesDecoder) readDetails(figures map[string]*int) error {
	return d.readLoose('{', func(name []byte) error {
		n := figures[string(name)]
		if n == nil {
			return d.json.SkipValue()
		}
		return d.figureInto(n, nil)
	})
}

// splitThinking takes the thinking out of the output's figure, unless the total shows that it is
// not included. It bounds cached and thinking tokens by the figures that include them.
func (b *responsesBody) splitThinking() {
	u := &b.usage
	if !b.hasUsage && b.total > 0 { // the frame says how much of it is input
		u.OutputTokens, u.Estimated, b.hasUsage = b.total, true, true
	}
	u.CachedTokens = min(u.CachedTokens, u.InputTokens)
	u.WrittenTokens = min(u.WrittenTokens, u.InputTokens-u.CachedTokens)
	if u.ThinkingTokens > 0 && b.total == u.InputTokens+u.OutputTokens+u.ThinkingTokens {
		return
	}
	u.ThinkingTokens = min(u.ThinkingTokens, u.OutputTokens)
	u.OutputTokens -= u.ThinkingTokens
}
