package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"testing"

	"sluice/internal/sim/geminisim"
	demo "sluice/internal/sim/offline"
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

// aside is what the offline model does not know: where a request has the marker, the model calls
// tools, and then says something.
type aside struct{ marker, calls, says string }

// withAsides is the offline model without its pauses, and with asides.
func withAsides(t *testing.T, asides ...aside) *gemini {
	t.Helper()
	// A call of a history has no signature of this model's.
	sim := simulator(t, geminisim.Config{Model: demo.Model{}, Foreign: true})
	scripted := func(script string) *geminisim.Server {
		return simulator(t, geminisim.Config{Script: parse(t, "loop\nlenient\n"+script)})
	}
	calls, says := map[string]*geminisim.Server{}, map[string]*geminisim.Server{}
	for _, a := range asides {
		calls[a.marker], says[a.marker] = scripted(a.calls), scripted(a.says)
	}
	return &gemini{url: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		for marker, server := range calls {
			if bytes.Contains(body, []byte(marker)) {
				if bytes.Contains(body, []byte("functionResponse")) {
					server = says[marker]
				}
				server.ServeHTTP(w, r)
				return
			}
		}
		sim.ServeHTTP(w, r)
	}))}
}
