package gemini

import (
	"fmt"

	"sluice/internal/model"
)

// finishError reports the finish reason of a bad end, and wraps its meaning.
type finishError struct {
	reason string
	means  error
}

// It names the reason, cut: it is the service's word, and logged.
func (e *finishError) Error() string {
	return fmt.Sprintf("finish reason %q", model.Shorten(e.reason))
}

// It leads to the error by which the frame judges.
func (e *finishError) Unwrap() error { return e.means }

// judgeFinish takes a reason for the end of an answer, one of those of candidates (FinishReason in
// google.ai.generativelanguage.v1beta) or of a service that only speaks the protocol. A good end is
// only noted; the error is that of a bad one. A reason that nobody knows is a bad one here.
func (a *assembler) judgeFinish(reason string) error {
	a.end.Word = reason
	end, known := endOf(reason)
	if a.end.Set(end, known); end < model.EndMalformed {
		return nil
	}
	e := &finishError{reason: reason}
	switch {
	case end == model.EndBlocked:
		e.means = &model.Blocked{Reason: reason}
	case end == model.EndMalformed:
		return &model.Malformed{Reason: e.Error()}
	case reason == "MISSING_THOUGHT_SIGNATURE":
		e.means = model.ErrOurRequest
	default:
		e.means = &model.GivenUp{Reason: reason}
	}
	return e
}

// endOf returns the meaning of a reason: the API's own words first, then those of all protocols.
func endOf(reason string) (end model.End, known bool) {
	switch reason {
	case "CONTINUATION":
		return model.EndMaxTokens, true
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return model.EndBlocked, true
	case "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return model.EndMalformed, true
	case "OTHER", "IMAGE_OTHER", "NO_IMAGE", "MISSING_THOUGHT_SIGNATURE":
		return model.EndUnavailable, true
	}
	if end, known = model.EndOf(reason); !known && end == model.EndStop {
		end = model.EndUnavailable
	}
	return end, known
}

// blockedPrompt is the error of a prompt that was not answered at all.
type blockedPrompt struct{ reason string }

// It names the reason of promptFeedback.
func (e *blockedPrompt) Error() string {
	return fmt.Sprintf("prompt blocked: %q", model.Shorten(e.reason))
}

// It makes the frame treat the prompt like an answer that was blocked.
func (e *blockedPrompt) Unwrap() error { return &model.Blocked{Reason: e.reason} }
