package docs

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
)

// A page's daemon ends with its test, also one that has left the group of its shell.
func TestDaemonsOfAPageEnd(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs: setsid")
	}
	var dir string
	t.Run("page", func(t *testing.T) {
		term := newTerminal(t)
		dir = term.state
		if out, code, err := term.run(context.Background(), "mkdir inner; (cd inner; setsid sleep 600 >/dev/null 2>&1 </dev/null &)"); err != nil || code != 0 {
			t.Fatal(out, code, err)
		}
		for len(processesIn(dir)) == 0 { // until it has begun
			if t.Context().Err() != nil {
				t.Fatal("the daemon does not run")
			}
		}
	})
	if left := processesIn(dir); len(left) > 0 {
		t.Errorf("in %s still run %v", filepath.Base(dir), left)
	}
}
