package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// dialectsFolder holds the clients of front ends' protocols from npm, a folder for each
// set, seen from the repository.
const dialectsFolder = npmFolder + "/dialects"

// dialectNode returns the Node that runs those clients: the one that is installed for
// them, which is new enough for all, or else the machine's.
func dialectNode(t testing.TB) string {
	t.Helper()
	return nodeOf(t, installed(t, dialectsFolder+"/node/node_modules"))
}

// runDialect runs a script of dialectsFolder, which needs its set's packages. It gives it the
// input as JSON and reads the one JSON value that it writes into seen.
func runDialect(t testing.TB, set, script string, input, seen any) {
	t.Helper()
	installed(t, dialectsFolder+"/"+set+"/node_modules")
	given, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dialectNode(t), installed(t, dialectsFolder+"/"+set+"/"+script))
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", script, err, complaints.Bytes(), out)
	}
	if err := json.Unmarshal(out, seen); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}
