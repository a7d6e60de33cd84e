package agent

import (
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// sharedRefusal returns why no agent of the turn may make a call; nil: it may be made.
func (t *turn) sharedRefusal(c tool.Call) error {
	switch t.req.Facts.Verdicts.Of(func() string { return callKey(c) }) {
	case chat.CallLost:
		return refusalOfLost(c)
	case chat.CallRejected:
		return refusalOfRejected(c)
	}
	return nil
}

// shareVerdict lets all agents of the turn know that a call may not be made any more.
func (t *turn) shareVerdict(key string, v chat.Verdict) { t.req.Facts.Verdicts.Record(key, v) }
