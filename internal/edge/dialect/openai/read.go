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
	// disconnect is the client's choice for its turn after it leaves; empty without a choice.
	disconnect string
	ignored    []string
}

// mode returns the mode of the turn. A client that leaves stops its turn, but a run of a workflow
// continues unless the request forbids it.
func (q *request) mode() dialect.Mode {
	if q.disconnect == chat.OnDisconnectContinue || q.disconnect == "" && q.request.Workflow != "" {
		return dialect.Detached
	}
	return dialect.Attached
}

// assignModel names the agent or workflow that answers. With tool_choice none an agent is offered no
// tool at all: a client that forbids calls fails on those of the gateway too.
func (q *request) assignModel(by modelTarget) {
	q.request.Agent, q.request.Workflow = by.agent, by.workflow
	if q.noTools && by.workflow == "" {
		q.request.Tools = chat.ToolsOff
	}
}

// encodeFacts returns the request's facts for the encoder of its log.
func (q *request) encodeFacts() []byte {
	text, _ := jsontext.AppendQuote([]byte(`{"model":`), q.model)
	if q.usage {
		text = append(text, `,"usage":true`...)
	}
	return append(text, '}')
}

// unsupported maps the members that the gateway refuses to their harmless values. null and empty
// values are always harmless.
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

// maxTokens bounds the token limit that a client may set.
const maxTokens = 1_000_000

// reader reads the members of a body.
type reader struct {
	members map[string]jsontext.Value
	e       *chat.ValidationError
	// flat means that the members of a function or a schema stand next to its type, as in the
	// Responses API, and not in an object of their own.
	flat bool
	// leftOut are the types of tools and items that are not served, for the reply to name.
	leftOut []string
}

// addFault adds a fault at a JSON pointer.
func (r *reader) addFault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// readCompletion reads a body. Faults of the body go to e.
func (s *Server) readCompletion(body []byte, e *chat.ValidationError) (q request) {
	r := &reader{e: e}
	var ok bool
	if r.members, ok = chat.Members(body, slices.Concat(honoured, ignorable, sortedNames(unsupported)), e); !ok {
		return q
	}
	r.readUnserved(&q, unsupported, ignorable)
	r.readCommon(&q)
	q.usage = r.readFlag("/stream_options/include_usage", r.readObject("/stream_options", r.members["stream_options"])["include_usage"])
	talk := dialect.Talk{Root: "/messages", Messages: r.readMessages(r.members["messages"]), MaxTokens: r.readLimit("max_completion_tokens", "max_tokens")}
	talk.Stop = r.readStops(r.members["stop"])
	talk.Tools = r.readTools(r.members["tools"])
	talk.Choice, talk.NoTools = r.readChoice(r.members["tool_choice"])
	r.readShared(&q, s.cfg.Rules.Stored)
	q.noTools = talk.NoTools
	q.request.Answer = r.readFormat("/response_format", r.members["response_format"])
	s.cfg.Rules.Compose(&q.request, talk, e)
	q.request.Mute = true
	return q
}

// readCommon reads what both protocols have in common.
func (r *reader) readCommon(q *request) {
	q.model = r.readText("/model", r.members["model"], true)
	q.stream = r.readFlag("/stream", r.members["stream"])
}

// readUnserved adds a fault for each member that is refused, and lists the members that are
// ignored.
func (r *reader) readUnserved(q *request, refused map[string][]string, ignored []string) {
	for _, name := range sortedNames(refused) {
		if v, given := r.members[name]; given && !changesNothing(v, refused[name]) {
			r.addFault("/"+name, chat.CodeUnsupported, "is not served here: leave it out")
		}
	}
	for _, name := range ignored {
		if v, given := r.members[name]; given && !changesNothing(v, nil) {
			q.ignored = append(q.ignored, name)
		}
	}
}

