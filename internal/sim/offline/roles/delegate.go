package roles

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// An agent that may call others has a function for each of them. The demo's researcher asks
// the first one for sources before it answers, once for each request.

// delegatePrefix begins the names of these functions (DelegatePrefix in package router).
const delegatePrefix = "delegate_to_"

// answerResearch answers a request by its steps and, if it may call an agent, by that agent's
// result. The request is the last message of the user's that is more than results of calls.
func answerResearch(q geminisim.Question) geminisim.Answer {
	begin := LastRequest(q.Messages)
	if begin < 0 {
		return text(researchNotes(""))
	}
	request := OwnText(q.Messages[begin].Text)
	if r, ok := delegateResult(q.Messages[begin+1:]); ok {
		return text(researchNotes(request) + "\n\n" + wordResult(r))
	}
	for _, f := range q.Functions {
		if strings.HasPrefix(f.Name, delegatePrefix) && q.MayCall {
			args, err := json.Marshal(map[string]string{"task": "Which sources are there on this: " + Clip(request)})
			if err == nil {
				return geminisim.Answer{Calls: []geminisim.Call{{Name: f.Name, Args: jsontext.Value(args)}}}
			}
		}
	}
	return text(researchNotes(request))
}

// delegateResult returns the first result of an agent that was called.
func delegateResult(messages []geminisim.Message) (geminisim.Result, bool) {
	for _, m := range messages {
		for _, r := range m.Results {
			if strings.HasPrefix(r.Name, delegatePrefix) {
				return r, true
			}
		}
	}
	return geminisim.Result{}, false
}

// wordResult words the result of another agent.
func wordResult(r geminisim.Result) string {
	var fields struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	_ = json.Unmarshal(r.Response, &fields) // the simulator has checked it
	who := strings.TrimPrefix(r.Name, delegatePrefix)
	if fields.Output == "" {
		return "Of the " + who + " nothing was to be had: " + Clip(fields.Error)
	}
	return "From the " + who + ": " + Clip(fields.Output)
}

// sourcesText is the answer of the demo's librarian.
func sourcesText(request string) string {
	_, subject, ok := strings.Cut(request, ": ")
	if !ok {
		subject = request
	}
	return "The demo has no library. On “" + strings.Trim(strings.TrimSpace(subject), "?.!") + "” one would take a textbook and a recent survey."
}
