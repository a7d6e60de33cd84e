package web_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// Text that was taken back is gone in each fold of ours: those of the gateway and of the page make the
// same text of a stream, also of a reset under an id that the reader has already.
func TestFoldsResetTextAlike(t *testing.T) {
	t.Parallel()
	var streams []struct {
		Name, Text string
		Events     []struct {
			Event string
			Data  struct{ Delta, Accumulated string }
		}
	}
	table, err := os.ReadFile("testdata/resets.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(table, &streams); err != nil || len(streams) == 0 {
		t.Fatalf("%d streams: %v", len(streams), err)
	}
	var want []string
	for _, s := range streams {
		var fold stream.Fold
		for _, e := range s.Events {
			switch e.Event {
			case "response_delta":
				fold.Add(&stream.Delta{Text: e.Data.Delta})
			case "response_reset":
				fold.Add(&stream.Reset{Accumulated: e.Data.Accumulated})
			}
		}
		if got := strings.Join(fold.Pieces, ""); got != s.Text {
			t.Errorf("%s: the gateway's fold has %q, want %q", s.Name, got, s.Text)
		}
		want = append(want, s.Text)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatal("node is missing")
		}
		t.Skip("node is missing: the page's fold is not tested")
	}
	out, err := exec.CommandContext(t.Context(), node, "testdata/texts.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page's fold (-want +got):\n%s", diff)
	}
}
