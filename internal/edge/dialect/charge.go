package dialect

import (
	"context"

	"sluice/internal/turn/chat"
)

// ChargeFor charges the request whose context it is. Open of a route of use Either calls it once the
// use is known, and before anything is done: Read for a request that neither starts a turn nor
// cancels or deletes, Free for one that does the latter. Elsewhere it does nothing. Its error
// refuses the request.
func ChargeFor(ctx context.Context, use Use) error {
	if charge := chat.TurnOf(ctx).Charge; charge != nil {
		return charge(uint8(use))
	}
	return nil
}
