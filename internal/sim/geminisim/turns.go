package geminisim

import (
	"fmt"
	"slices"
)

// checkTurns: a turn of function calls follows a user turn, and the very next
// turn answers each of its calls.
func checkTurns(contents []content) *apiError {
	for i, c := range contents {
		calls, responses := c.calls(), c.responses()
		if len(calls) > 0 && (i == 0 || contents[i-1].Role == "model") {
			return invalidRequest("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		var asked []*functionCall
		if i > 0 {
			asked = contents[i-1].calls()
		}
		if len(responses) > 0 && len(asked) == 0 {
			return invalidRequest("Please ensure that function response turn comes immediately after a function call turn.")
		}
		if len(responses) != len(asked) {
			return invalidRequest("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		if err := checkPairs(asked, responses); err != nil {
			return err
		}
	}
	return nil
}

// checkPairs: responses come in the order of the calls, with the calls' names,
// and with the calls' ids if and only if those have any.
func checkPairs(calls []*functionCall, responses []*functionResponse) *apiError {
	for i, r := range responses {
		if r.ID != calls[i].ID {
			return invalidRequest(fmt.Sprintf("functionResponse.id does not match functionCall.id: %q, want %q", r.ID, calls[i].ID))
		}
		if r.Name != calls[i].Name {
			return invalidRequest(fmt.Sprintf("functionResponse.name does not match functionCall.name: %q, want %q", r.Name, calls[i].Name))
		}
	}
	return nil
}

// checkSignatures: from the last user text on, the first call of each model turn
// carries the signature that it was issued with, and no other call carries any.
func checkSignatures(contents []content, issued *ledger) *apiError {
	for i := lastUserText(contents) + 1; i < len(contents); i++ {
		first := true
		for _, p := range contents[i].Parts {
			if p.FunctionCall == nil {
				continue
			}
			want := issued.signatureOf(p.FunctionCall, first)
			if err := checkSignature(i, p, want); err != nil && !(first && issued.isStandIn(p.ThoughtSignature)) {
				return err
			}
			first = false
		}
	}
	return nil
}

// checkSignature requires the signature that the call was sent with. The service refuses a first
// call of a step without one, and any that was altered.
func checkSignature(i int, p part, want string) *apiError {
	if want != "" && p.ThoughtSignature == "" {
		return invalidRequest(fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", p.FunctionCall.Name, i+1))
	}
	same, ok := sameSignature(want, p.ThoughtSignature)
	if !ok {
		return invalidRequest(fmt.Sprintf("Invalid value at 'contents[%d].parts.thought_signature' (TYPE_BYTES), Base64 decoding failed", i))
	}
	if !same {
		return invalidRequest(fmt.Sprintf("Corrupted thought signature. Additional data, function call `default_api:%s` , position %d.", p.FunctionCall.Name, i+1))
	}
	return nil
}

// lastUserText returns the index of the last user content with text and without a function
// response, or -1. The current turn begins there.
func lastUserText(contents []content) int {
	for i, c := range slices.Backward(contents) {
		if c.Role != "model" && len(c.responses()) == 0 && c.text() != "" {
			return i
		}
	}
	return -1
}
