package openai

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// request is a body that was read.
type request struct {
	request chat.Request
	model   string
	stream  bool
	usage   bool // a stream ends with the figures
	noTools bool // tool_choice is none
	// disconnect says what becomes of the turn without its client; empty: it is not said.
	disconnect string
	ignored    []string
}

// mode says the same. In this protocol leaving is the stop button; a run of a workflow is none,
// and continues unless the request says otherwise.
func (q *request) mode() dialect.Mode {
	if q.disconnect == chat.OnDisconnectContinue || q.disconnect == "" && q.request.Workflow != "" {
		return dialect.Detached
	}
	return dialect.Attached
}

// assign names the agent or workflow that answers. With tool_choice none an agent is offered no
// tool at all: a client that forbids calls fails on those of the gateway too.
func (q *request) assign(by chosen) {
	q.request.Agent, q.request.Workflow = by.agent, by.workflow
	if q.noTools && by.workflow == "" {
		q.request.Tools = chat.ToolsOff
	}
}

// facts returns what the encoder of a log must know.
func (q *request) facts() []byte {
	text, _ := jsontext.AppendQuote([]byte(`{"model":`), q.model)
	if q.usage {
		text = append(text, `,"usage":true`...)
	}
	return append(text, '}')
}

// unsupported are members that would change the answer in a way that is not served, each with
// its values that change nothing, besides null and what is empty.
var unsupported = map[string][]string{
	"n": {"1"}, "logprobs": {"false"}, "modalities": {`["text"]`}, "audio": nil,
	"functions": nil, "function_call": {`"auto"`, `"none"`}, "web_search_options": nil,
}

// honoured are the members that are read.
var honoured = []string{
	"model", "messages", "max_completion_tokens", "max_tokens", "response_format", "tools", "tool_choice", "stream", "stream_options",
	"stop", "metadata", "user", "safety_identifier",
}

// ignorable are members of OpenAI's that count for nothing here, as the reply says.
var ignorable = []string{
	"temperature", "top_p", "seed", "reasoning_effort", "parallel_tool_calls", "store", "presence_penalty", "frequency_penalty", "logit_bias",
	"top_logprobs", "service_tier", "prediction", "verbosity", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "moderation",
}

// maxTokens bounds what a client may ask for.
const maxTokens = 1_000_000

// reader reads the members of a body.
type reader struct {
	members map[string]jsontext.Value
	e       *chat.ValidationError
	// flat says that what describes a function, or a schema, stands next to its type, as in the
	// Responses API, and not in an object of its own.
	flat bool
	// leftOut are the types of tools and items that are not served, for the reply to name.
	leftOut []string
}

// fault adds a fault at a JSON pointer.
func (r *reader) fault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// read reads a body. What is wrong with it goes to e.
func (s *Server) read(body []byte, e *chat.ValidationError) (q request) {
	r := &reader{e: e}
	var ok bool
	if r.members, ok = chat.Members(body, slices.Concat(honoured, ignorable, keys(unsupported)), e); !ok {
		return q
	}
	r.others(&q, unsupported, ignorable)
	r.basics(&q)
	q.usage = r.flag("/stream_options/include_usage", r.objectAt("/stream_options", r.members["stream_options"])["include_usage"])
	talk := dialect.Talk{Root: "/messages", Messages: r.messages(r.members["messages"]), MaxTokens: r.limit("max_completion_tokens", "max_tokens")}
	talk.Stop = r.stops(r.members["stop"])
	talk.Tools = r.tools(r.members["tools"])
	talk.Choice, talk.NoTools = r.choice(r.members["tool_choice"])
	r.shared(&q, s.cfg.Rules.Stored)
	q.noTools = talk.NoTools
	q.request.Answer = r.format("/response_format", r.members["response_format"])
	s.cfg.Rules.Compose(&q.request, talk, e)
	q.request.Mute = true
	return q
}

// basics reads what both protocols have in common.
func (r *reader) basics(q *request) {
	q.model = r.text("/model", r.members["model"], true)
	q.stream = r.flag("/stream", r.members["stream"])
}

// others looks at members that are not served: those that are refused, and those that count for nothing.
func (r *reader) others(q *request, refused map[string][]string, ignored []string) {
	for _, name := range keys(refused) {
		if v, given := r.members[name]; given && !harmless(v, refused[name]) {
			r.fault("/"+name, chat.CodeUnsupported, "is not served here: leave it out")
		}
	}
	for _, name := range ignored {
		if v, given := r.members[name]; given && !harmless(v, nil) {
			q.ignored = append(q.ignored, name)
		}
	}
}

