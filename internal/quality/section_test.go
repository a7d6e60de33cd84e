package quality_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality"
)

func TestSettingsOfAFile(t *testing.T) {
	t.Parallel()
	s := sectionsOf(t, `
quality: {mode: observe, plan: none, timeout: 2s, reserve: 10s, max_planned: 0, thinking: hide, receipt: "off", planner: {model: default},
  criteria: [{id: kind, description: The answer is kind., must: false, channels: [sms]}, {id: short, description: The answer is short., check: max_length, args: {chars: 10}}]}
agents:
  a: {quality: {mode: enforce, on_fail: send}}
  b: {}
`)
	base := s.Settings("b")
	if base.Mode != quality.Observe || base.Timeout != 2*time.Second || base.Reserve != 10*time.Second || !base.HideThinking || !base.HideReceipt || base.MaxPlanned != 0 {
		t.Errorf("%+v", base)
	}
	if c := base.Criteria; len(c) != 2 || c[0].Must || c[0].Check != nil || c[0].Channels[0] != "sms" || !c[1].Must || c[1].Check == nil {
		t.Errorf("%+v", c)
	}
	if own := s.Settings("a"); own.Mode != quality.Enforce || own.OnFail != quality.Send || own.Timeout != 2*time.Second || len(own.Criteria) != 2 {
		t.Errorf("%+v", own)
	}
	var none quality.Spec
	if diff := cmp.Diff(quality.Defaults(), none.Settings("x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All faults come at once, each with its place, in the sections of agents too.
func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	var s quality.Spec
	table := file.Table{
		quality.Section(&s, "web", "sms"),
		{Name: "channels", Schema: `{"type":"object"}`, Read: func(*file.Node) {}},
		quality.OfAgents(&s, file.Section{Name: "agents", Schema: `{"type":"object","additionalProperties":{"type":"object","properties":{"quality":{"$comment": "schema of quality"}}}}`, Read: func(*file.Node) {}}),
	}
	r := table.Read("f", []byte(`quality:
  mode: strict
  timeout: 2h
  judge: {model: none}
  criteria:
    - {id: a, description: Long enough it is.}
    - {id: a, description: Long enough it is.}
    - {id: b, description: short}
    - {id: c, description: Long enough it is., args: {x: 1}}
    - {id: d, description: Long enough it is., check: max_length, args: {chars: ten}}
    - {id: e, description: Long enough it is., check: guess}
    - {id: f, description: Long enough it is., check: matches}
    - {id: complete, description: Long enough it is.}
    - {id: data_used, description: Long enough it is., check: not_empty}
    - {id: plain_text, description: Long enough it is., check: plain_text, must: false}
    - {id: g, description: Long enough it is., channels: [smss, own]}
  channels: [fax]
channels: {own: {}}
agents:
  x: {quality: {plan: always, reserve: 1ms, channels: []}}
`), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	var got []string
	for _, f := range r.Faults {
		got = append(got, f.Name)
	}
	want := []string{"f:2:9", "f:3:12", "f:4:18", "f:7:12", "f:8:28", "f:9:48", "f:10:81", "f:11:55", "f:12:7", "f:13:12", "f:14:12", "f:16:59", "f:17:14", "f:20:23", "f:20:40", "f:20:55"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, r.Faults)
	}
	for _, text := range []string{"/quality/criteria/2/description: must have 10 characters or more", "/quality/criteria/10/channels/0: there is no such channel; did you mean sms?", "/quality/channels/0: there is no such channel; there are own, sms, web"} {
		if !strings.Contains(fmt.Sprint(r.Faults), text) {
			t.Errorf("%q is not in %v", text, r.Faults)
		}
	}
}
