package chatkit

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// userMessage is what a user sends.
type userMessage struct {
	content []content
	quoted  string // text of an answer that the user has marked; empty: none
	input   string // what the model is asked
}

// content is a part of a user's message: input_text, or input_tag, which the page has
// offered and which alone has the fields behind Text.
type content struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	ID          *string        `json:"id,omitzero"`
	Data        jsontext.Value `json:"data,omitzero"`
	Group       string         `json:"group,omitzero"`
	Interactive bool           `json:"interactive,omitzero"`
}

// message reads the input of a request.
func (r *reader) message(v value) *userMessage {
	if v.none() {
		r.required(v)
		return nil
	}
	in, m := r.object(v), new(userMessage)
	before := len(r.faults.Fields)
	for _, part := range r.list(in.get("content")) {
		m.content = append(m.content, r.content(part))
	}
	if quoted := r.text(in.get("quoted_text")); quoted != nil {
		m.quoted = *quoted
	}
	if list := in.get("attachments"); len(r.list(list)) > 0 {
		r.fault(list, chat.CodeUnsupported, "attachments are not supported; send text only")
	}
	r.inference(r.object(in.get("inference_options")))
	if len(r.faults.Fields) == before {
		r.prompt(m, in.get("content"))
	}
	return m
}

// content reads a part of what a user says. Types that are not known are a
// fault: to pass them over would answer another question.
func (r *reader) content(v value) content {
	if v.none() {
		r.fault(v, chat.CodeWrongType, "must be an object")
		return content{}
	}
	part := r.object(v)
	if part.members == nil {
		return content{}
	}
	c := content{Type: r.want(part.get("type")), Text: r.want(part.get("text"))}
	switch kind := part.get("type"); c.Type {
	case "input_text", "":
	case "input_tag":
		r.tag(&c, part)
	default:
		r.fault(kind, chat.CodeUnsupported, "must be input_text or input_tag")
	}
	return c
}

// tag reads a mention, such as of a document. Its data goes back to the page as
// it came.
func (r *reader) tag(c *content, part object) {
	id, data := r.want(part.get("id")), part.get("data")
	c.ID, c.Data, c.Interactive = &id, jsontext.Value("{}"), r.boolean(part.get("interactive"))
	if r.object(data).members != nil {
		c.Data = data.raw
	}
	if group := r.text(part.get("group")); group != nil {
		c.Group = *group
	}
}

// inference refuses what would otherwise be taken for obeyed.
func (r *reader) inference(options object) {
	for _, name := range []string{"model", "tool_choice"} {
		if v := options.get(name); !v.none() {
			r.fault(v, chat.CodeUnsupported, "cannot be chosen here: the gateway's operator does; leave it out")
		}
	}
}

// prompt joins the parts to what the model is asked, and holds it to the rules of an
// input. The composer keeps the white space around a tag in the texts next to it.
func (r *reader) prompt(m *userMessage, v value) {
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

// shortened returns at most limit characters of a text on one line.
func shortened(s string, limit int) string {
	s = chat.Line(s, len(s))
	n := 0
	for at := range s {
		if n++; n > limit {
			return strings.TrimSpace(s[:at])
		}
	}
	return s
}
