package openai

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// encoder writes a turn as chunks. The parts that all chunks share are rendered once, so that a
// chunk costs only its own bytes.
type encoder struct {
	prefix []byte // up to the delta
	bare   []byte // up to the choices
	usage  bool   // each chunk has a member usage, and a last one the figures
	calls  int    // of the client's tools, so far
	// blocked says that the answer was.
	blocked bool
	wrote   bool // there is text
}

// appendHead appends the members that all of a turn's chunks, and its document, have in common.
func appendHead(dst []byte, requestID, object string, began time.Time, model string) []byte {
	dst, _ = jsontext.AppendQuote(append(dst, `{"id":`...), "chatcmpl-"+requestID)
	dst = append(append(append(dst, `,"object":"`...), object...), `","created":`...)
	dst = strconv.AppendInt(dst, max(began.Unix(), 0), 10)
	return jsonline.Name(append(dst, `,"model":`...), model)
}

func newEncoder(requestID string, began time.Time, model string, usage bool) *encoder {
	bare := append(appendHead([]byte("data: "), requestID, "chat.completion.chunk", began, model), `,"choices":[`...)
	return &encoder{bare: bare, prefix: append(bare[:len(bare):len(bare)], `{"index":0,"delta":{`...), usage: usage}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the frames of ev. Most events add nothing, since calls of the gateway's servers do
// not concern the client.
func (e *encoder) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		return e.appendText(dst, ev.Text)
	case *stream.Thinking:
		return e.endChunk(jsonline.String(append(append(dst, e.prefix...), `"reasoning_content":`...), ev.Content), "")
	case *stream.Start:
		return e.endChunk(append(append(dst, e.prefix...), `"role":"assistant","content":""`...), "")
	case *stream.ToolRequired:
		dst = append(append(dst, e.prefix...), `"tool_calls":[`...)
		dst = appendCall(dst, &ev.Call, e.calls)
		e.calls++
		return e.endChunk(append(dst, ']'), "")
	case *stream.Approval:
		return e.appendQuestion(dst, ev.Prompt)
	case *stream.Error:
		if ev.Fatal {
			return e.appendFailure(dst, ev)
		}
	case *stream.Done:
		return e.endStream(dst, ev)
	}
	return dst
}

// Skip implements dialect.Skipper.
func (e *encoder) Skip(ev stream.Event) {
	switch ev := ev.(type) {
	case *stream.Delta:
		e.wrote = true
	case *stream.Approval:
		e.wrote = e.wrote || ev.Prompt != ""
	case *stream.ToolRequired:
		e.calls++
	case *stream.Error:
		e.blocked = e.blocked || ev.Fatal && hasWords(ev.Type)
	}
}

// appendText appends a chunk with a piece of the answer's text.
func (e *encoder) appendText(dst []byte, text string) []byte {
	e.wrote = true
	return e.endChunk(jsonline.String(append(append(dst, e.prefix...), `"content":`...), text), "")
}

// questionGap stands between a question and the text in front of it. No text follows a question.
const questionGap = "\n\n"

// appendQuestion appends the prompt of a question to a person as text, the only form that the protocol has
// for it. A person answers the question elsewhere.
func (e *encoder) appendQuestion(dst []byte, prompt string) []byte {
	if prompt == "" {
		return dst
	}
	if e.wrote {
		prompt = questionGap + prompt
	}
	return e.appendText(dst, prompt)
}

// appendCall appends a call that the client is to run. index is left out below 0.
func appendCall(dst []byte, c *stream.Call, index int) []byte {
	dst = append(dst, '{')
	if index >= 0 {
		dst = append(strconv.AppendInt(append(dst, `"index":`...), int64(index), 10), ',')
	}
	dst = jsonline.Name(append(dst, `"id":`...), c.ID)
	dst = jsonline.Name(append(dst, `,"type":"function","function":{"name":`...), c.Tool)
	return append(jsonline.String(append(dst, `,"arguments":`...), string(c.Arguments)), "}}"...)
}

