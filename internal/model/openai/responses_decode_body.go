// This file reads the response object: how it ended, its usage, and for a reply in one
// piece its output.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// responsesBody is the response that the last event holds, or a reply that is not a stream.
//
// total is the provider's own sum; it says whether thinking is part of the output's figure.
type responsesBody struct {
	status, model, reason string
	failure               jsontext.Value // its error, or nil
	output                jsontext.Value
	usage                 chat.Usage
	total                 int
	hasUsage              bool
}

// body reads a response object. Members of a wrong type are passed over where nothing
// depends on them.
func (d *responsesDecoder) body(v jsontext.Value) (body responsesBody, err error) {
	d.begin(v)
	err = d.object(func(name []byte) error { return d.bodyMember(&body, name) })
	if err == nil {
		err = d.eof()
	}
	if err != nil {
		return body, d.unreadable(err)
	}
	if body.failure.Kind() == 'n' {
		body.failure = nil
	}
	body.settle()
	return body, nil
}

func (d *responsesDecoder) bodyMember(body *responsesBody, name []byte) (err error) {
	switch string(name) {
	case `"status"`:
		body.status, err = d.str()
	case `"model"`:
		body.model, err = d.str()
	case `"error"`:
		body.failure, err = d.value()
	case `"output"`:
		body.output, err = d.value()
	case `"incomplete_details"`:
		err = d.loose('{', func(name []byte) error { return d.incompleteDetail(body, name) })
	case `"usage"`:
		err = d.loose('{', func(name []byte) error { return d.usage(body, name) })
	default:
		err = d.json.SkipValue()
	}
	return err
}

func (d *responsesDecoder) incompleteDetail(body *responsesBody, name []byte) (err error) {
	if string(name) != `"reason"` {
		return d.json.SkipValue()
	}
	body.reason, err = d.str()
	return err
}

// usage reads a member of the usage. A figure that cannot be read counts as none: it
// is no reason to lose an answer that is good.
func (d *responsesDecoder) usage(body *responsesBody, name []byte) error {
	switch string(name) {
	case `"input_tokens"`:
		return d.figureInto(&body.usage.InputTokens, &body.hasUsage)
	case `"output_tokens"`:
		return d.figureInto(&body.usage.OutputTokens, &body.hasUsage)
	case `"total_tokens"`:
		return d.figureInto(&body.total, nil)
	case `"input_tokens_details"`:
		return d.detail(`"cached_tokens"`, &body.usage.CachedTokens)
	case `"output_tokens_details"`:
		return d.detail(`"reasoning_tokens"`, &body.usage.ThinkingTokens)
	}
	return d.json.SkipValue()
}

// detail reads one figure of a usage detail; the others of that object are not
// counted.
func (d *responsesDecoder) detail(member string, n *int) error {
	return d.loose('{', func(name []byte) error {
		if string(name) != member {
			return d.json.SkipValue()
		}
		return d.figureInto(n, nil)
	})
}

// settle takes the thinking out of the output, unless the total shows that it is not
// in it, and keeps what is part of a figure within it.
func (b *responsesBody) settle() {
	u := &b.usage
	if !b.hasUsage && b.total > 0 { // the frame says how much of it is input
		u.OutputTokens, u.Estimated, b.hasUsage = b.total, true, true
	}
	u.CachedTokens = min(u.CachedTokens, u.InputTokens)
	if u.ThinkingTokens > 0 && b.total == u.InputTokens+u.OutputTokens+u.ThinkingTokens {
		return
	}
	u.ThinkingTokens = min(u.ThinkingTokens, u.OutputTokens)
	u.OutputTokens -= u.ThinkingTokens
}
