package roles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/geminisim"
)

// The roles of the example workflows: the first word of the system instruction says which
// one an agent has. What they answer depends on the request alone.

// role returns the answer of an agent with a role; ok is false for all others.
func role(q geminisim.Question) (a geminisim.Answer, ok bool) {
	words := strings.Fields(q.System)
	if len(words) == 0 {
		return a, false
	}
	request, earlier := conversationOf(q.Messages)
	switch words[0] {
	case "Triage":
		return text(triage(request)), true
	case "Researcher":
		return researcher(q), true
	case "Librarian":
		return text(sources(request)), true
	case "Writer":
		return text(write(q.Messages, request, earlier)), true
	}
	return geminisim.Answer{}, false
}

// conversationOf returns the last message of the user, and the texts before it.
func conversationOf(messages []geminisim.Message) (request string, earlier []geminisim.Message) {
	for i, m := range slices.Backward(messages) {
		if !m.Model {
			return m.Text, messages[:i]
		}
	}
	return "", nil
}

var (
	amount   = regexp.MustCompile(`\d+(?:[.,]\d{1,2})?`)
	wantsIt  = regexp.MustCompile(`(?i)\b(refund|money back|pay(?:ment)? back|return(?:ed)? (?:my|the) money|reimburse)`)
	askedFor = regexp.MustCompile(`(?i)^(?:what|how|why|when|where|which|who|tell me about|research|compare)\b`)
)

// triage sorts a request: {"kind":"refund","amount":30}.
func triage(request string) string {
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

// research makes notes on what it is asked.
func research(request string) string {
	subject := strings.Trim(strings.TrimSpace(request), "?.!")
	return fmt.Sprintf("Notes on “%s”: the demo model knows no facts, so these are its steps. First define the terms, then compare two sources, then say what is unsure.", subject)
}

// write answers from what was found before. Told what to change, it writes more.
func write(messages []geminisim.Message, request string, earlier []geminisim.Message) string {
	better := strings.Contains(request, addGreeting)
	if better { // the request is a critic's; the user's own came before
		for _, m := range earlier {
			if !m.Model {
				request = m.Text
				break
			}
		}
	}
	var found []string
	for _, m := range messages {
		if m.Model && !strings.HasPrefix(m.Text, draftBegins) && !strings.HasPrefix(m.Text, greeting) {
			for part := range strings.SplitSeq(m.Text, "\n\n") { // what several nodes have said
				found = append(found, sentences(part)...)
			}
		}
	}
	body := draftBegins + " " + strings.Join(found, " ")
	if len(found) == 0 {
		body = draftBegins + " " + fmt.Sprintf("About “%s” nothing was found.", clip(request))
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
)

// sentences words what a message of an earlier node tells.
func sentences(message string) (list []string) {
	name, result, isResult := strings.Cut(message, ":\n")
	if _, tool, ok := strings.Cut(name, "Result of "); ok && isResult {
		if strings.HasPrefix(tool, delegatePrefix) { // who called it says so
			return nil
		}
		if tool == "refund" {
			return []string{fmt.Sprintf("Your refund was paid: %s.", fact(result, "amount")+" EUR")}
		}
		return []string{fmt.Sprintf("%s says %s.", tool, clip(result))}
	}
	if strings.HasPrefix(message, "{") {
		return nil
	}
	return []string{clip(message)}
}

// fact is a member of an object in JSON, as text; "?" if there is no object.
func fact(object, name string) string {
	var members map[string]jsontext.Value
	if json.Unmarshal([]byte(object), &members) != nil {
		return "?"
	}
	return strings.Trim(string(members[name]), `"`)
}

// clip returns a text on one line, at most 300 characters of it.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

// Critic is the demo's critic: it wants a draft to begin with a greeting. It answers
// requests whose schema asks for a score, passed and feedback.
func Critic(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	var asked struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	if json.Unmarshal(schema, &asked) != nil || len(q.Messages) == 0 {
		return nil, false
	}
	for _, name := range []string{"score", "passed", "feedback"} {
		if _, ok := asked.Properties[name]; !ok {
			return nil, false
		}
	}
	draft := ""
	for _, m := range q.Messages { // a fault may have been told back: the task comes first
		if _, text, ok := strings.Cut(m.Text, "Draft:\n"); ok {
			draft = strings.TrimSpace(text)
			break
		}
	}
	judgement := struct {
		Score    int    `json:"score"`
		Passed   bool   `json:"passed"`
		Feedback string `json:"feedback"`
	}{9, true, ""}
	if !strings.HasPrefix(draft, greeting) {
		judgement.Score, judgement.Passed, judgement.Feedback = 5, false, addGreeting+", and end with regards."
	}
	value, err := json.Marshal(judgement)
	return value, err == nil
}
