// This file writes the part of a turn. Each turn that is kept writes one, and package json, which
// would write the same, looks up each type.

package record

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// written are buffers in which parts are written. What is kept is a copy without room for more.
var written = sync.Pool{New: func() any { return new([]byte) }}

// keepBuffer is the largest buffer that is used again.
const keepBuffer = 64 << 10

// append appends the part as package json writes it.
func (p *Part) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"turn":`...), p.Turn)
	if p.Steps == nil {
		dst = append(dst, `,"steps":null`...)
	} else {
		dst = append(dst, `,"steps":[`...)
		for i := range p.Steps {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = p.Steps[i].append(dst)
		}
		dst = append(dst, ']')
	}
	if len(p.Sessions) > 0 {
		dst = appendJSON(append(dst, `,"sub_agent_sessions":`...), p.Sessions)
	}
	return append(appendText(append(dst, `,"updated_at":`...), p.Updated), '}')
}

func (s *Step) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"id":`...), s.ID)
	dst = appendMember(dst, `,"parent_id":`, s.ParentID)
	dst = appendText(append(dst, `,"step_name":`...), s.Name)
	dst = appendText(append(dst, `,"message":`...), s.Message)
	dst = appendText(append(dst, `,"status":`...), string(s.Status))
	dst = appendText(append(dst, `,"timestamp":`...), s.Timestamp)
	dst = strconv.AppendInt(append(dst, `,"started_ms":`...), s.Started, 10)
	dst = appendNumber(dst, `,"duration_ms":`, s.Millis)
	dst = appendText(append(dst, `,"agent":`...), s.Agent)
	dst = appendMember(dst, `,"node_id":`, s.NodeID)
	dst = appendMember(dst, `,"session_id":`, s.SessionID)
	if s.Attempt != 0 {
		dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(s.Attempt), 10)
	}
	dst = appendMember(dst, `,"model":`, s.Model)
	dst = appendNumber(dst, `,"first_token_ms":`, s.FirstToken)
	dst = appendMember(dst, `,"finish_reason":`, s.Finish)
	dst = appendCalls(append(dst, `,"tool_calls":`...), s.Calls)
	if s.Usage != nil {
		dst = s.Usage.append(append(dst, `,"usage":`...))
	}
	return append(dst, '}')
}

func appendCalls(dst []byte, calls []Call) []byte {
	if calls == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = calls[i].append(dst)
	}
	return append(dst, ']')
}

func (c *Call) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"call_id":`...), c.CallID)
	dst = appendText(append(dst, `,"server":`...), c.Server)
	dst = appendText(append(dst, `,"tool":`...), c.Tool)
	if len(c.Arguments) > 0 {
		dst = appendJSON(append(dst, `,"arguments":`...), c.Arguments)
	}
	if c.Result != nil {
		dst = appendText(append(dst, `,"result":{"text":`...), c.Result.Text)
		if c.Result.Truncated {
			dst = append(dst, `,"truncated":true`...)
		}
		dst = append(dst, '}')
	}
	dst = appendText(append(dst, `,"error":`...), c.Error)
	dst = strconv.AppendInt(append(dst, `,"started_ms":`...), c.Started, 10)
	dst = appendNumber(dst, `,"duration_ms":`, c.Millis)
	return append(appendText(append(dst, `,"outcome":`...), string(c.Outcome)), '}')
}

func (u *Usage) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), int64(u.Input), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), int64(u.Output), 10)
	dst = strconv.AppendInt(append(dst, `,"thinking_tokens":`...), int64(u.Thinking), 10)
	if u.Cached != 0 {
		dst = strconv.AppendInt(append(dst, `,"cached_tokens":`...), int64(u.Cached), 10)
	}
	return append(dst, '}')
}

// appendNumber appends a member, unless it is nil.
func appendNumber(dst []byte, name string, n *int64) []byte {
	if n == nil {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), *n, 10)
}

// appendMember appends a member, unless it is empty.
func appendMember(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(append(dst, name...), text)
}

// appendText appends a text as package json does, which escapes what stands for something else in
// HTML.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c == '<' || c == '>' || c == '&' || c == 0xE2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")) {
			return appendJSON(dst, text)
		}
	}
	quoted, err := jsontext.AppendQuote(dst, text)
	if err != nil { // it is not UTF-8
		return appendJSON(dst, text)
	}
	return quoted
}

// appendJSON appends what package json makes of a value.
func appendJSON(dst []byte, value any) []byte {
	text, _ := json.Marshal(value) // texts and numbers, and JSON that was checked
	return append(slices.Grow(dst, len(text)), text...)
}
