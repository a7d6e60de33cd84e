package model

import (
	"testing"

	"sluice/internal/base/fault"
)

func TestFaultsHaveFixedMessages(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		fault.ModelUnavailableMessage: true, rateLimitedMessage: true, blockedMessage: true, rejectedMessage: true,
		misconfiguredMessage: true, malformedMessage: true, timeoutMessage: true,
	}
	for code := range 600 {
		m := &Model{cfg: Frame{Policy: Policy(code % 2)}}
		e := fault.From(m.endingOf(&Refusal{Status: code, Message: "SECRET", Type: "SECRET"}).err)
		if !known[e.Message] || e.Type == fault.Internal {
			t.Errorf("status %d: %q (%s)", code, e.Message, e.Type)
		}
	}
}
