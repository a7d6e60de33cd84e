package wire

import "testing"

// A request is either on its way or withdrawn, whichever came first; what was not written after
// all can be withdrawn still.
func TestExchangeIsClaimedOrWithdrawn(t *testing.T) {
	t.Parallel()
	const claim, back, withdraw = 'c', 'b', 'w'
	for steps, want := range map[string]bool{ // of the last step
		"c": true, "w": true,
		"cc": true, "ww": true,
		"cw": false, "wc": false,
		"cbw": true, "cbc": true, "cbwc": false,
		"wbc": false, "bc": true, "bw": true,
	} {
		x, got := NewCall(), false
		for _, step := range steps {
			switch step {
			case claim:
				got = x.claim()
			case back:
				x.giveBack()
			case withdraw:
				got = x.Withdraw()
			}
		}
		if got != want {
			t.Errorf("%s: got %v", steps, got)
		}
	}
}

// A handshake is nobody's exchange: it has a bound of its own and is forgotten.
func TestExchangeOfAHandshake(t *testing.T) {
	t.Parallel()
	x := exchangeOf(t.Context())
	if x.limit != MaxListReply || x.List != nil || x == exchangeOf(t.Context()) {
		t.Errorf("got %+v", x)
	}
	if call := NewCall(); exchangeOf(WithExchange(t.Context(), call)) != call || call.limit != MaxReply || call.List != nil {
		t.Errorf("a call is %+v", call)
	}
	if list := NewList(); list.limit != MaxListReply || list.List == nil {
		t.Errorf("a list is %+v", list)
	}
}
