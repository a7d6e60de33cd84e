package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store/memory"
)

// The list of a server is the one that was kept last, for a day.
func TestToolLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		defer st.Close()
		lists := toolLists{store: st}
		lists.Replace(t.Context(), "s", []byte("[1]"))
		time.Sleep(23 * time.Hour)
		lists.Replace(t.Context(), "s", []byte("[2]"))
		time.Sleep(23 * time.Hour)
		if got := lists.Load(t.Context(), "s"); string(got) != "[2]" || lists.Load(t.Context(), "other") != nil {
			t.Errorf("the list is %q", got)
		}
		time.Sleep(2 * time.Hour)
		if got := lists.Load(t.Context(), "s"); got != nil {
			t.Errorf("after a day the list is %q", got)
		}
		none := toolLists{}
		none.Replace(t.Context(), "s", []byte("[1]"))
		if got := none.Load(t.Context(), "s"); got != nil {
			t.Errorf("without a store the list is %q", got)
		}
	})
}
