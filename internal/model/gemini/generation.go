package gemini

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// generation is the generationConfig of requests.
type generation struct {
	thinking    []setting            // of thinkingConfig
	levels      map[string][]setting // of thinkingConfig, where the caller asks for a level
	fixed       bool                 // thinking is sent even if it was refused
	temperature *float64             // unless the caller asks for one; nil: none
	warm        bool                 // the model takes a temperature
	maxTokens   int                  // visible; 0: no limit
	room        model.Thinking
}

// setting is a member of thinkingConfig.
type setting struct{ name, value string }

// append appends the member of a request, with the comma before it, if it holds
// anything.
func (g *generation) append(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	start := len(b)
	b = append(b, `,"generationConfig":{`...)
	open := len(b)
	b = g.appendThinking(b, req.Thinking, omit)
	if t := g.temperatureFor(req); t != nil && !omit.Has("temperature") {
		b = strconv.AppendFloat(append(appendComma(b, open), `"temperature":`...), *t, 'f', -1, 64)
	}
	if n := req.LimitOf(lowestLimit(g.maxTokens, req.MaxTokens)); n > 0 {
		b = strconv.AppendInt(append(appendComma(b, open), `"maxOutputTokens":`...), int64(g.room.Room(n, g.forbidsThinking(req.Thinking, omit))), 10)
	}
	if req.Form.Kind != chat.FormText {
		b = append(appendComma(b, open), `"responseMimeType":"application/json"`...)
	}
	if req.Form.Kind == chat.FormSchema {
		b = append(append(appendComma(b, open), `"responseJsonSchema":`...), req.Form.Schema...)
	}
	if len(b) == open {
		return b[:start]
	}
	return append(b, '}')
}

// appendComma appends a comma unless b ends where the object was opened.
func appendComma(b []byte, open int) []byte {
	if len(b) == open {
		return b
	}
	return append(b, ',')
}

// asksOwn reports whether a call's level counts.
func (g *generation) asksOwn(level string) bool {
	_, ok := g.levels[level]
	return ok && g.room.For(level) != g.room
}

// thinkingOf returns the thinkingConfig for a level that the call asks for, or else as
// configured.
func (g *generation) thinkingOf(level string) []setting {
	if g.asksOwn(level) {
		return g.levels[level]
	}
	return g.thinking
}

// appendThinking writes thinkingConfig for a level that the call asks for, or
// else as configured. Members that the model has refused are left out, unless
// the operator asked for them by name (fixed).
func (g *generation) appendThinking(b []byte, level string, omit model.Omit) []byte {
	start := len(b)
	members, fixed := g.thinkingOf(level), g.fixed && !g.asksOwn(level)
	b = append(b, `"thinkingConfig":{`...)
	open := len(b)
	for _, m := range members {
		if fixed || !omit.Has(m.name) {
			b = append(append(append(append(appendComma(b, open), '"'), m.name...), `":`...), m.value...)
		}
	}
	if len(b) == open {
		return b[:start]
	}
	return append(b, '}')
}

// forbidsThinking reports whether a request asks the model not to think.
func (g *generation) forbidsThinking(level string, omit model.Omit) bool {
	return slices.Contains(g.thinkingOf(level), noBudget) && !omit.Has(noBudget.name)
}

// noBudget asks Gemini 2 not to think.
var noBudget = setting{"thinkingBudget", "0"}

// temperatureFor returns the temperature that is sent, or nil. The temperature of a call counts
// only for configured models: the model of the GEMINI_* variables takes none.
func (g *generation) temperatureFor(req *chat.ModelRequest) *float64 {
	if !g.warm || req.Temperature == nil {
		return g.temperature
	}
	return req.Temperature
}

