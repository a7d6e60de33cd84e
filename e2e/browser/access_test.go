package browser

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// newKey makes a key file with one key, and returns both.
func newKey(t *testing.T, user, tenant string) (file, key string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys.yaml")
	cmd := exec.CommandContext(t.Context(), program(t, built.gateway), "keys", "add", "--file", file, "--user", user, "--tenant", tenant)
	out, err := cmd.Output()
	if key = strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(key, "slk_") {
		t.Fatalf("%v: %q", err, out)
	}
	return file, key
}

// The page of a gateway that asks who its callers are, in Chromium: a key goes into one header
// and nowhere else, and Chromium's own EventSource asks by a ticket, is cut in the middle and
// resumes. A ticket that is used twice runs one turn.
func TestAccess(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	sim := startGemini(t, pageScripts())
	file, key := newKey(t, "ann", "acme")
	kept := startGateway(t, sim.env("SLUICE_API_KEYS", file, "SLUICE_STORE", "memory"))
	unkept := startGateway(t, sim.env("SLUICE_API_KEYS", file))
	inTheMiddle := cut{headers: true, events: 2, half: true}
	proxies := map[string]*cutter{}
	type keyed struct {
		flow
		Key string `json:"key"`
	}
	flows := []keyed{{flow{"signIn", unkept.base}, key}, {flow{"signedOut", kept.base}, key}}
	for name, g := range map[string]*gateway{"ticketResumed": kept, "bareKept": kept, "ticketDropped": unkept, "bareLost": unkept} {
		proxies[name] = startCutter(t, g, inTheMiddle)
		flows = append(flows, keyed{flow{name, proxies[name].url}, key})
	}
	journeys := travel(t, browser, flows)
	for _, f := range flows {
		j, ok := journeys[f.Name]
		if !ok {
			t.Errorf("%s: nothing was reported", f.Name)
		}
		for _, fault := range j.Faults {
			t.Errorf("%s: %s", f.Name, fault)
		}
	}
	checkCurl(t, journeys["signIn"].Facts.Curl, "SLUICE_KEY="+key)

	// How Chromium came back, by its own account and by that of what stands between.
	const all = "start thinking response_delta response_delta done"
	if diff := cmp.Diff([]string{all, all}, journeys["bareKept"].Facts.Seen); diff != "" {
		t.Errorf("with a store (-want +got):\n%s", diff)
	}
	lost := journeys["bareLost"].Facts.Seen
	if len(lost) != 2 || !strings.HasPrefix(all+" CLOSED", strings.TrimSuffix(lost[0], " CLOSED")) || strings.Contains(lost[0], "done") || lost[1] != "CLOSED" {
		t.Errorf("without a store: %q", lost)
	}
	for name, want := range map[string][]int{"ticketResumed": {200, 200}, "bareKept": {200, 200, 200}, "ticketDropped": {200}, "bareLost": {200, 204, 204}} {
		var got []int
		for i, r := range proxies[name].seen() {
			got = append(got, r.status)
			if i == 1 && r.lastEventID == "" {
				t.Errorf("%s: it came back without the id of an event", name)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: status codes (-want +got):\n%s", name, diff)
		}
	}
	for _, question := range []string{"plain-resumed", "plain-dropped", "plain-kept", "plain-lost"} {
		if n := sim.turns(question); n != 1 {
			t.Errorf("%s: %d turns, want 1", question, n)
		}
	}
	for _, g := range []*gateway{kept, unkept} {
		if log := g.log.String(); strings.Contains(log, key) || strings.Contains(log, key[15:]) || strings.Contains(log, "slt1.") {
			t.Error("the log has a key or a ticket")
		}
	}
}
