// This file is the demo's router: it compares the words of a request with those of the
// catalogue. It knows the form of the prompt that package router writes, so the two must
// change together.

package roles

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// routeRequest is the demo's router: it chooses agents from the catalogue of the prompt, for a
// request of structured output whose schema asks for an agentId. How well it does says
// nothing of a language model.
func routeRequest(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	var asked struct {
		Properties map[string]struct {
			Enum []string `json:"enum"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &asked) != nil || len(q.Messages) == 0 {
		return nil, false
	}
	ids := asked.Properties["agentId"].Enum
	if len(ids) == 0 {
		return nil, false
	}
	prompt := q.Messages[len(q.Messages)-1].Text
	for _, m := range q.Messages { // a fault may have been reported back: the prompt comes first
		if strings.Contains(m.Text, "\n- ") {
			prompt = m.Text
			break
		}
	}
	value, err := json.Marshal(chooseAgents(readCatalogue(prompt, ids), readRequest(prompt), ids))
	return value, err == nil
}

// choice is the answer of a router.
type choice struct {
	AgentID    string   `json:"agentId"`
	Confidence float64  `json:"confidence"`
	Reasoning  string   `json:"reasoning"`
	Additional []string `json:"additionalAgents,omitempty"`
}

// profile is an agent's entry in the catalogue: words and their weights.
type profile struct {
	id     string
	weight map[string]float64
}

var entry = regexp.MustCompile(`(?m)^- ([a-z0-9_-]+): (.*)$`)

// readCatalogue reads the entries of the prompt whose ids may be chosen.
func readCatalogue(prompt string, ids []string) (profiles []profile) {
	places := entry.FindAllStringSubmatchIndex(prompt, -1)
	for i, at := range places {
		id := prompt[at[2]:at[3]]
		if !slices.Contains(ids, id) {
			continue
		}
		end := len(prompt)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		p := profile{id: id, weight: map[string]float64{}}
		description, capabilities, _ := strings.Cut(prompt[at[4]:at[5]], "Capabilities:")
		p.addWords(strings.ReplaceAll(id, "-", " "), 2)
		p.addWords(description, 1)
		p.addWords(capabilities, 2)
		for line := range strings.SplitSeq(prompt[at[1]:end], "\n") {
			if example, ok := strings.CutPrefix(line, "  example: "); ok {
				p.addWords(example, 1.5)
			}
		}
		profiles = append(profiles, p)
	}
	return profiles
}

// common are words that stand in requests of all kinds.
const common = "the a an my our your this to of for and with about on in at up from it is some me i you we " +
	"agent control controls manage manages handle handles turn set make put please can could would want need thing get change " +
	"off down what how show tell do does are be there all by or into"

// addWords gives the words of a text a weight. A word keeps the greatest one that it was given.
func (p *profile) addWords(text string, weight float64) {
	for _, w := range english.Read(text).Words {
		if meaning := english.Stem(w.Low); !english.IsSign(w.Low) && !english.In(common, w.Low) {
			p.weight[meaning] = max(p.weight[meaning], weight)
		}
	}
}

// score is the sum of the weights of words; those that were not learned count for nothing.
func (p *profile) score(words []string) (sum float64) {
	for _, w := range words {
		sum += p.weight[w]
	}
	return sum
}

// readRequest returns the user's request, at the end of the prompt.
func readRequest(prompt string) string {
	const mark = "User request:"
	if i := strings.LastIndex(prompt, mark); i >= 0 {
		return strings.TrimSpace(askedBack.ReplaceAllString(prompt[i+len(mark):], "\n"))
	}
	return prompt
}

// askedBack matches the text between a request and the user's answer to a question about it. The
// question names all agents and is not the user's.
var askedBack = regexp.MustCompile(`(?s)\n\nThe assistant asked:.*?\n\nThe user answered:`)

// chooseAgents scores each clause of a request against the agents.
func chooseAgents(agents []profile, request string, ids []string) choice {
	var chosen []string
	sure, unclear := 1.0, 0
	for _, clause := range Clauses(request) {
		id, confidence := bestAgent(agents, meaningfulStems(clause))
		switch {
		case id == "":
			unclear++
			continue
		case !slices.Contains(chosen, id):
			chosen = append(chosen, id)
		}
		sure = min(sure, confidence)
	}
	if len(chosen) == 0 {
		return noChoice(agents, request, ids)
	}
	if unclear > 0 {
		sure = min(sure, 0.8)
	}
	return choice{chosen[0], sure, "The words of the request fit " + strings.Join(chosen, ", ") + ".", chosen[1:]}
}

// Clauses cuts a request where a new wish can begin. A title with "and" in it is cut as well.
func Clauses(text string) []string {
	cut := strings.NewReplacer(", and ", "\n", ", then ", "\n", " and then ", "\n", " and ", "\n", ", ", "\n", "; ", "\n", ". ", "\n")
	return strings.Split(cut.Replace(text), "\n")
}

// meaningfulStems are the stems of the words of a text, without those that say nothing.
func meaningfulStems(text string) (words []string) {
	for _, w := range english.Read(text).Words {
		if !english.IsSign(w.Low) && !english.In(common, w.Low) {
			words = append(words, english.Stem(w.Low))
		}
	}
	return words
}

// bestAgent returns the agent that fits the words best, and how sure that is: less if
// another fits nearly as well. No agent: none fits.
func bestAgent(agents []profile, words []string) (id string, confidence float64) {
	var first, second float64
	for i := range agents {
		switch score := agents[i].score(words); {
		case score > first:
			id, second, first = agents[i].id, first, score
		case score > second:
			second = score
		}
	}
	if first == 0 {
		return "", 0
	}
	lead := (first - second) / first
	return id, 0.5 + 0.45*lead
}

// vague are requests that could be for anyone: they name no thing.
var vague = regexp.MustCompile(`(?i)\b(it|that|this|them|something|everything|cozy|cosy|nice|comfortable|better)\b`)

// noChoice is for a request that fits nobody: a vague one is worth a question.
func noChoice(agents []profile, request string, ids []string) choice {
	fallback := ids[len(ids)-1] // an id that is not an agent comes last
	if len(agents) > 0 && (vague.MatchString(request) || len(strings.Fields(request)) <= 2) {
		return choice{agents[0].id, 0.3, "It is not clear what the request is about.", nil}
	}
	return choice{fallback, 0.9, "No agent is made for this.", nil}
}
