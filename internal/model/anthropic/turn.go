package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// turn is a message of the request: the API wants the roles to alternate, so
// neighbours of one role are one.
type turn struct {
	role    chat.Role
	blocks  []textOrKept
	calls   []wireCall
	results []wireResult
	thought bool // there are blocks of thinking
}

// textOrKept is a block of text, or of thinking that may go back.
type textOrKept struct {
	text, keptBlock string
	ofMoment        bool // no later turn repeats the text
}

// wireCall is a call with the id that it goes by.
type wireCall struct {
	*tool.Call
	id string
}

// wireResult is the result of a call; nil: none.
type wireResult struct {
	*tool.Result
	id string
}

// arrangeTurns arranges the messages as the API takes them: every call has exactly one
// result, in the message right after it and in the order of the calls, and every
// result has a call.
func (c *codec) arrangeTurns(messages []chat.Message) []turn {
	list := make([]turn, 0, len(messages)+1)
	var ids model.SentIDs
	for i := range messages {
		m := &messages[i]
		own := c.isOwn(m)
		if isEmpty(m, own) {
			continue
		}
		if n := len(list); n == 0 || list[n-1].role != m.Role {
			list = beginTurn(list, m.Role)
		}
		list[len(list)-1].addMessage(m, own, &ids)
	}
	if n := len(list); n > 0 && list[n-1].needsResults() {
		list = beginTurn(list, chat.RoleUser)
	}
	return joinTurns(list)
}

// isOwn reports whether a message is this model's own.
func (c *codec) isOwn(m *chat.Message) bool { return m.Role == chat.RoleModel && m.Maker == c.maker }

// beginTurn appends a turn; one of the user awaits the results of the calls before it.
func beginTurn(list []turn, role chat.Role) []turn {
	n := len(list)
	list = append(list, turn{role: role})
	if role == chat.RoleUser && n > 0 {
		list[n].awaitResults(&list[n-1])
	}
	return list
}

// needsResults reports whether results must follow the turn.
func (t *turn) needsResults() bool { return t.role == chat.RoleModel && len(t.calls) > 0 }

// isEmpty reports whether nothing of m goes to the API, unless it is a result without a
// call.
func isEmpty(m *chat.Message, own bool) bool {
	for i := range m.Parts {
		if isSent(&m.Parts[i], m.Role, own) {
			return false
		}
	}
	return true
}

func isSent(p *chat.Part, role chat.Role, own bool) bool {
	return (p.Call != nil && role == chat.RoleModel) || (p.Result != nil && role == chat.RoleUser) || keptOf(p, own) != "" || textOf(p) != ""
}

// joinTurns drops the user's empty turns, whose results had no calls, and joins the turns around
// them.
func joinTurns(list []turn) []turn {
	n := 0
	for i := range list {
		t := &list[i]
		switch {
		case t.role == chat.RoleUser && len(t.blocks)+len(t.results) == 0:
		case n > 0 && list[n-1].role == t.role:
			last := &list[n-1]
			last.blocks, last.calls = append(last.blocks, t.blocks...), append(last.calls, t.calls...)
			last.thought = last.thought || t.thought
		default:
			list[n] = *t
			n++
		}
	}
	return list[:n]
}

// keptOf returns the block that p kept, if it may go back.
func keptOf(p *chat.Part, own bool) string {
	if !own || p.Kept == "" || !jsontext.Value(p.Kept).IsValid() {
		return ""
	}
	return p.Kept
}

// textOf returns the text of p, if it goes to the API.
func textOf(p *chat.Part) string {
	if p.Call != nil || p.Result != nil || p.Thought || isBlank(p.Text) {
		return ""
	}
	return p.Text
}

// awaitResults makes room for the results of the calls of the turn before.
func (t *turn) awaitResults(before *turn) {
	for _, c := range before.calls {
		t.results = append(t.results, wireResult{id: c.id})
	}
	t.calls = before.calls
}

// addMessage takes a message. Kept blocks go back to their maker alone.
func (t *turn) addMessage(m *chat.Message, own bool, ids *model.SentIDs) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if kept := keptOf(p, own); kept != "" {
			t.blocks, t.thought = append(t.blocks, textOrKept{keptBlock: kept}), true
		}
		if text := textOf(p); text != "" {
			t.blocks = append(t.blocks, textOrKept{text: text, ofMoment: p.OfMoment()})
		}
		switch {
		case p.Call != nil && m.Role == chat.RoleModel:
			t.calls = append(t.calls, wireCall{p.Call, ids.Fit(p.Call.ID, fitsID)})
		case p.Result != nil && m.Role == chat.RoleUser:
			t.addResult(p.Result)
		}
	}
}

// addResult puts r to its call: the first one without a result that has its id, or its
// name where models give no ids. A result without a call is left out.
func (t *turn) addResult(r *tool.Result) {
	i := slices.IndexFunc(t.calls, func(c wireCall) bool { return c.ID == r.ID && c.Name == r.Name })
	for ; i >= 0 && i < len(t.calls); i++ {
		if c := t.calls[i]; c.ID == r.ID && c.Name == r.Name && t.results[i].Result == nil {
			t.results[i].Result = r
			return
		}
	}
}

// lastCalls returns the last turn with calls of the model's, or nil.
func lastCalls(turns []turn) *turn {
	for i := len(turns) - 1; i >= 0; i-- {
		if turns[i].role == chat.RoleModel && len(turns[i].calls) > 0 {
			return &turns[i]
		}
	}
	return nil
}

// anyCall returns the name of a tool that was called, or "".
func anyCall(turns []turn) string {
	if t := lastCalls(turns); t != nil {
		return t.calls[0].Name
	}
	return ""
}