// endChunk ends a chunk with its reason; empty: it is not the last one with a choice.
func (e *encoder) endChunk(dst []byte, reason string) []byte {
	dst = append(dst, `},"finish_reason":`...)
	if reason == "" {
		dst = append(dst, `null}]`...)
	} else {
		dst = append(append(append(dst, '"'), reason...), `"}]`...)
	}
	if e.usage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// appendFailure writes a fatal error. SDKs make an exception of a frame with a member error. A blocked
// answer is not an error here: it has its own finish reason.
func (e *encoder) appendFailure(dst []byte, ev *stream.Error) []byte {
	if hasWords(ev.Type) {
		e.blocked = true
		return dst
	}
	dst = jsonline.String(append(dst, `data: {"error":{"message":`...), ev.Message)
	dst = append(append(dst, `,"type":"`...), kindOf(statusOfEnd(ev.Type))...)
	return append(append(append(dst, `","code":"`...), ev.Type...), "\",\"param\":null}}\n\n"...)
}

// hasWords reports whether the protocol has a reason for an answer that ended because of an error.
func hasWords(t fault.Type) bool { return t == fault.ModelBlocked }

// reasonOf returns the protocol's finish reason, or an empty text if a sent error ended the turn.
func reasonOf(r stream.FinishReason) string {
	switch r {
	case stream.Stop, stream.MaxSteps, stream.InputRequired, stream.ApprovalRequired:
		return "stop"
	case stream.MaxTokens:
		return "length"
	case stream.ClientTools:
		return "tool_calls"
	}
	return ""
}

// endStream ends the stream.
func (e *encoder) endStream(dst []byte, ev *stream.Done) []byte {
	reason := reasonOf(ev.Reason)
	if e.blocked {
		reason = "content_filter"
	}
	if reason == "" {
		return dst
	}
	dst = e.endChunk(append(dst, e.prefix...), reason)
	if e.usage {
		dst = append(append(dst, e.bare...), ']')
		dst = append(appendUsage(dst, &ev.Usage), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// appendUsage appends the tokens that the turn has used.
func appendUsage(dst []byte, u *chat.Usage) []byte {
	count := func(name string, n int) {
		dst = strconv.AppendInt(append(dst, name...), int64(n), 10)
	}
	output := u.OutputTokens + u.ThinkingTokens
	count(`,"usage":{"prompt_tokens":`, u.InputTokens)
	count(`,"completion_tokens":`, output)
	count(`,"total_tokens":`, u.InputTokens+output)
	count(`,"prompt_tokens_details":{"cached_tokens":`, u.CachedTokens)
	count(`},"completion_tokens_details":{"reasoning_tokens":`, u.ThinkingTokens)
	return append(dst, "}}"...)
}

// collector writes a turn as one document, at its end.
type collector struct {
	requestID string
	began     time.Time
	model     string

	fold     stream.Fold
	thoughts []string
	prompts  []string // of questions to a person
	blocked  bool
}

func newCollector(requestID string, began time.Time, model string) *collector {
	return &collector{requestID: requestID, began: began, model: model, fold: stream.Fold{Only: stream.Answer}}
}

// Heartbeat returns nil: a document cannot hold a comment.
func (*collector) Heartbeat() []byte { return nil }

// Encode appends the document, with Done.
func (c *collector) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	c.fold.Add(ev)
	switch ev := ev.(type) {
	case *stream.Thinking:
		c.thoughts = append(c.thoughts, ev.Content)
	case *stream.Approval:
		if ev.Prompt != "" {
			c.prompts = append(c.prompts, ev.Prompt)
		}
	case *stream.Error:
		c.blocked = c.blocked || ev.Fatal && hasWords(ev.Type)
	case *stream.Done:
		return c.appendDocument(dst, ev)
	}
	return dst
}

// appendCalls appends the calls of the client's tools.
func (c *collector) appendCalls(dst []byte) []byte {
	for i, required := range c.fold.Required {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCall(dst, &required.Call, -1)
	}
	return dst
}

// answerText returns the answer with the questions to people behind it.
func (c *collector) answerText() string {
	texts := c.prompts
	if text := c.fold.Text(); text != "" {
		texts = append([]string{text}, texts...)
	}
	return strings.Join(texts, questionGap)
}

// appendDocument appends the completion.
func (c *collector) appendDocument(dst []byte, ev *stream.Done) []byte {
	reason := reasonOf(ev.Reason)
	if c.blocked {
		reason = "content_filter"
	}
	if reason == "" {
		return dst
	}
	dst = appendHead(dst, c.requestID, "chat.completion", c.began, c.model)
	dst = append(dst, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	if len(c.fold.Pieces)+len(c.prompts) == 0 && len(c.fold.Required) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = jsonline.String(dst, c.answerText())
	}
	dst = append(dst, `,"refusal":null`...)
	if len(c.thoughts) > 0 {
		dst = jsonline.String(append(dst, `,"reasoning_content":`...), strings.Join(c.thoughts, ""))
	}
	if len(c.fold.Required) > 0 {
		dst = c.appendCalls(append(dst, `,"tool_calls":[`...))
		dst = append(dst, ']')
	}
	dst = append(append(append(dst, `},"finish_reason":"`...), reason...), `","logprobs":null}]`...)
	return append(appendUsage(dst, &ev.Usage), '}')
}
