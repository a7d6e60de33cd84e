package roles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// The roles of the example workflows: the first word of the system instruction names the role of an
// agent. Their answers depend on the request alone.

// answerAgent returns the answer of an agent with a role; ok is false for all others.
func answerAgent(q geminisim.Question) (a geminisim.Answer, ok bool) {
	words := strings.Fields(q.System)
	if len(words) == 0 {
		return a, false
	}
	request, others, earlier := conversationOf(q.Messages)
	switch words[0] {
	case "Triage":
		return text(triageJSON(request)), true
	case "Researcher":
		return answerResearch(q), true
	case "Librarian":
		return text(sourcesText(request)), true
	case "Writer":
		return text(writeReport(request, others, earlier)), true
	}
	return geminisim.Answer{}, false
}

// conversationOf returns the last message of the user, the quotes of others in it, and the messages
// before it.
func conversationOf(messages []geminisim.Message) (request string, others []quoted, earlier []geminisim.Message) {
	for i, m := range slices.Backward(messages) {
		if !m.Model {
			request, others = splitQuotes(m.Text)
			return request, others, messages[:i]
		}
	}
	return "", nil, nil
}

var (
	amount   = regexp.MustCompile(`\d+(?:[.,]\d{1,2})?`)
	wantsIt  = regexp.MustCompile(`(?i)\b(refund|money back|pay(?:ment)? back|return(?:ed)? (?:my|the) money|reimburse)`)
	askedFor = regexp.MustCompile(`(?i)^(?:what|how|why|when|where|which|who|tell me about|research|compare)\b`)
)

// triageJSON sorts a request: {"kind":"refund","amount":30}.
func triageJSON(request string) string {
	value := struct {
		Kind   string         `json:"kind"`
		Amount jsontext.Value `json:"amount"`
	}{"other", jsontext.Value("0")}
	if askedFor.MatchString(strings.TrimSpace(request)) {
		value.Kind = "question"
	}
	if wantsIt.MatchString(request) {
		value.Kind = "refund"
		if n := amount.FindString(request); n != "" {
			value.Amount = jsontext.Value(strings.TrimLeft(strings.ReplaceAll(n, ",", "."), "0"))
			if !value.Amount.IsValid() {
				value.Amount = jsontext.Value("0")
			}
		}
	}
	out, err := json.Marshal(value)
	if err != nil { // a number that JSON does not know
		return `{"kind":"other","amount":0}`
	}
	return string(out)
}

// researchNotes makes notes on a request.
func researchNotes(request string) string {
	subject := strings.Trim(strings.TrimSpace(request), "?.!")
	return fmt.Sprintf("Notes on “%s”: the demo model knows no facts, so these are its steps. First define the terms, then compare two sources, then say what is unsure.", subject)
}

// writeReport answers from the results of earlier steps. Asked to change something, it writes more. The
// draft of an earlier step is given as it is.
func writeReport(request string, others []quoted, earlier []geminisim.Message) string {
	for _, o := range others {
		if strings.HasPrefix(o.about, answerOfStep) && strings.HasPrefix(o.text, greeting) {
			return strings.TrimSpace(o.text)
		}
	}
	better := slices.ContainsFunc(others, func(o quoted) bool { return strings.Contains(o.text, addGreeting) })
	if better { // a critic asks; the user's own request came before
		for _, m := range earlier {
			if !m.Model {
				request = OwnText(m.Text)
				break
			}
		}
	}
	var found []string
	for _, o := range others {
		found = append(found, sentencesOf(o)...)
	}
	body := draftBegins + "\n\n- " + strings.Join(found, "\n- ")
	if len(found) == 0 {
		body = draftBegins + " " + fmt.Sprintf("About “%s” nothing was found.", Clip(request))
	}
	if better {
		return greeting + "\n\n" + body + "\n\nKind regards"
	}
	return body
}

const (
	greeting    = "Hello,"
	draftBegins = "here is what we found."
	addGreeting = "Begin with a greeting"

	answerOfStep = "Answer of step "
)

// resultSentences words the result of a tool.
func resultSentences(tool, result string) []string {
	switch {
	case strings.HasPrefix(tool, delegatePrefix): // who called it says so
		return nil
	case tool == "refund":
		return []string{fmt.Sprintf("Your refund was paid: %s.", memberText(result, "amount")+" EUR")}
	}
	var todos struct {
		Todos []jsontext.Value `json:"todos"`
	}
	switch {
	case tool == "list_todos" && json.Unmarshal([]byte(result), &todos) == nil:
		return []string{fmt.Sprintf("Todos that are listed: %d.", len(todos.Todos))}
	case jsontext.Value(result).Kind() == '{', jsontext.Value(result).Kind() == '[': // a cut object could not be read
		return []string{tool + " has answered."}
	}
	return []string{fmt.Sprintf("%s says %s.", tool, Clip(result))}
}

// sentencesOf words the report of an earlier step.
func sentencesOf(o quoted) (list []string) {
	if rest, ok := strings.CutPrefix(o.about, "Result of the tool "); ok {
		tool, _, _ := strings.Cut(rest, " ")
		return resultSentences(tool, o.text)
	}
	if !strings.HasPrefix(o.about, answerOfStep) || strings.HasPrefix(o.text, "{") {
		return nil
	}
	for part := range strings.SplitSeq(o.text, "\n\n") { // of several model calls
		if part = Clip(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// memberText returns a member of a JSON object as text, or "?" without an object.
func memberText(object, name string) string {
	var members map[string]jsontext.Value
	if json.Unmarshal([]byte(object), &members) != nil {
		return "?"
	}
	return strings.Trim(string(members[name]), `"`)
}

// Clip returns a text on one line, at most 300 characters of it.
func Clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

// judgeDraft is the demo's critic: it wants a draft to begin with a greeting. It answers
// requests whose schema asks for a score, passed and feedback.
func judgeDraft(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	for _, name := range []string{"score", "passed", "feedback"} {
		if !asksFor(schema, name) {
			return nil, false
		}
	}
	if len(q.Messages) == 0 {
		return nil, false
	}
	var task struct {
		Draft string `json:"draft"`
	}
	findData(q, &task, `"draft"`)
	judgement := struct {
		Score    int    `json:"score"`
		Passed   bool   `json:"passed"`
		Feedback string `json:"feedback"`
	}{9, true, ""}
	if !strings.HasPrefix(strings.TrimSpace(task.Draft), greeting) {
		judgement.Score, judgement.Passed, judgement.Feedback = 5, false, addGreeting+", and end with regards."
	}
	value, err := json.Marshal(judgement)
	return value, err == nil
}
