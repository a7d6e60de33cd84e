// This file sets the exact marks of OpenAI's cache. From gpt-5.6 on a request reads only prefixes
// that end with a mark of its own, and writing costs more than the input. The text of a mark is a
// list of one part in each call, so that a later call repeats its bytes.

package openai

import (
	"regexp"
	"strconv"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// The members that set exact marks. A refusal of the first removes the marks on results, then all.
// A refusal of the second removes all of them at once.
const (
	cacheMark    = "prompt_cache_breakpoint"
	cacheOptions = "prompt_cache_options"
)

const (
	explicitMark    = `,"prompt_cache_breakpoint":{"mode":"explicit"}`
	explicitOptions = `,"prompt_cache_options":{"mode":"explicit"}`
)

// mostMarks is how many inputs and results a request marks, next to its system prompt.
const mostMarks = 39

// marks are the exact marks of one request. The zero value sets none.
type marks struct {
	options bool // the provider is asked to write nothing without a mark
	texts   bool // system prompt and inputs are lists
	results bool // the last results of steps are lists
	set     bool // the lists have marks
	skip    int  // number of the oldest inputs and results without a mark
}

// marksOf returns the marks of a request. A request that no other call repeats has none.
func marksOf(cache string, req *chat.ModelRequest, omit model.Omit) (m marks) {
	refused := omit.Times(cacheMark)
	if refused > 1 || omit.Has(cacheOptions) || omit.Has(memberRoles) {
		return marks{}
	}
	m.options = true
	m.texts = cache != model.CacheOff
	m.results = m.texts && refused == 0
	m.set = m.texts && mayContinue(req)
	if m.set {
		m.skip = max(0, m.countPlaces(req.Messages)-mostMarks)
	}
	return m
}

// mayContinue reports whether a step of the turn or a later turn may repeat the request.
func mayContinue(req *chat.ModelRequest) bool {
	return req.Of != nil && (req.Of.ConversationID != "" || req.Tools != nil && len(req.Tools.Specs) > 0)
}

// countPlaces returns how many inputs and last results of steps there are.
func (m *marks) countPlaces(messages []chat.Message) (n int) {
	for i := range messages {
		msg := &messages[i]
		if msg.Role == chat.RoleModel {
			if m.results && hasCalls(msg) {
				n++
			}
			continue
		}
		for j := range msg.Parts {
			if isInput(&msg.Parts[j]) {
				n++
			}
		}
	}
	return n
}

// hasCalls reports whether a message of the model's has calls.
func hasCalls(msg *chat.Message) bool {
	for i := range msg.Parts {
		if msg.Parts[i].Call != nil {
			return true
		}
	}
	return false
}

// isText reports whether a part of a user's message is a text that is sent.
func isText(p *chat.Part) bool {
	return p.Call == nil && p.Result == nil && !p.Thought && p.Text != ""
}

// isInput reports whether a part of a user's message is a text that later turns repeat.
func isInput(p *chat.Part) bool { return isText(p) && !p.OfMoment() }

// appendNext appends the mark of the next input or result, from the oldest one on.
func (m *marks) appendNext(b []byte) []byte {
	if m.skip > 0 {
		m.skip--
		return b
	}
	return m.appendMark(b)
}

// appendMark appends a mark if the request has some.
func (m *marks) appendMark(b []byte) []byte {
	if m.set {
		b = append(b, explicitMark...)
	}
	return b
}

// openPart begins a list of one part, whose text follows.
func openPart(b []byte, kind, text string) []byte {
	b = append(append(append(b, `[{"type":"`...), kind...), `","text":`...)
	return model.AppendString(b, text)
}

// hasExactMarks reports whether the model's cache reads marked prefixes alone.
func hasExactMarks(spec *model.Spec) bool {
	return spec.Cache == model.CacheMarks || hostOf(spec).openAI && isSinceExact(spec.Model)
}

// gptVersion matches the name of a model of OpenAI's with its version.
var gptVersion = regexp.MustCompile(`^(?:ft:)?gpt-(\d{1,6})(?:\.(\d{1,6}))?`)

// isSinceExact reports whether a model is gpt-5.6 or newer: gpt-5.10 is newer, gpt-5.4 is not.
func isSinceExact(name string) bool {
	v := gptVersion.FindStringSubmatch(name)
	if v == nil {
		return false
	}
	major, _ := strconv.Atoi(v[1])
	minor, _ := strconv.Atoi(v[2]) // 0 without one
	return major > 5 || major == 5 && minor >= 6
}
