package handlers

import (
	"net/http"

	"sluice/internal/turn/chat"
)

// bindPrincipal binds a turn to its sender: it runs for them, not for anyone whom its body names.
func (s *senders) bindPrincipal(r *http.Request, t *turn) error {
	who := t.identity
	if who == nil {
		return nil
	}
	req := &t.Request
	p, ok := who.For(t.userFor(who))
	if !ok {
		return s.refuseUser(r, who)
	}
	req.Principal = p
	if req.UserID = p.ID; p.IsAnonymous() {
		req.UserID = ""
	}
	if who.Scopes&turnScopes != chat.ScopeReadOnly {
		return nil
	}
	if req.Workflow != "" {
		return s.refuseScopes(r, who, chat.ScopeChat)
	}
	req.Tools = max(req.Tools, chat.ToolsReadOnly)
	return nil
}
