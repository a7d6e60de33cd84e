package process

import (
	"testing"
	"testing/synctest"
	"time"
)

// A debt of many gigabytes is waited for as long as it lasts: its time does not overflow.
func TestLargeDebtIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(nil)
		const debt = 16 << 30
		p.budget.Store(-debt)
		began := time.Now()
		if !p.awaitBudget() {
			t.Fatal("the connection has ended")
		}
		if waited, want := time.Since(began), time.Duration(debt/readRate)*time.Second; waited < want || waited > want+want/10 {
			t.Errorf("waited %v, want %v", waited, want)
		}
	})
}
