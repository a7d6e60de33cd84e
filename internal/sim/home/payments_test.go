package home_test

import (
	"testing"

	"sluice/internal/sim/home"
)

// A refund is paid as often as it is asked for: what came twice must be seen.
func TestPayments(t *testing.T) {
	t.Parallel()
	play(t, home.Payments, []step{
		{"list_refunds", `{}`, `{"count":0,"refunds":[]}`},
		{"refund", `{"amount":30,"reason":"broken"}`, `{"refund_id":"refund_1","amount":30,"reason":"broken"}`},
		{"refund", `{"amount":30,"reason":"broken"}`, `{"refund_id":"refund_2","amount":30,"reason":"broken"}`},
		{"refund", `{"amount":0}`, `!amount must be from 0.01 to 10000`},
		{"refund", `{}`, `!amount must be from 0.01 to 10000`},
		{"refund", `{"amount":10000.01}`, `!amount must be from 0.01 to 10000`},
		{"refund", `{"amount":"30"}`, `!the arguments are not as the schema says`},
		{"refund", `{"amount":0.01}`, `{"refund_id":"refund_3","amount":0.01}`},
		{"refund", `{"amount":10000}`, `{"refund_id":"refund_4","amount":10000}`},
		{"list_refunds", `{}`, `{"count":4,"refunds":[{"refund_id":"refund_1","amount":30,"reason":"broken"},{"refund_id":"refund_2","amount":30,"reason":"broken"},{"refund_id":"refund_3","amount":0.01},{"refund_id":"refund_4","amount":10000}]}`},
	})
}

func TestTimesheet(t *testing.T) {
	t.Parallel()
	const hours = `{"hours_logged":32,"hours_target":40}`
	play(t, home.Timesheet, []step{{"get_timesheet", `{}`, hours}, {"get_timesheet", `{"week":3}`, hours}})
}
