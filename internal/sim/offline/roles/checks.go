package roles

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// The roles of those who check answers: a planner and a judge, for requests of structured
// output whose schemas ask for criteria, or for verdicts. How well they do says nothing of
// a language model.

// findData reads the last of the messages that is a JSON object with a member, whose name
// is given in quotes.
//
// into is filled in by the first line that fits, from the end of the conversation.
func findData(q geminisim.Question, into any, member string) bool {
	for _, m := range slices.Backward(q.Messages) {
		if m.Model || !strings.Contains(m.Text, member) {
			continue
		}
		for line := range strings.Lines(m.Text) { // neighbours of one role may have become one
			if isObjectWith(line, member) && json.Unmarshal([]byte(line), into) == nil {
				return true
			}
		}
	}
	return false
}

// isObjectWith reports whether a line may be an object of JSON with a member.
func isObjectWith(line, member string) bool {
	return strings.HasPrefix(line, "{") && strings.Contains(line, member)
}

// asksFor reports whether a schema has a member.
func asksFor(schema jsontext.Value, member string) bool {
	var asked struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	return json.Unmarshal(schema, &asked) == nil && asked.Properties[member] != nil
}

// plannedCriterion is a criterion of a plan, in the form that the gateway asks for.
type plannedCriterion struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Expected    string `json:"expected"`
}

// plannedStep is a step of a plan, in the form that the gateway asks for.
type plannedStep struct {
	Agent      string   `json:"agent"`
	Action     string   `json:"action"`
	Parameters struct{} `json:"parameters"`
}

// planAnswer is the demo's planner: the answer must be about the question and, if a tool is for it,
// rest on the tool's result.
//
// false: the schema asks for something else, which another role may know.
func planAnswer(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	var data struct {
		Message string `json:"user_message"`
		Agents  []struct {
			ID    string   `json:"id"`
			Tools []string `json:"tools"`
		} `json:"agents"`
	}
	if !asksFor(schema, "criteria") || !findData(q, &data, `"user_message"`) {
		return nil, false
	}
	out := struct {
		Criteria []plannedCriterion `json:"criteria"`
		Steps    []plannedStep      `json:"steps"`
	}{Criteria: []plannedCriterion{{"answers_the_request", "The answer is about what the user asked for.", data.Message}}, Steps: []plannedStep{}}
	for _, a := range data.Agents {
		if tool := readingTool(data.Message, a.Tools); tool != "" {
			out.Steps = append(out.Steps, plannedStep{Agent: a.ID, Action: tool})
			out.Criteria = append(out.Criteria, plannedCriterion{"rests_on_the_data", "The answer tells what the tool has said.", "values of " + tool})
			break
		}
	}
	if len(out.Steps) == 0 && len(data.Agents) > 0 {
		out.Steps = append(out.Steps, plannedStep{Agent: data.Agents[0].ID, Action: "answer the user"})
	}
	value, err := json.Marshal(out)
	return value, err == nil
}

// readingTool returns the tool that a question is for, or "". The tool must read and not change.
func readingTool(message string, tools []string) string {
	if !slices.ContainsFunc(english.Read(message).Words, func(w english.Word) bool { return english.In("check show list guess what what's which how", w.Low) }) {
		return ""
	}
	asked := meaningfulStems(message)
	for _, tool := range tools {
		parts := strings.Split(tool, "_")
		reads := slices.ContainsFunc(parts, func(p string) bool { return english.In("list get show search", p) })
		if reads && slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(asked, english.Stem(p)) }) {
			return tool
		}
	}
	return ""
}

// judgeAnswer is the demo's judge: what shares a word with the question or the results of tools
// passes.
//
// All criteria get the same verdict.
func judgeAnswer(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	var data struct {
		Message  string       `json:"user_message"`
		Answer   string       `json:"answer"`
		Results  []toolResult `json:"tool_results"`
		Criteria []struct {
			ID string `json:"id"`
		} `json:"criteria"`
	}
	if !asksFor(schema, "verdicts") || !findData(q, &data, `"answer"`) {
		return nil, false
	}
	known := meaningfulStems(data.Message)
	for _, r := range data.Results {
		known = append(known, meaningfulStems(strings.NewReplacer(`"`, " ", ":", " ", ",", " ", "{", " ", "}", " ", "[", " ", "]", " ", "_", " ").Replace(r.Result))...)
	}
	shares := slices.ContainsFunc(meaningfulStems(data.Answer), func(w string) bool { return slices.Contains(known, w) })
	type verdict struct {
		ID       string `json:"id"`
		Passed   bool   `json:"passed"`
		Feedback string `json:"feedback"`
	}
	out := struct {
		Verdicts []verdict `json:"verdicts"`
	}{Verdicts: []verdict{}}
	for _, c := range data.Criteria {
		v := verdict{c.ID, shares, ""}
		if !shares {
			v.Feedback = "The answer has no word in common with the question or the data."
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	value, err := json.Marshal(out)
	return value, err == nil
}

func sortedNames(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }
