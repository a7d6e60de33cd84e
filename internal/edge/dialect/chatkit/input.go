package chatkit

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// userMessage is the message of a request.
type userMessage struct {
	content []content
	quoted  string // text of an answer that the user has marked; empty: none
	input   string // the model's input
}

// content is a part of a user's message: input_text, or input_tag from the page. Only a tag has the
// fields behind Text.
type content struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	ID          *string        `json:"id,omitzero"`
	Data        jsontext.Value `json:"data,omitzero"`
	Group       string         `json:"group,omitzero"`
	Interactive bool           `json:"interactive,omitzero"`
}

// readMessage reads the input of a request.
func (r *reader) readMessage(v value) *userMessage {
	if v.isAbsent() {
		r.addMissing(v)
		return nil
	}
	in, m := r.readObject(v), new(userMessage)
	before := len(r.faults.Fields)
	for _, part := range r.readList(in.get("content")) {
		m.content = append(m.content, r.readContent(part))
	}
	if quoted := r.readText(in.get("quoted_text")); quoted != nil {
		m.quoted = *quoted
	}
	if list := in.get("attachments"); len(r.readList(list)) > 0 {
		r.addFault(list, chat.CodeUnsupported, "attachments are not supported; send text only")
	}
	r.checkInference(r.readObject(in.get("inference_options")))
	if len(r.faults.Fields) == before {
		r.joinPrompt(m, in.get("content"))
	}
	return m
}

// readContent reads a part of a user's message. Types that are not known are a fault: to pass them
// over would answer another question.
func (r *reader) readContent(v value) content {
	if v.isAbsent() {
		r.addFault(v, chat.CodeWrongType, "must be an object")
		return content{}
	}
	part := r.readObject(v)
	if part.members == nil {
		return content{}
	}
	c := content{Type: r.readRequired(part.get("type")), Text: r.readRequired(part.get("text"))}
	switch kind := part.get("type"); c.Type {
	case "input_text", "":
	case "input_tag":
		r.readTag(&c, part)
	default:
		r.addFault(kind, chat.CodeUnsupported, "must be input_text or input_tag")
	}
	return c
}

// readTag reads a mention, such as of a document. Its data goes back to the page as
// it came.
func (r *reader) readTag(c *content, part object) {
	id, data := r.readRequired(part.get("id")), part.get("data")
	c.ID, c.Data, c.Interactive = &id, jsontext.Value("{}"), r.readBool(part.get("interactive"))
	if r.readObject(data).members != nil {
		c.Data = data.raw
	}
	if group := r.readText(part.get("group")); group != nil {
		c.Group = *group
	}
}

// checkInference refuses what would otherwise be taken for obeyed.
func (r *reader) checkInference(options object) {
	for _, name := range []string{"model", "tool_choice"} {
		if v := options.get(name); !v.isAbsent() {
			r.addFault(v, chat.CodeUnsupported, "cannot be chosen here: the gateway's operator does; leave it out")
		}
	}
}

// joinPrompt joins the parts to the model's input, and checks that input. The composer keeps the
// white space around a tag in the texts next to it.
func (r *reader) joinPrompt(m *userMessage, v value) {
	var said strings.Builder
	for _, c := range m.content {
		said.WriteString(c.Text)
	}
	if len(m.content) == 1 {
		v.at += "/0/text"
	}
	clean, wrong := chat.CheckInput(said.String())
	if wrong == nil && m.quoted != "" {
		quote := "> " + strings.ReplaceAll(strings.TrimSpace(m.quoted), "\n", "\n> ")
		clean, wrong = chat.CheckInput(quote + "\n\n" + clean)
		if wrong != nil {
			wrong.Message += ", the quoted text included"
		}
	}
	r.faults.Add(v.at, wrong)
	m.input = clean
}

// shortenText returns at most limit characters of a text on one line.
func shortenText(s string, limit int) string {
	s = chat.Line(s, len(s))
	n := 0
	for at := range s {
		if n++; n > limit {
			return strings.TrimSpace(s[:at])
		}
	}
	return s
}
