package geminisim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Script holds the responses of a fake: one for each request, in order. ParseScript reads one. It
// is immutable, so servers may share it.
type Script struct {
	responses []response
	loop      bool // when used up, the last response is given again
	lenient   bool // no strict checks
}

// response is one block of a script.
type response struct {
	line    int // where it starts, for messages
	expects []expectation
	steps   []step
}

// step is one directive at work. errEnd ends the response without a fault.
type step func(*playing) error

var errEnd = errors.New("end of the response")

// playing is the playing of one response.
type playing struct {
	*reply
	issued *ledger
	number int // of the request, from 1
	calls  int // function calls sent so far
	usage  *usage
}

// defaultUsage is reported until a usage directive says otherwise. It is fixed,
// so that a golden transcript does not depend on the length of a prompt.
func defaultUsage() *usage { return newUsage(10, 5, 0) }

// playScript answers request number n from the script.
func (s *Server) playScript(out *reply, r *http.Request, n int, body []byte) {
	resp, err := s.cfg.Script.responseFor(n)
	if err != nil {
		s.refuse(out, n, err)
		return
	}
	if !s.cfg.Script.lenient {
		if _, err := s.acceptRequest(out.model, body); err != nil {
			s.refuse(out, n, err)
			return
		}
	}
	for _, e := range resp.expects {
		if err := e.check(r, body); err != nil {
			s.refuse(out, n, invalidRequest(fmt.Sprintf("script line %d: %v", e.line, err)))
			return
		}
	}
	t := &playing{reply: out, issued: &s.issued, number: n, usage: defaultUsage()}
	t.play(resp.steps)
}

// responseFor returns the block that answers request number n.
func (s *Script) responseFor(n int) (*response, *apiError) {
	if n <= len(s.responses) {
		return &s.responses[n-1], nil
	}
	if s.loop {
		return &s.responses[len(s.responses)-1], nil
	}
	return nil, &apiError{Code: http.StatusInternalServerError, Status: "INTERNAL",
		Message: fmt.Sprintf("The script is used up: this is request %d, and it holds %d responses.", n, len(s.responses))}
}

// play does one step after the other until the script ends the answer or the
// client leaves.
func (t *playing) play(steps []step) {
	for _, do := range steps {
		err := do(t)
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			return // the client is gone
		}
	}
	_ = t.end() // fails only when the client is gone
}

// sendParts sends a chunk with the given parts.
func (t *playing) sendParts(parts ...outPart) error { return t.sendChunk(parts, "", "", t.usage) }

// sendCall sends a function call. As with the real API the first one of a response
// is signed; signature replaces that, and unsigned leaves it out.
func (t *playing) sendCall(name string, args jsontext.Value, id, signature string) error {
	t.calls++
	switch id {
	case "":
		id = fmt.Sprintf("r%03dc%03d", t.number, t.calls)
	case none:
		id = ""
	}
	issued := &functionCall{ID: id, Name: name, Args: args}
	switch {
	case signature == none:
		signature = ""
		t.issued.addCall(issued, "")
	case signature != "":
		t.issued.addCall(issued, signature)
	case t.calls == 1:
		signature = signWords(callKey(issued))
	}
	return t.sendParts(outPart{
		FunctionCall:     &outCall{Name: name, Args: args, ID: id},
		ThoughtSignature: signature,
	})
}

// recordCalls remembers the function calls of parts that were written by hand.
func (t *playing) recordCalls(parts []part) {
	for _, p := range parts {
		if p.FunctionCall != nil {
			t.calls++
			t.issued.addCall(p.FunctionCall, p.ThoughtSignature)
		}
	}
}

// partsOf returns the parts of a chunk that was written by hand, as far as they
// can be made out.
func partsOf(data jsontext.Value) []part {
	var c struct {
		Candidates []struct {
			Content struct {
				Parts []part `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if json.Unmarshal(data, &c) != nil || len(c.Candidates) == 0 {
		return nil
	}
	return c.Candidates[0].Content.Parts
}
