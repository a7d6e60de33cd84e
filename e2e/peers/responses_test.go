package peers

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const responsesJudge = "e2e/peers/testdata/responses_judge.py"

// OpenAI's SDK gets responses whose events are those of its own types, continues them, answers
// what they ask, and gets its own exceptions.
func TestResponsesSDK(t *testing.T) {
	t.Parallel()
	python := installed(t, openAIPython)
	g := startGateway(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIRM": "writes"})
	plain := startGateway(t, nil)
	native := plain.ask(t, "Show my todos").done().FinalOutput
	out, err := exec.CommandContext(t.Context(), python, installed(t, responsesJudge), g.base, plain.base, native).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	want := "document\nstream\nretrieve\nprevious\ntools\napproval\nparse\ndelete and cancel\nrefusals\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
