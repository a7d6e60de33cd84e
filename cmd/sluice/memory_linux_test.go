package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// What a configuration does not use costs no memory, and garbage piles up to a bound only. The
// bounds leave a fifth for what a busy machine adds: a collector that comes late, mostly.
func TestMemory(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the race detector multiplies memory")
	}
	model := httptest.NewServer(talker(1, 40))
	defer model.Close()
	g := benchAgainst(t, model, "GOGC=", "GOMEMLIMIT=")
	const restBound, peakBound = 12 << 20, 36 << 20
	if rest := g.anonymous(t); rest > restBound {
		t.Errorf("%.1f MB at rest, want at most %d", float64(rest)/(1<<20), restBound>>20)
	}
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range 50 {
				g.turn(t, quiet)
			}
		})
	}
	if clients.Wait(); t.Failed() {
		t.FailNow()
	}
	if peak := g.anonymous(t); peak > peakBound {
		t.Errorf("%.1f MB after 800 turns, want at most %d", float64(peak)/(1<<20), peakBound>>20)
	}
}

// anonymous returns how much memory the gateway has that no file stands behind, in bytes.
func (g *benched) anonymous(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Skip("this kernel does not count anonymous memory by itself")
	}
	kb, _ := strconv.Atoi(string(found[1]))
	t.Logf("%.1f MB anonymous", float64(kb)/1024)
	return kb << 10
}