// keys returns the names of a table in their order.
func keys(table map[string][]string) (names []string) {
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// harmless says whether a value changes nothing: it is null, empty, or one of some.
func harmless(v jsontext.Value, defaults []string) bool {
	text := strings.Join(strings.Fields(string(v)), "")
	if n, ok := dialect.WholeNumber(v); ok {
		text = strconv.Itoa(n)
	}
	return slices.Contains([]string{"null", `""`, "[]", "{}"}, text) || slices.Contains(defaults, text)
}

// none says whether a member is absent, which null is too.
func none(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// text reads a string.
func (r *reader) text(at string, v jsontext.Value, required bool) string {
	switch {
	case none(v) && required:
		r.fault(at, chat.CodeRequired, "is required")
	case none(v):
	case v.Kind() != '"':
		r.fault(at, chat.CodeWrongType, "must be a string")
	default:
		text := dialect.Text(v)
		if required && text == "" {
			r.fault(at, chat.CodeBlank, "must not be empty")
		}
		return text
	}
	return ""
}

// flag reads true or false.
func (r *reader) flag(at string, v jsontext.Value) bool {
	if !none(v) && v.Kind() != 't' && v.Kind() != 'f' {
		r.fault(at, chat.CodeWrongType, "must be true or false")
	}
	return !none(v) && v.Kind() == 't'
}

// objectAt reads an object; nil if there is none.
func (r *reader) objectAt(at string, v jsontext.Value) map[string]jsontext.Value {
	if none(v) {
		return nil
	}
	if v.Kind() != '{' {
		r.fault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// list reads an array; nil if there is none.
func (r *reader) list(at string, v jsontext.Value) (all []jsontext.Value) {
	if none(v) {
		return nil
	}
	if v.Kind() != '[' {
		r.fault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}

// limit reads the bound of the answer, of which the first name that is there counts.
func (r *reader) limit(names ...string) (most int) {
	for _, name := range names {
		v := r.members[name]
		if none(v) {
			continue
		}
		n, ok := dialect.WholeNumber(v)
		switch {
		case !ok:
			r.fault("/"+name, chat.CodeWrongType, "must be a whole number")
		case n < 1 || n > maxTokens:
			r.fault("/"+name, chat.CodeInvalidFormat, "must be from 1 to 1000000")
		case most == 0:
			most = n
		}
	}
	return most
}

// Bounds of the strings that end an answer.
const (
	stopAt       = "/stop"
	maxStops     = 4
	maxStopChars = 1000 // code points of one
)

// stops reads the strings that end the answer: one, or up to four. It ignores an empty one.
func (r *reader) stops(v jsontext.Value) (all []string) {
	values, one := []jsontext.Value{v}, none(v) || v.Kind() == '"'
	if !one {
		values = r.list(stopAt, v)
	}
	if len(values) > maxStops {
		r.fault(stopAt, chat.CodeTooLong, "must have at most 4 strings")
		return nil
	}
	for i, value := range values {
		at := stopAt
		if !one {
			at += "/" + strconv.Itoa(i)
		}
		text := r.text(at, value, false)
		if utf8.RuneCountInString(text) > maxStopChars {
			r.fault(at, chat.CodeInvalidFormat, "must have at most 1000 characters")
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// format reads the form of an answer; nil: it is a text.
func (r *reader) format(at string, v jsontext.Value) *chat.AnswerForm {
	members := r.objectAt(at, v)
	if members == nil {
		return nil
	}
	switch r.text(at+"/type", members["type"], true) {
	case "text", "":
		return nil
	case "json_object":
		return &chat.AnswerForm{Name: "answer", Schema: jsontext.Value(chat.AnyObject), At: at, SchemaAt: at}
	case "json_schema":
		if r.flat {
			form := r.schema(at, members)
			form.At = at
			return form
		}
		own := members["json_schema"]
		if none(own) {
			r.fault(at+"/json_schema", chat.CodeRequired, "is required")
			return nil
		}
		form := r.schema(at+"/json_schema", r.objectAt(at+"/json_schema", own))
		form.At = at
		return form
	}
	r.fault(at, chat.CodeUnsupported, "must be of type text, json_schema or json_object")
	return nil
}

// schema reads the form that a schema describes. strict changes nothing: a schema always counts.
// Whether it can be used is for others to say.
func (r *reader) schema(at string, members map[string]jsontext.Value) *chat.AnswerForm {
	form := &chat.AnswerForm{
		Name: r.text(at+"/name", members["name"], true), Description: r.text(at+"/description", members["description"], false),
		Schema: members["schema"], SchemaAt: at + "/schema",
	}
	r.flag(at+"/strict", members["strict"])
	if form.Name != "" && (!chat.Token(form.Name, 1, 64) || strings.Contains(form.Name, ".")) {
		r.fault(at+"/name", chat.CodeInvalidFormat, "must be 1 to 64 of a-z, A-Z, 0-9, _ and -")
	}
	if len(form.Description) > chat.MaxAnswerDescription {
		r.fault(at+"/description", chat.CodeTooLong, "must have at most 4096 bytes")
	}
	switch {
	case none(form.Schema): // a schema that is forgotten is not the same as any object
		r.fault(form.SchemaAt, chat.CodeRequired, "is required")
	case form.Schema.Kind() != '{':
		r.fault(form.SchemaAt, chat.CodeWrongType, "must be an object")
	case len(form.Schema) > chat.MaxAnswerSchema:
		r.fault(form.SchemaAt, chat.CodeTooLong, "must have at most 64 KiB")
	}
	form.Schema = form.Schema.Clone() // the body is not kept for it
	return form
}

// shared reads the members that are of the gateway: who the user is, and what metadata says.
func (r *reader) shared(q *request, stored bool) {
	at := "/safety_identifier"
	user := r.text(at, r.members["safety_identifier"], false)
	if given := r.text("/user", r.members["user"], false); user == "" {
		at, user = "/user", given
	}
	clean, wrong := chat.CheckUserID(user)
	r.e.Add(at, wrong)
	known := func(name string) bool {
		return slices.Contains([]string{"conversation_id", "timezone", "on_disconnect", "channel", "locale"}, name)
	}
	metadata := r.objectAt("/metadata", r.members["metadata"])
	own := metadata["conversation_id"]
	delete(metadata, "conversation_id")
	asked := chat.SharedFields(metadata, "/metadata", known, r.e)
	q.request = asked.Request
	q.request.UserID = clean
	q.request.ConversationID = dialect.ConversationID(r.text("/metadata/conversation_id", own, false), "/metadata/conversation_id", r.e)
	if q.disconnect = asked.OnDisconnect; q.disconnect == chat.OnDisconnectContinue && !stored {
		r.fault("/metadata/on_disconnect", chat.CodeNotConfigured, "needs a store, and this gateway has none (SLUICE_STORE)")
	}
}

// messages reads the conversation.
func (r *reader) messages(v jsontext.Value) (all []chat.ClientMessage) {
	if none(v) {
		r.fault("/messages", chat.CodeRequired, "is required")
		return nil
	}
	items := r.list("/messages", v)
	if len(items) > chat.MaxMessages {
		return make([]chat.ClientMessage, len(items)) // which Compose reports
	}
	var attached []string // to the last message of the user, which is answered
	for i, item := range items {
		m, others, ok := r.message("/messages/"+strconv.Itoa(i), item)
		if !ok {
			continue
		}
		if all = append(all, m); m.Speaker == chat.SpeakerUser {
			attached = others
		}
	}
	for _, at := range attached {
		r.fault(at, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
	}
	return all
}

// speakers are the roles of messages.
var speakers = map[string]chat.Speaker{
	"system": chat.SpeakerApplication, "developer": chat.SpeakerApplication, "user": chat.SpeakerUser,
	"assistant": chat.SpeakerAssistant, "tool": chat.SpeakerTool,
}

// message reads one message. others are the places of its parts that are no text.
func (r *reader) message(at string, v jsontext.Value) (m chat.ClientMessage, others []string, ok bool) {
	if v.Kind() != '{' {
		r.fault(at, chat.CodeWrongType, "must be an object with role and content")
		return m, nil, false
	}
	members := r.objectAt(at, v)
	role := r.text(at+"/role", members["role"], true)
	speaker, ok := speakers[role]
	if !ok {
		if role != "" {
			r.fault(at+"/role", chat.CodeUnsupported, "must be system, developer, user, assistant or tool")
		}
		return m, nil, false
	}
	m = chat.ClientMessage{Speaker: speaker, At: at}
	m.Text, others = r.content(at+"/content", members["content"])
	switch speaker {
	case chat.SpeakerAssistant:
		m.Calls = r.calls(at+"/tool_calls", members["tool_calls"])
	case chat.SpeakerTool:
		m.Result = tool.Result{ID: r.text(at+"/tool_call_id", members["tool_call_id"], true), Text: m.Text}
		m.Text = ""
	}
	return m, others, true
}

// content reads a text, or parts with texts. others are the places of the parts that a user's last
// message must not have.
func (r *reader) content(at string, v jsontext.Value) (text string, others []string) {
	if none(v) || v.Kind() == '"' {
		return r.text(at, v, false), nil
	}
	if v.Kind() != '[' {
		r.fault(at, chat.CodeWrongType, "must be a string or an array of parts")
		return "", nil
	}
	var texts []string
	for i, item := range r.list(at, v) {
		place := at + "/" + strconv.Itoa(i)
		if item.Kind() != '{' {
			r.fault(place, chat.CodeWrongType, "must be a part with a type")
			continue
		}
		part := r.objectAt(place, item)
		kind := r.text(place+"/type", part["type"], true)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.partText(place+"/"+member, part[member]))
		case use == dialect.PartAttachment:
			texts, others = append(texts, dialect.Attachment), append(others, place)
		default:
			others = append(others, place)
		}
	}
	return strings.Join(texts, "\n"), others
}

// partText reads the text of a part. The text may be empty.
func (r *reader) partText(at string, v jsontext.Value) string {
	if none(v) {
		r.fault(at, chat.CodeRequired, "is required")
	}
	return r.text(at, v, false)
}

// calls reads the calls of an assistant's message.
func (r *reader) calls(at string, v jsontext.Value) (calls []tool.Call) {
	for i, item := range r.list(at, v) {
		place := at + "/" + strconv.Itoa(i)
		members := r.objectAt(place, item)
		function := r.objectAt(place+"/function", members["function"])
		if function == nil {
			r.fault(place, chat.CodeUnsupported, "must be a call of a function")
			continue
		}
		arguments := r.text(place+"/function/arguments", function["arguments"], false)
		calls = append(calls, tool.Call{
			ID: r.text(place+"/id", members["id"], true), Name: r.text(place+"/function/name", function["name"], true), Arguments: jsontext.Value(arguments),
		})
	}
	return calls
}

// choiceWord is choice for a word.
func (r *reader) choiceWord(v jsontext.Value) (c chat.ToolChoice, no bool) {
	switch word := r.text("/tool_choice", v, true); word {
	case "auto":
	case "none":
		return c, true
	case "required":
		c.Must = true
	default:
		r.fault("/tool_choice", chat.CodeUnsupported, "must be none, auto, required or a function")
	}
	return c, false
}

// choice reads tool_choice: that no tool of the client's is to be called, or that one must be.
func (r *reader) choice(v jsontext.Value) (c chat.ToolChoice, no bool) {
	if none(v) {
		return c, false
	}
	if v.Kind() == '"' {
		return r.choiceWord(v)
	}
	at, members := "/tool_choice", r.objectAt("/tool_choice", v)
	if r.flat && r.text(at+"/type", members["type"], true) != "function" {
		members = nil
	}
	if !r.flat {
		at += "/function"
		members = r.objectAt(at, members["function"])
	}
	if members == nil {
		r.fault("/tool_choice", chat.CodeUnsupported, "must be none, auto, required or a function")
		return c, false
	}
	return chat.ToolChoice{Must: true, Name: r.text(at+"/name", members["name"], true)}, false
}

// tools reads the tools that the client runs. The Responses API has many types of tools that
// are not served: they are left out, as a client sends the same tools to each provider.
func (r *reader) tools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.list("/tools", v) {
		at := "/tools/" + strconv.Itoa(i)
		if item.Kind() != '{' {
			r.fault(at, chat.CodeWrongType, "must be an object")
			continue
		}
		members := r.objectAt(at, item)
		if kind := r.text(at+"/type", members["type"], true); kind != "function" {
			switch {
			case kind == "":
			case r.flat:
				r.leftOut = append(r.leftOut, kind)
			default:
				r.fault(at+"/type", chat.CodeUnsupported, "must be function")
			}
			continue
		}
		f := members
		if !r.flat {
			at += "/function"
			f = r.objectAt(at, members["function"])
		}
		all.Add(r.text(at+"/name", f["name"], true), r.text(at+"/description", f["description"], false), f["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}
