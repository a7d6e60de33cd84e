package wholetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// Canary stands in every withheld draft, and in the judge's feedback on it.
const Canary = "c4nary"

// Inventor puts the canary into the model's texts until somebody complains, and into each verdict.
// It never passes.
func Inventor(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		say := func(text string) {
			quoted, _ := json.Marshal(text)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":%s}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", quoted)
		}
		switch {
		case bytes.Contains(body, []byte("You check an answer")):
			say(`{"verdicts":[{"id":"kind","passed":` + fmt.Sprint(!bytes.Contains(body, []byte(Canary))) + `,"feedback":"It says ` + Canary + `, which is wrong."}]}`)
		case bytes.Contains(body, []byte("You rewrite an answer")) && !bytes.Contains(body, []byte("hopeless")):
			say("It is as it should be.")
		case bytes.Contains(body, []byte("Judge the draft below")):
			say(`{"score":9,"passed":true,"feedback":""}`)
		case bytes.Contains(body, []byte("You plan how")):
			say(`{"criteria":[]}`)
		default:
			say("The secret number is " + Canary + ".")
		}
	})
}

// WithheldYAML is the section of a file for a judged answer; %s is the mode.
const WithheldYAML = `
quality:
  mode: enforce
  drafts: ask
  plan: none
  on_fail: %s
  criteria: [{id: kind, description: "The answer is kind"}]
`

// WithheldTeam has the agents for a file with WithheldYAML.
const WithheldTeam = `
agents:
  writer: {description: Writes, role: Writer}
workflows:
  flow:
    nodes:
      first: {type: condition, expression: "'x'"}
      last: {type: agent, agent: writer}
    edges: [{from: first, to: {default: last}}]
`

// WantNone looks for the canary.
func WantNone(t *testing.T, where string, text []byte) {
	t.Helper()
	if i := bytes.Index(text, []byte(Canary)); i >= 0 {
		t.Errorf("%s: …%s…", where, bytes.ToValidUTF8(text[max(0, i-200):min(len(text), i+100)], []byte("?")))
	}
}