// lowestLimit returns the lower of two limits. 0 turns a limit off.
func lowestLimit(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// thinkingMembers returns the thinkingConfig that asks for thinking. It sends only requested
// members. Gemini 2.5 refuses a level, every model refuses a level together with a budget, and a
// model with a budget of 0 refuses summaries.
func thinkingMembers(thinking string) ([]setting, error) {
	summaries := setting{"includeThoughts", "true"}
	switch thinking {
	case "off":
		return nil, nil
	case "", defaultThinking:
		return []setting{summaries}, nil
	case "low", "medium", "high":
		return []setting{summaries, {"thinkingLevel", `"` + strings.ToUpper(thinking) + `"`}}, nil
	}
	budget, err := strconv.Atoi(thinking)
	if err != nil || budget < -1 {
		return nil, fmt.Errorf("gemini: thinking %q is neither summary, off, low, medium, high nor a number of tokens", thinking)
	}
	if budget == 0 {
		return []setting{{"thinkingBudget", "0"}}, nil
	}
	return []setting{summaries, {"thinkingBudget", strconv.Itoa(budget)}}, nil
}

// roomFor returns how much a setting of GEMINI_THINKING adds to a limit.
func roomFor(thinking string) model.Thinking {
	budget, err := strconv.Atoi(thinking)
	if err != nil {
		return model.Thinking{Word: thinking}
	}
	if budget == 0 {
		return model.Thinking{Word: "off"}
	}
	return model.Thinking{Tokens: max(budget, 0)}
}

// settingsOf returns the generation settings of a configured model.
func settingsOf(spec model.Spec) (generation, error) {
	g := generation{maxTokens: spec.MaxTokens, room: spec.Thinking, warm: usesTemperature(spec.Model) && !spec.NoTemperature}
	if g.warm {
		g.temperature = spec.Temperature
	}
	word := spec.Thinking.Word
	if spec.Thinking.Tokens != 0 {
		word = strconv.Itoa(spec.Thinking.Tokens)
	}
	g.levels = levelsOf(spec.Model)
	if _, ok := levelBudgets()[word]; ok {
		g.thinking = g.levels[word]
		return g, nil
	}
	var err error
	g.thinking, err = thinkingMembers(word)
	return g, err
}

// levelBudgets returns the budgets of Gemini 2 in place of levels.
func levelBudgets() map[string]string {
	return map[string]string{"off": "0", "low": "1024", "medium": "8192", "high": "24576"}
}

// levelsOf returns the thinkingConfig of each level that a caller may ask for.
func levelsOf(name string) map[string][]setting {
	levels := map[string][]setting{}
	for _, word := range [...]string{"off", defaultThinking, "low", "medium", "high"} {
		form := word
		if budget, ok := levelBudgets()[word]; ok && majorOf(name) == 2 {
			form = budget
		}
		levels[word], _ = thinkingMembers(form) // one of its own words
	}
	return levels
}

// version finds the version in a model's name. Aliases such as gemini-flash-latest do not match.
var version = regexp.MustCompile(`^(?:models/)?gemini-([0-9]{1,3})(?:\.([0-9]{1,3}))?(?:-|$)`)

// majorOf returns the first number of the version, or 0.
func majorOf(name string) int {
	m := version.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// usesTemperature reports whether a model uses a temperature: from 3.7 on it is ignored,
// and announced to become an error.
func usesTemperature(name string) bool {
	m := version.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major < 3 || major == 3 && minor < 7
}

// signsCalls reports whether a model refuses calls of a step whose first is not signed.
func signsCalls(name string) bool { return majorOf(name) == 0 || majorOf(name) >= 3 }

// memberIn returns the member, of those that are sent of our own accord, that a text of a
// refusal names; empty: none. Texts write them in several ways: thinking_level, "thinking
// level".
func memberIn(text string) string {
	text = strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(text))
	if strings.Contains(text, "budget0isinvalid") { // of models that always think
		return noBudget.name
	}
	for _, name := range [...]string{"thinkingLevel", "thinkingBudget", "includeThoughts", "responseJsonSchema", "temperature"} {
		if strings.Contains(text, strings.ToLower(name)) {
			return name
		}
	}
	return ""
}