// maxID is the longest id of a call that is sent as it is, in bytes. The API's have some
// thirty.
const maxID = 64

// fitsID reports whether the API takes an id that another provider gave.
func fitsID(id string) bool { return model.WordOf(id, maxID) }

// marks are the messages that end with a mark of the cache; -1: none does.
type marks struct {
	mark        string
	before, end int
}

// marksOf returns the marks of the conversation. The first is behind the input before the newest,
// because an earlier turn has sent that part. The second is at the end, for the next step or turn:
// in the first call of a turn on the input, as no later turn repeats the moment behind it.
// It sets no marks if no request follows, because storing costs money.
func marksOf(req *chat.ModelRequest, turns []turn, mark string) marks {
	m := marks{mark: mark, before: -1, end: -1}
	continues := req.Of != nil && req.Of.ConversationID != ""
	if mark == "" || len(turns) == 0 {
		return m
	}
	if continues || mayCall(req) {
		m.end = len(turns) - 1
	}
	if continues {
		m.before = inputBeforeLast(turns)
	}
	return m
}

// mayCall reports whether the answer may be a call, which another step of the turn follows.
func mayCall(req *chat.ModelRequest) bool {
	return req.Of != nil && req.Tools != nil && len(req.Tools.Specs) > 0 && !req.NoTools
}

// inputBeforeLast returns the place of the last input before the newest, or -1.
func inputBeforeLast(turns []turn) int {
	inputs := 0
	for i, t := range slices.Backward(turns) {
		if t.role == chat.RoleUser && len(t.results) == 0 {
			if inputs++; inputs == 2 {
				return i
			}
		}
	}
	return -1
}

// appendTurns appends the messages.
func (c *codec) appendTurns(b []byte, turns []turn, tools *model.RenderedTools, m marks) []byte {
	for i := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		mark := ""
		if i == m.before || i == m.end {
			mark = m.mark
		}
		b = turns[i].append(b, tools, i == len(turns)-1, mark)
	}
	return b
}

// append renders a message, with a mark in its last block that another request repeats. Results come first in a user's
// message: the API wants them directly behind the calls.
func (t *turn) append(b []byte, tools *model.RenderedTools, last bool, mark string) []byte {
	if t.role == chat.RoleModel {
		b = append(b, `{"role":"assistant","content":[`...)
	} else {
		b = append(b, `{"role":"user","content":[`...)
	}
	start := len(b)
	for _, r := range t.results {
		b = r.append(appendComma(b, start))
	}
	input := t.lastInput()
	b = t.appendBlocks(b, start, last, input, mark)
	if t.role == chat.RoleModel {
		for _, call := range t.calls {
			b = call.append(appendComma(b, start), tools)
		}
	}
	if input < 0 && len(b) > start && t.role == chat.RoleUser {
		b = withMark(b, mark)
	}
	return append(b, `]}`...)
}

// lastInput returns the last block of an input, which a mark ends, or -1: the mark stands at the
// end of a user's message with results.
func (t *turn) lastInput() int {
	if t.role != chat.RoleUser || len(t.results) > 0 {
		return -1
	}
	for i := range slices.Backward(t.blocks) {
		if !t.blocks[i].ofMoment {
			return i
		}
	}
	return -1
}

// appendComma writes a comma unless a list that began at start is empty.
func appendComma(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return b
}

// appendBlocks appends kept blocks and texts, the block marked with a mark. The API wants kept
// blocks first. An answer that the model is to continue with must not end in white space.
func (t *turn) appendBlocks(b []byte, start int, last bool, marked int, mark string) []byte {
	blocks := t.blocks
	if t.thought {
		blocks = slices.Clone(blocks)
		slices.SortStableFunc(blocks, func(x, y textOrKept) int { return cmp.Compare(len(y.keptBlock), 0) - cmp.Compare(len(x.keptBlock), 0) })
	}
	for i, block := range blocks {
		b = appendComma(b, start)
		if block.keptBlock != "" {
			b = append(b, block.keptBlock...)
			continue
		}
		if last && t.role == chat.RoleModel && i == len(blocks)-1 {
			block.text = strings.TrimRightFunc(block.text, unicode.IsSpace)
		}
		b = append(model.AppendString(append(b, `{"type":"text","text":`...), block.text), '}')
		if i == marked {
			b = withMark(b, mark)
		}
	}
	return b
}

// append renders a call. Arguments of another model that are not an object become {}, because the
// API refuses others.
func (c *wireCall) append(b []byte, tools *model.RenderedTools) []byte {
	b = model.AppendString(append(b, `{"type":"tool_use","id":`...), c.id)
	b = model.AppendString(append(b, `,"name":`...), tools.Names.Fit(c.Name))
	b = append(b, `,"input":`...)
	if c.Arguments.Kind() == '{' && c.Arguments.IsValid() {
		b = append(b, tools.Names.SentArguments(c.Name, c.Arguments)...)
	} else {
		b = append(b, `{}`...)
	}
	return append(b, '}')
}

// append appends the result. The API refuses a blank text, and a failure that says
// nothing.
func (r *wireResult) append(b []byte) []byte {
	b = model.AppendString(append(b, `{"type":"tool_result","tool_use_id":`...), r.id)
	text, failed := "The tool gave no result.", true
	if r.Result != nil {
		text, failed = r.Text, r.IsError
	}
	if failed && isBlank(text) {
		text = "The tool failed."
	}
	if !isBlank(text) {
		b = model.AppendString(append(b, `,"content":[{"type":"text","text":`...), text)
		b = append(b, `}]`...)
	}
	if failed {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}')
}