// sortedNames returns the names of a table in their order.
func sortedNames(table map[string][]string) (names []string) {
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// changesNothing reports whether a value changes nothing: it is null, empty, or one of some.
func changesNothing(v jsontext.Value, defaults []string) bool {
	text := strings.Join(strings.Fields(string(v)), "")
	if n, ok := dialect.WholeNumber(v); ok {
		text = strconv.Itoa(n)
	}
	return slices.Contains([]string{"null", `""`, "[]", "{}"}, text) || slices.Contains(defaults, text)
}

// isAbsent reports whether a member is missing or null.
func isAbsent(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// readText reads a string.
func (r *reader) readText(at string, v jsontext.Value, required bool) string {
	switch {
	case isAbsent(v) && required:
		r.addFault(at, chat.CodeRequired, "is required")
	case isAbsent(v):
	case v.Kind() != '"':
		r.addFault(at, chat.CodeWrongType, "must be a string")
	default:
		text := dialect.Text(v)
		if required && text == "" {
			r.addFault(at, chat.CodeBlank, "must not be empty")
		}
		return text
	}
	return ""
}

// readFlag reads true or false.
func (r *reader) readFlag(at string, v jsontext.Value) bool {
	if !isAbsent(v) && v.Kind() != 't' && v.Kind() != 'f' {
		r.addFault(at, chat.CodeWrongType, "must be true or false")
	}
	return !isAbsent(v) && v.Kind() == 't'
}

// readObject returns the members of an object, or nil if it is absent.
func (r *reader) readObject(at string, v jsontext.Value) map[string]jsontext.Value {
	if isAbsent(v) {
		return nil
	}
	if v.Kind() != '{' {
		r.addFault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// readList returns the values of an array, or nil if it is absent.
func (r *reader) readList(at string, v jsontext.Value) (all []jsontext.Value) {
	if isAbsent(v) {
		return nil
	}
	if v.Kind() != '[' {
		r.addFault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}

// readLimit reads the answer's token limit. The first of the names that is present counts.
func (r *reader) readLimit(names ...string) (most int) {
	for _, name := range names {
		v := r.members[name]
		if isAbsent(v) {
			continue
		}
		n, ok := dialect.WholeNumber(v)
		switch {
		case !ok:
			r.addFault("/"+name, chat.CodeWrongType, "must be a whole number")
		case n < 1 || n > maxTokens:
			r.addFault("/"+name, chat.CodeInvalidFormat, "must be from 1 to 1000000")
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

// readStops reads the strings that end the answer: one, or up to four. It ignores an empty one.
func (r *reader) readStops(v jsontext.Value) (all []string) {
	values, one := []jsontext.Value{v}, isAbsent(v) || v.Kind() == '"'
	if !one {
		values = r.readList(stopAt, v)
	}
	if len(values) > maxStops {
		r.addFault(stopAt, chat.CodeTooLong, "must have at most 4 strings")
		return nil
	}
	for i, value := range values {
		at := stopAt
		if !one {
			at += "/" + strconv.Itoa(i)
		}
		text := r.readText(at, value, false)
		if utf8.RuneCountInString(text) > maxStopChars {
			r.addFault(at, chat.CodeInvalidFormat, "must have at most 1000 characters")
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// readFormat reads the form of an answer; nil: it is a text.
func (r *reader) readFormat(at string, v jsontext.Value) *chat.AnswerForm {
	members := r.readObject(at, v)
	if members == nil {
		return nil
	}
	switch r.readText(at+"/type", members["type"], true) {
	case "text", "":
		return nil
	case "json_object":
		return &chat.AnswerForm{Name: "answer", Schema: jsontext.Value(chat.AnyObject), At: at, SchemaAt: at}
	case "json_schema":
		if r.flat {
			form := r.readSchema(at, members)
			form.At = at
			return form
		}
		own := members["json_schema"]
		if isAbsent(own) {
			r.addFault(at+"/json_schema", chat.CodeRequired, "is required")
			return nil
		}
		form := r.readSchema(at+"/json_schema", r.readObject(at+"/json_schema", own))
		form.At = at
		return form
	}
	r.addFault(at, chat.CodeUnsupported, "must be of type text, json_schema or json_object")
	return nil
}

// readSchema reads the form that a schema describes. strict changes nothing: a schema always
// counts. It does not check whether the schema can be used.
func (r *reader) readSchema(at string, members map[string]jsontext.Value) *chat.AnswerForm {
	form := &chat.AnswerForm{
		Name: r.readText(at+"/name", members["name"], true), Description: r.readText(at+"/description", members["description"], false),
		Schema: members["schema"], SchemaAt: at + "/schema",
	}
	r.readFlag(at+"/strict", members["strict"])
	if form.Name != "" && (!chat.Token(form.Name, 1, 64) || strings.Contains(form.Name, ".")) {
		r.addFault(at+"/name", chat.CodeInvalidFormat, "must be 1 to 64 of a-z, A-Z, 0-9, _ and -")
	}
	if len(form.Description) > chat.MaxAnswerDescription {
		r.addFault(at+"/description", chat.CodeTooLong, "must have at most 4096 bytes")
	}
	switch {
	case isAbsent(form.Schema): // a schema that is forgotten is not the same as any object
		r.addFault(form.SchemaAt, chat.CodeRequired, "is required")
	case form.Schema.Kind() != '{':
		r.addFault(form.SchemaAt, chat.CodeWrongType, "must be an object")
	case len(form.Schema) > chat.MaxAnswerSchema:
		r.addFault(form.SchemaAt, chat.CodeTooLong, "must have at most 64 KiB")
	}
	form.Schema = form.Schema.Clone() // the body is not kept for it
	return form
}

// readShared reads the gateway's own members, such as the user and the metadata.
func (r *reader) readShared(q *request, stored bool) {
	at := "/safety_identifier"
	user := r.readText(at, r.members["safety_identifier"], false)
	if given := r.readText("/user", r.members["user"], false); user == "" {
		at, user = "/user", given
	}
	clean, wrong := chat.CheckUserID(user)
	r.e.Add(at, wrong)
	known := func(name string) bool {
		return slices.Contains([]string{"conversation_id", "timezone", "on_disconnect", "channel", "locale"}, name)
	}
	metadata := r.readObject("/metadata", r.members["metadata"])
	own := metadata["conversation_id"]
	delete(metadata, "conversation_id")
	asked := chat.SharedFields(metadata, "/metadata", known, r.e)
	q.request = asked.Request
	q.request.UserID = clean
	q.request.ConversationID = dialect.ConversationID(r.readText("/metadata/conversation_id", own, false), "/metadata/conversation_id", r.e)
	if q.disconnect = asked.OnDisconnect; q.disconnect == chat.OnDisconnectContinue && !stored {
		r.addFault("/metadata/on_disconnect", chat.CodeNotConfigured, "needs a store, and this gateway has none (SLUICE_STORE)")
	}
}

// readMessages reads the conversation.
func (r *reader) readMessages(v jsontext.Value) (all []chat.ClientMessage) {
	if isAbsent(v) {
		r.addFault("/messages", chat.CodeRequired, "is required")
		return nil
	}
	items := r.readList("/messages", v)
	if len(items) > chat.MaxMessages {
		return make([]chat.ClientMessage, len(items)) // which Compose reports
	}
	var attached []string // places of parts that the user's last message must not have
	for i, item := range items {
		m, others, ok := r.readMessage("/messages/"+strconv.Itoa(i), item)
		if !ok {
			continue
		}
		if all = append(all, m); m.Speaker == chat.SpeakerUser {
			attached = others
		}
	}
	for _, at := range attached {
		r.addFault(at, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
	}
	return all
}

// speakers are the roles of messages.
var speakers = map[string]chat.Speaker{
	"system": chat.SpeakerApplication, "developer": chat.SpeakerApplication, "user": chat.SpeakerUser,
	"assistant": chat.SpeakerAssistant, "tool": chat.SpeakerTool,
}

// readMessage reads one message. others are the places of its parts that are not text.
func (r *reader) readMessage(at string, v jsontext.Value) (m chat.ClientMessage, others []string, ok bool) {
	if v.Kind() != '{' {
		r.addFault(at, chat.CodeWrongType, "must be an object with role and content")
		return m, nil, false
	}
	members := r.readObject(at, v)
	role := r.readText(at+"/role", members["role"], true)
	speaker, ok := speakers[role]
	if !ok {
		if role != "" {
			r.addFault(at+"/role", chat.CodeUnsupported, "must be system, developer, user, assistant or tool")
		}
		return m, nil, false
	}
	m = chat.ClientMessage{Speaker: speaker, At: at}
	m.Text, others = r.readContent(at+"/content", members["content"])
	switch speaker {
	case chat.SpeakerAssistant:
		m.Calls = r.readCalls(at+"/tool_calls", members["tool_calls"])
	case chat.SpeakerTool:
		m.Result = tool.Result{ID: r.readText(at+"/tool_call_id", members["tool_call_id"], true), Text: m.Text}
		m.Text = ""
	}
	return m, others, true
}

// readContent reads a text, or parts with texts. others are the places of the parts that a user's last
// message must not have.
func (r *reader) readContent(at string, v jsontext.Value) (text string, others []string) {
	if isAbsent(v) || v.Kind() == '"' {
		return r.readText(at, v, false), nil
	}
	if v.Kind() != '[' {
		r.addFault(at, chat.CodeWrongType, "must be a string or an array of parts")
		return "", nil
	}
	var texts []string
	for i, item := range r.readList(at, v) {
		place := at + "/" + strconv.Itoa(i)
		if item.Kind() != '{' {
			r.addFault(place, chat.CodeWrongType, "must be a part with a type")
			continue
		}
		part := r.readObject(place, item)
		kind := r.readText(place+"/type", part["type"], true)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.readPartText(place+"/"+member, part[member]))
		case use == dialect.PartAttachment:
			texts, others = append(texts, dialect.Attachment), append(others, place)
		default:
			others = append(others, place)
		}
	}
	return strings.Join(texts, "\n"), others
}

// readPartText reads the text of a part. The text may be empty.
func (r *reader) readPartText(at string, v jsontext.Value) string {
	if isAbsent(v) {
		r.addFault(at, chat.CodeRequired, "is required")
	}
	return r.readText(at, v, false)
}

// readCalls reads the calls of an assistant's message.
func (r *reader) readCalls(at string, v jsontext.Value) (calls []tool.Call) {
	for i, item := range r.readList(at, v) {
		place := at + "/" + strconv.Itoa(i)
		members := r.readObject(place, item)
		function := r.readObject(place+"/function", members["function"])
		if function == nil {
			r.addFault(place, chat.CodeUnsupported, "must be a call of a function")
			continue
		}
		arguments := r.readText(place+"/function/arguments", function["arguments"], false)
		calls = append(calls, tool.Call{
			ID: r.readText(place+"/id", members["id"], true), Name: r.readText(place+"/function/name", function["name"], true), Arguments: jsontext.Value(arguments),
		})
	}
	return calls
}

// readChoiceWord reads a tool_choice that is a word.
func (r *reader) readChoiceWord(v jsontext.Value) (c chat.ToolChoice, no bool) {
	switch word := r.readText("/tool_choice", v, true); word {
	case "auto":
	case "none":
		return c, true
	case "required":
		c.Must = true
	default:
		r.addFault("/tool_choice", chat.CodeUnsupported, "must be none, auto, required or a function")
	}
	return c, false
}

// readChoice reads tool_choice: that no tool of the client's is to be called, or that one must be.
func (r *reader) readChoice(v jsontext.Value) (c chat.ToolChoice, no bool) {
	if isAbsent(v) {
		return c, false
	}
	if v.Kind() == '"' {
		return r.readChoiceWord(v)
	}
	at, members := "/tool_choice", r.readObject("/tool_choice", v)
	if r.flat && r.readText(at+"/type", members["type"], true) != "function" {
		members = nil
	}
	if !r.flat {
		at += "/function"
		members = r.readObject(at, members["function"])
	}
	if members == nil {
		r.addFault("/tool_choice", chat.CodeUnsupported, "must be none, auto, required or a function")
		return c, false
	}
	return chat.ToolChoice{Must: true, Name: r.readText(at+"/name", members["name"], true)}, false
}

// readTools reads the tools that the client runs. Other types of tools of the Responses API are
// left out, as a client sends the same tools to each provider.
func (r *reader) readTools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.readList("/tools", v) {
		at := "/tools/" + strconv.Itoa(i)
		if item.Kind() != '{' {
			r.addFault(at, chat.CodeWrongType, "must be an object")
			continue
		}
		members := r.readObject(at, item)
		if kind := r.readText(at+"/type", members["type"], true); kind != "function" {
			switch {
			case kind == "":
			case r.flat:
				r.leftOut = append(r.leftOut, kind)
			default:
				r.addFault(at+"/type", chat.CodeUnsupported, "must be function")
			}
			continue
		}
		f := members
		if !r.flat {
			at += "/function"
			f = r.readObject(at, members["function"])
		}
		all.Add(r.readText(at+"/name", f["name"], true), r.readText(at+"/description", f["description"], false), f["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}
