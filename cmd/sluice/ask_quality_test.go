package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// Phases, drafts, a draft that was struck out, the messages of a channel and the receipt
// are shown, and the exit code says that an answer did not pass.
func TestAskShowsChecks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		flags []string
		code  int
		want  []string
	}{
		{"Guess my timesheet", []string{"--drafts", "--channel=sms"}, exitOK, []string{
			"◇ planning\n", "\nYou've logged 35/40 hours this week. Great progress!\n", "◇ failed: numbers_backed\n", "~~You've logged 35/40 hours this week. Great progress!~~\n",
			"◇ refining\n", "\nYou've logged 32/40 hours this week. Great progress!\n", "✉ 1/1  GSM-7, 52 units, 1 segment\n",
			"quality refined · ", "  numbers_backed       code            passed after the refinement\n", "  rests_on_the_data    judge, planned  passed\n",
		}},
		{"Guess wildly how many todos I have", nil, exitUnchecked, []string{"◇ failed\n", "quality graceful failure · ", "  answers_the_request  judge, planned  no verdict\n"}},
	} {
		var out paper
		var errs bytes.Buffer
		env := gatewaytest.WithDefaults(t, map[string]string{"SLUICE_CONFIG": "../../examples/quality/sluice.yaml", "SLUICE_TODO_DB": ":memory:"})
		code := run(t.Context(), append(append([]string{"ask"}, tt.flags...), tt.text), program{
			stdout: &out, stderr: &errs, lookup: noColor(gatewaytest.LookupIn(env)), readFile: os.ReadFile, signals: nil,
		})
		if code != tt.code {
			t.Errorf("%s: exit code %d: %s%s", tt.text, code, out.String(), errs.String())
		}
		rest := out.String()
		for _, want := range tt.want {
			at := strings.Index(rest, want)
			if at < 0 {
				t.Fatalf("%s: no %q in what is left of\n%s", tt.text, want, out.String())
			}
			rest = rest[at+len(want)-1:]
		}
	}
}
