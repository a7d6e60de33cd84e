package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sluice/e2e/events"
)

// sharedKey pauses a turn at one of two gateways without a store, which share a key, and
// answers it at the other one; then the same answer comes again, to each of them. Its last
// steps show the limit of what such gateways can promise, so that no reader takes a change
// of it for an accident: docs/approvals.md says the same.
func sharedKey(r *run) {
	p := r.startPlace(options{stateless: true, env: []string{"SLUICE_CONFIRM=writes", "SLUICE_APPROVAL_KEY=c2x1aWNlLWZhaWxvdmVyLWtleS1vZi0zMi1ieXRlcyE="}})
	c := newClient()
	one := order{id: "s1", calls: 1, words: 3}
	token := ""
	v := newView()
	err := c.readStream(r.Ctx, func(f events.Event) bool {
		v.accept(f)
		if f.Name == "approval" {
			var d struct{ Token string }
			_ = json.Unmarshal(f.Data, &d)
			token = d.Token
		}
		return true
	}, http.MethodPost, p.a.url+"/chat/stream", fmt.Sprintf(`{"input":%q}`, one))
	r.Must(err)
	r.Check("a turn waits at gateway a", v.reason == "approval_required" && token != "", "approval_required", "%s", v.reason)
	r.Exactly("calls so far", p.tools.countCalls("s1.1"), 0)

	// answer sends the answer to a gateway and says how that went.
	answer := func(g *gateway) string {
		v := newView()
		err := c.readStream(r.Ctx, func(f events.Event) bool { v.accept(f); return true }, http.MethodPost, g.url+"/chat/stream",
			fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, token))
		if p := (*problem)(nil); errors.As(err, &p) {
			return p.Error()
		}
		r.Must(err)
		return fmt.Sprint(v.reason, ", ", p.tools.countCalls("s1.1"), " calls")
	}
	for _, step := range []struct {
		what string
		at   *gateway
		want string
	}{
		{"it is approved at gateway b", p.b, "stop, 1 calls"},
		{"used there again", p.b, "409 approval_used"},
		// docs/approvals.md states this limit: a gateway that did not see a token's use runs the
		// calls again.
		{"used at a, which did not see it: runs again, as documented", p.a, "stop, 2 calls"},
		{"used at a again", p.a, "409 approval_used"},
	} {
		got := answer(step.at)
		r.Check(step.what, got == step.want, step.want, "%s", got)
	}
}
