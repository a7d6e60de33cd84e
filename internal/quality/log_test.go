package quality_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
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
	if got := (turn{yaml: yaml, inner: says("I say 35.")}).runInner(t); got.done.Quality != nil || got.text != "I say 35." || slices.Contains(got.lines, "validating 1") {
		t.Errorf("on web: %q", got.lines)
	}
	if got := (turn{yaml: yaml, inner: says("I say 35."), req: form("sms")}).runInner(t); got.done.Quality == nil {
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
	got := turn{yaml: enforce, inner: says("32."), req: form("sms")}.runInner(t)
	state := string(got.done.Checked)
	if n := strings.Count(state, `"expected":"`); n != 4 {
		t.Errorf("%d of four criteria have what is expected: %s", n, state)
	}
}

// detailsOf returns the details of the lines of an event.
func detailsOf(t *testing.T, log, event string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var l struct {
			Message, Event string // the name of the member is set for the whole process
			Details        map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Message+l.Event == event {
			all = append(all, l.Details)
		}
	}
	return all
}

// loggedTurn returns the log of a turn whose first answer fails and whose second one is sent.
func loggedTurn(t *testing.T, payloads bool) string {
	t.Helper()
	var log bytes.Buffer
	ctx := zerolog.New(&log).Level(zerolog.DebugLevel).WithContext(chat.WithRequestID(t.Context(), requestID))
	got := turn{yaml: enforce + backed, inner: says("I say 35, mail a@b.example."), req: form("sms"), writer: writes("I say 32, mail a@b.example."), payloads: payloads}.runIn(t, ctx)
	if got.done.Quality == nil || got.done.Quality.Outcome != stream.Refined {
		t.Fatalf("%+v", got.done.Quality)
	}
	return log.String()
}

// With payloads the log has the question, and the answer that was sent, without personal data. A
// text that was withheld is given by its length even then, and without payloads each text is.
func TestPayloadsOfAgents(t *testing.T) {
	t.Parallel()
	for _, payloads := range []bool{false, true} {
		log := loggedTurn(t, payloads)
		if strings.Contains(log, "a@b.example") || strings.Contains(log, "I say 35") {
			t.Errorf("payloads %v: the log has what it must not have: %s", payloads, log)
		}
		sent := 0
		for _, d := range detailsOf(t, log, "agent_interaction") {
			for _, data := range []any{d["input_data"], d["output_data"]} {
				for name, value := range data.(map[string]any) {
					text, isText := value.(string)
					if isText && !payloads {
						t.Errorf("%s has a text without payloads: %q", name, text)
					}
					if strings.Contains(text, "I say 32, mail [email].") {
						sent++
					}
				}
			}
		}
		if want := map[bool]bool{true: true}[payloads]; (sent > 1) != want {
			t.Errorf("payloads %v: the answer that was sent stands %d times in %s", payloads, sent, log)
		}
	}
}

// A failed validation has the scorecard, and the criteria as the first attempt met them; with
// payloads with all of their members.
func TestValidationFailureHasItsScorecard(t *testing.T) {
	t.Parallel()
	for _, payloads := range []bool{false, true} {
		all := detailsOf(t, loggedTurn(t, payloads), "validation_failed")
		if len(all) != 1 {
			t.Fatalf("%d lines", len(all))
		}
		results, card := all[0]["validation_results"].([]any), all[0]["scorecard"].(map[string]any)
		failed := 0
		for _, r := range results {
			c := r.(map[string]any)
			if _, described := c["expected"].(string); described != payloads || c["id"] == "" {
				t.Errorf("payloads %v: a criterion is %v", payloads, c)
			}
			if c["passed"] == false {
				failed++
			}
		}
		_, whole := card["criteria"].([]any)[0].(map[string]any)
		if failed != 1 || whole != payloads || (card["request_id"] == requestID) != payloads || len(all[0]["attempts"].([]any)) != 2 {
			t.Errorf("payloads %v: %v", payloads, all[0])
		}
	}
}

// A criterion that code checks has words for what a good answer has, and of another one without
// them the author is warned.
func TestExpectedOfCriteria(t *testing.T) {
	t.Parallel()
	var s quality.Spec
	r := file.Table{quality.Section(&s, "web")}.Read("f", []byte(`quality:
  criteria:
    - {id: backed, description: Numbers are backed., check: numbers_backed}
    - {id: own, description: It is my own check., check: contains, args: {all: [x]}, expected: An x.}
    - {id: kind, description: The answer is kind.}
    - {id: brief, description: The answer is brief., expected: Three sentences.}
`), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	if len(r.Faults) > 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "/quality/criteria/2: has no expected") {
		t.Errorf("%v %q", r.Faults, r.Warnings)
	}
	got := turn{yaml: enforce + backed, inner: says("32.")}.runInner(t)
	if state := string(got.done.Checked); strings.Contains(state, `"expected":""`) || strings.Count(state, `"expected":"`) != 3 {
		t.Errorf("%s", state)
	}
	if state := string(got.done.Checked); !strings.Contains(state, `"data":[{"tool":"get_hours","result":{"hours_logged":32,"hours_target":40}}]`) {
		t.Errorf("the data are no objects: %s", state)
	}
}
