package gemini

import (
	"fmt"

	"sluice/model"
)

// finishError reports an answer that was given up for a reason. It wraps what that means, if it
// is more than a failure of the service.
type finishError struct {
	reason string
	means  error
}

// It names the reason, cut: it is the service's word, and logged.
func (e *finishError) Error() string {
	return fmt.Sprintf("finish reason %q", model.Shorten(e.reason))
}

// It leads to what the frame judges by; nil: the service failed.
func (e *finishError) Unwrap() error { return e.means }

// givenUp returns the error of an answer that ended for reason, one of those of candidates
// (FinishReason in google.ai.generativelanguage.v1beta) that are not the end of an answer.
// A reason that is not here is a failure of the service.
func givenUp(reason string) error {
	e := &finishError{reason: reason}
	switch reason {
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		e.means = &model.Blocked{Reason: reason}
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return &model.Malformed{Reason: e.Error()}
	case "MISSING_THOUGHT_SIGNATURE":
		e.means = model.ErrOurRequest
	}
	return e
}

// blockedPrompt is the error of a prompt that was not answered at all.
type blockedPrompt struct{ reason string }

// It names the reason of promptFeedback.
func (e *blockedPrompt) Error() string {
	return fmt.Sprintf("prompt blocked: %q", model.Shorten(e.reason))
}

// It makes the frame treat the prompt like an answer that was blocked.
func (e *blockedPrompt) Unwrap() error { return &model.Blocked{Reason: e.reason} }
