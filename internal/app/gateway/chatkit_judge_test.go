package gateway_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// chatKitCase is the input of the judge of POST /chatkit, which is written in Python
// over the types of ChatKit's own package.
type chatKitCase struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // stream, or the type of the request
	Body  string `json:"body"`
	Retry bool   `json:"retry"`
	Cut   bool   `json:"cut"` // the client has left

	text string // what the deltas must be, joined
}

// judgeChatKit shows all cases to the judge. Where it is not installed it skips, or
// fails with SLUICE_REQUIRE_PEERS=1.
func judgeChatKit(t *testing.T, cases []chatKitCase) {
	t.Helper()
	const peers = "../../../e2e/peers/"
	python := filepath.FromSlash("../../../.venv/chatkit/bin/python")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatalf("%v: scripts/peers-install.sh installs it", err)
		}
		t.Skipf("needs ChatKit's Python package, which scripts/peers-install.sh installs: %v", err)
	}
	var in, out, errOut bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, c := range cases {
		if err := enc.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, peers+"testdata/chatkit_judge.py")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &errOut)
	}
	dec := json.NewDecoder(&out)
	for _, c := range cases {
		var v struct {
			Name, Text string
			Faults     []string
		}
		if err := dec.Decode(&v); err != nil || v.Name != c.Name {
			t.Fatalf("the judge's verdict on %s: %q, %v", c.Name, v.Name, err)
		}
		for _, fault := range v.Faults {
			t.Errorf("%s: %s", c.Name, fault)
		}
		if v.Text != c.text && !c.Cut && c.Kind == "stream" {
			t.Errorf("%s: the deltas are %q, want %q", c.Name, v.Text, c.text)
		}
	}
}
