package gemini

import (
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// sizeHint is about the size of req's body, without tools.
func sizeHint(req *chat.ModelRequest) int {
	n := 512 + len(req.System)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			n += 64 + partSize(&req.Messages[i].Parts[j])
		}
	}
	return n + n/8 // escapes
}

// partSize estimates how many bytes a part takes in the request, so that its
// buffer grows once.
func partSize(p *chat.Part) int {
	n := len(p.Text) + len(p.Signature)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.Arguments)
	}
	if p.Result != nil {
		n += len(p.Result.Name) + len(p.Result.Text)
	}
	return n
}

// appendContents appends the messages, neighbours of one role as one content. Results are separate
// from the user's text next to them, because the API counts the parts of the content behind a call.
func appendContents(b []byte, messages []chat.Message) []byte {
	var last *chat.Message
	for i := range messages {
		msg := &messages[i]
		if !hasParts(msg) {
			continue
		}
		switch {
		case last == nil:
			b = appendRole(b, msg.Role)
		case continuesContent(last, msg):
			b = append(b, ',')
		default:
			b = appendRole(append(b, `]},`...), msg.Role)
		}
		b = appendParts(b, msg.Parts)
		last = msg
	}
	if last != nil {
		b = append(b, `]}`...)
	}
	return b
}

// continuesContent reports whether msg goes into the same content as last. last may be nil.
func continuesContent(last, msg *chat.Message) bool {
	return last != nil && last.Role == msg.Role && hasResult(last) == hasResult(msg)
}

// appendRole opens a message.
func appendRole(b []byte, r chat.Role) []byte {
	b = append(b, `{"role":`...)
	b = model.AppendString(b, string(r))
	return append(b, `,"parts":[`...)
}

// hasParts reports whether anything of a message is sent. A message without parts
// is refused by the API.
func hasParts(msg *chat.Message) bool {
	for i := range msg.Parts {
		if !isOmitted(&msg.Parts[i]) {
			return true
		}
	}
	return false
}

// hasResult reports whether a message has results of tools. The API takes them from the user.
func hasResult(msg *chat.Message) bool {
	for i := range msg.Parts {
		if msg.Parts[i].Call == nil && msg.Parts[i].Result != nil {
			return true
		}
	}
	return false
}

// isOmitted reports whether p is not sent: a thought never goes back, and an empty
// text is refused unless it carries a signature.
func isOmitted(p *chat.Part) bool {
	if p.Call != nil || p.Result != nil {
		return false
	}
	return p.Thought || (p.Text == "" && p.Signature == "")
}

// appendParts renders the parts that are sent.
func appendParts(b []byte, parts []chat.Part) []byte {
	first := true
	for i := range parts {
		p := &parts[i]
		if isOmitted(p) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendPart(b, p)
	}
	return b
}

// appendPart renders a part. A signature goes back with the same part, because the API refuses a
// call without its signature.
func appendPart(b []byte, p *chat.Part) []byte {
	switch {
	case p.Call != nil:
		b = appendCall(b, p.Call)
	case p.Result != nil:
		b = appendResult(b, p.Result)
	default:
		b = model.AppendString(append(b, `{"text":`...), p.Text)
	}
	if p.Signature != "" {
		b = model.AppendString(append(b, `,"thoughtSignature":`...), p.Signature)
	}
	return append(b, '}')
}

// appendCall appends a functionCall, and leaves its part open.
func appendCall(b []byte, call *tool.Call) []byte {
	b = append(b, `{"functionCall":{`...)
	b = appendID(b, call.ID)
	b = append(b, `"name":`...)
	b = model.AppendString(b, call.Name)
	b = append(b, `,"args":`...)
	if call.Arguments.Kind() == '{' && call.Arguments.IsValid() {
		b = append(b, call.Arguments...)
	} else {
		b = append(b, `{}`...)
	}
	return append(b, '}')
}

// appendResult appends a functionResponse, and leaves its part open. The text is
// always one string: a "$ref" among the keys of a structured response is answered
// with 400.
func appendResult(b []byte, r *tool.Result) []byte {
	b = append(b, `{"functionResponse":{`...)
	b = appendID(b, r.ID)
	b = append(b, `"name":`...)
	b = model.AppendString(b, r.Name)
	if r.IsError {
		b = append(b, `,"response":{"error":`...)
	} else {
		b = append(b, `,"response":{"output":`...)
	}
	b = model.AppendString(b, r.Text)
	return append(b, `}}`...)
}

// appendID appends the id of a call, if the model gave it one: an id that it did
// not give is as wrong as one that is missing.
func appendID(b []byte, id string) []byte {
	if id == "" {
		return b
	}
	b = model.AppendString(append(b, `"id":`...), id)
	return append(b, ',')
}
