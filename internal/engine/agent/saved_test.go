package agent

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
)

// Parts of a state that were saved one after the other are the state; one that is missing, cut or
// of another version is an error.
func TestJoin(t *testing.T) {
	t.Parallel()
	whole := fullState()
	var parts [][]byte
	for n := range len(whole.Messages) {
		s := whole
		s.Messages = whole.Messages[:n+1]
		if n < len(whole.Messages)-1 {
			s.Open = nil
		}
		part, err := s.stateSince(n)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	text, err := Join(parts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := whole.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, bad := range map[string][][]byte{
		"nothing":   nil,
		"no begin":  parts[1:],
		"a gap":     append(slices.Clone(parts[:1]), parts[2:]...),
		"cut":       {parts[0][:len(parts[0])/2]},
		"by hand":   {[]byte(`{"schema":3,"paused":{"kind":"agent","state":{"messages":[]}}}`)},
		"newer":     {bytes.Replace(parts[0], []byte(`"schema":3`), []byte(`"schema":4`), 1)},
		"not JSON":  {[]byte("x")},
		"no answer": {[]byte(`null`)},
	} {
		if len(whole.Messages) < 3 && what == "a gap" {
			continue
		}
		if _, err := Join(bad); !errors.Is(err, run.ErrPaused) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzJoin(f *testing.F) {
	s := fullState()
	for n := range len(s.Messages) {
		part, _ := s.stateSince(n)
		f.Add(part, part)
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		text, err := Join([][]byte{one, two})
		if err != nil {
			return
		}
		var s State
		if err := s.UnmarshalJSON(text); err != nil {
			t.Errorf("what was joined cannot be read: %v", err)
		}
	})
}
