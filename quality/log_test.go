package quality_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/quality"
)

// Each that takes part in a checked answer has its line in the log, agents and composer too.
func TestEachPartIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx := zerolog.New(&log).Level(zerolog.DebugLevel).WithContext(chat.WithRequestID(t.Context(), requestID))
	turn{yaml: enforce + backed, inner: says("I say 32."), req: form("sms")}.runIn(t, ctx)
	var names []string
	for line := range strings.Lines(log.String()) {
		if _, rest, ok := strings.Cut(line, `"agent_name":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, name)
		}
	}
	want := []string{"assistant", "channel", "composer", "quality"}
	if diff := cmp.Diff(want, slices.Compact(slices.Sorted(slices.Values(names)))); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, log.String())
	}
}

// The mode holds for the channels that are named, and is off for others.
func TestModeOfSomeChannels(t *testing.T) {
	t.Parallel()
	const yaml = enforce + "\n  channels: [sms]"
	if got := (turn{yaml: yaml, inner: says("I say 35.")}).run(t); got.done.Quality != nil || got.text != "I say 35." || slices.Contains(got.lines, "validating 1") {
		t.Errorf("on web: %q", got.lines)
	}
	if got := (turn{yaml: yaml, inner: says("I say 35."), req: form("sms")}).run(t); got.done.Quality == nil {
		t.Errorf("by SMS: %q", got.lines)
	}
	c := quality.New(quality.Config{Spec: sectionsOf(t, yaml)})
	sms := form("sms")
	if c.Applies(&chat.Request{}, "") || !c.Applies(&sms, "") {
		t.Error("a runner stands around answers that it does nothing to")
	}
}

// Each criterion of our own says what a good answer has: a scorecard has it of all.
func TestStandardsSayWhatIsExpected(t *testing.T) {
	t.Parallel()
	got := turn{yaml: enforce, inner: says("32."), req: form("sms")}.run(t)
	state := string(got.done.Checked)
	if n := strings.Count(state, `"expected":"`); n != 4 {
		t.Errorf("%d of four criteria have what is expected: %s", n, state)
	}
}
