package openai

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// unsupportedOfResponses is a table like unsupported, for the Responses API.
var unsupportedOfResponses = map[string][]string{"prompt": nil, "n": {"1"}, "stop": nil, "logprobs": {"false"}, "modalities": {`["text"]`}, "audio": nil}

// honouredOfResponses are the members that are read.
var honouredOfResponses = []string{
	"model", "input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "metadata", "stream", "store", "background",
	"previous_response_id", "conversation", "user", "safety_identifier",
}

// ignorableOfResponses is a list like ignorable, for the Responses API.
var ignorableOfResponses = []string{
	"temperature", "top_p", "top_logprobs", "reasoning", "parallel_tool_calls", "max_tool_calls", "include", "truncation", "service_tier", "stream_options",
	"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "context_management", "moderation", "verbosity", "seed",
}

// needsStore lists the members that are refused without a store.
var needsStore = []string{"background", "previous_response_id"}

// maxMetadata is how many pairs metadata may have.
const maxMetadata = 16

// responseFacts are the members of a request that the encoder of its response needs.
type responseFacts struct {
	echo  []byte // members of the response, each behind a comma
	store bool   // the response is to be stored
	// answered are the ids of the questions that the request answers, by that of their call.
	answered map[string]string
}

// responseRequest is a request for a response.
type responseRequest struct {
	request
	facts      responseFacts
	background bool
	previous   string       // the response that it continues; empty: none
	answer     *chat.Answer // nil: it asks for a turn
	record     *record      // its stored form; nil if it is not stored
}

// openResponse reads the request for a response.
func (s *Server) openResponse(r *http.Request, body []byte) (*dialect.Exchange, error) {
	e := new(chat.ValidationError)
	q, err := s.readResponse(r.Context(), body, e)
	if err != nil {
		return nil, err
	}
	key, err := dialect.HeaderKey(r, faultOf(e))
	if err != nil {
		return nil, err
	}
	by, ok := s.resolveModel(tenantOf(r), q.model)
	if !ok {
		return nil, noModel()
	}
	q.assignModel(by)
	x := &dialect.Exchange{Request: q.request.request, Repetition: dialect.Repetition{Key: key}, Mode: q.mode(), Header: http.Header{}}
	x.Approval, x.RunsOn = q.answer, q.answer != nil && q.disconnect == ""
	dialect.AddIgnored(x.Header, q.ignored)
	form := asStream
	if !q.stream {
		x.Form, x.Words, form = dialect.Document, hasWords, asDocument
	}
	if q.background {
		if x.Mode = dialect.Detached; !q.stream {
			x.Mode, form = dialect.Early, asBegun
		}
	}
	// A repeated key gets the first turn, encoded with the facts of this equal request.
	x.Attach, x.RepeatEncoder = true, func(k dialect.StoredTurn) stream.Encoder { return newResponder(k.RequestID, k.Began, q.facts, form) }
	turn := chat.TurnOf(r.Context())
	x.Encoder = newResponder(turn.RequestID, turn.Began, q.facts, form)
	if q.record != nil {
		s.storeDuringTurn(context.WithoutCancel(r.Context()), x, q.record)
	}
	return x, nil
}

// readResponse reads a body. Faults of the body go to e. err is a failure of the store.
func (s *Server) readResponse(ctx context.Context, body []byte, e *chat.ValidationError) (q responseRequest, err error) {
	r := &reader{e: e, flat: true}
	var ok bool
	if r.members, ok = chat.Members(body, slices.Concat(honouredOfResponses, ignorableOfResponses, sortedNames(unsupportedOfResponses)), e); !ok {
		return q, nil
	}
	r.readUnserved(&q.request, unsupportedOfResponses, ignorableOfResponses)
	r.readCommon(&q.request)
	r.readShared(&q.request, s.cfg.Rules.Stored)
	own := r.readConversationID(&q.request.request)
	q.request.request.Answer = r.readFormat("/text/format", r.readObject("/text", r.members["text"])["format"])
	q.facts.store = s.wantsStored(r)
	q.background = r.readFlag("/background", r.members["background"])
	if q.background && s.cfg.Turns != nil && !q.facts.store {
		r.addFault("/background", chat.CodeUnsupported, "needs a response that is stored")
	}
	q.previous = r.readText("/previous_response_id", r.members["previous_response_id"], false)
	talk, in, err := s.readConversation(ctx, r, &q)
	if err != nil {
		return q, err
	}
	q.facts.echo = r.echoRequest(&q, own, talk.Instructions)
	if q.answer = in.answer; q.answer == nil {
		s.cfg.Rules.Compose(&q.request.request, talk, e)
		err = s.restoreSignatures(ctx, &q.request.request, in.lastCall)
	} else { // the paused turn has its own input, so the record has the whole conversation as history
		talk.Messages = append(talk.Messages, chat.ClientMessage{Text: "-"})
		s.cfg.Rules.Compose(&q.request.request, talk, new(chat.ValidationError))
		q.request.request.Input, q.facts.answered = "", in.questions
	}
	if q.facts.store {
		q.record = newRecord(ctx, &q.request.request, q.facts)
	}
	return q, err
}

// restoreSignatures restores the signatures of the model on the calls that the client has answered,
// if their response is stored.
func (s *Server) restoreSignatures(ctx context.Context, req *chat.Request, item string) error {
	if req.App == nil || len(req.App.Continues) == 0 {
		return nil
	}
	k, err := s.findRecord(ctx, turnOf(item), req.UserID)
	if err == nil && k != nil && k.Called != nil {
		req.App.Restore(k.Called.toMessage())
	}
	return err
}

// wantsStored reports whether the response is to be stored.
func (s *Server) wantsStored(r *reader) bool {
	wanted := isAbsent(r.members["store"]) || r.readFlag("/store", r.members["store"])
	if s.cfg.Turns != nil {
		return wanted
	}
	for _, name := range needsStore {
		if v := r.members[name]; !changesNothing(v, []string{"false"}) && v != nil {
			r.addFault("/"+name, chat.CodeUnsupported, "needs a store, and this gateway has none (SLUICE_STORE)")
		}
	}
	return false
}

// readConversation reads the messages of the request, behind those of the previous response.
func (s *Server) readConversation(ctx context.Context, r *reader, q *responseRequest) (talk dialect.Talk, in items, err error) {
	seen := map[string]*record{} // each is read once
	in = items{reader: r, refer: func(at, id string) jsontext.Value {
		item, failed := s.itemOf(ctx, r, seen, at, id, q.request.request.UserID)
		if failed != nil {
			err = failed
		}
		return item
	}}
	talk = dialect.Talk{Root: "/input", Counted: true, Optional: true, MaxTokens: r.readLimit("max_output_tokens")}
	if q.previous != "" {
		before, failed := s.previousResponse(ctx, r, "/previous_response_id", q.previous, q.request.request.UserID)
		if failed != nil {
			return talk, in, failed
		}
		if before != nil {
			in.readItems("/previous_response_id", before.Input)
			in.readItems("/previous_response_id", before.outputItems())
			if q.request.request.ConversationID == "" {
				q.request.request.ConversationID = before.Conversation
			}
		}
		talk.Optional = false
	}
	in.readInput(r.members["input"])
	talk.Messages = in.messages
	talk.Instructions = r.readText("/instructions", r.members["instructions"], false)
	talk.Tools = r.readTools(r.members["tools"])
	talk.Choice, talk.NoTools = r.readChoice(r.members["tool_choice"])
	q.noTools = talk.NoTools
	q.ignored = append(q.ignored, r.leftOut...)
	return talk, in, err
}

// readConversationID reads the client's name of the conversation, and returns it.
func (r *reader) readConversationID(req *chat.Request) (own string) {
	v := r.members["conversation"]
	at := "/conversation"
	if v.Kind() == '{' {
		v, at = r.readObject(at, v)["id"], at+"/id"
	}
	if own = r.readText(at, v, at != "/conversation"); own != "" {
		req.ConversationID = dialect.ConversationID(own, at, r.e)
	}
	return own
}

// echoRequest returns the members of the response that repeat the request.
func (r *reader) echoRequest(q *responseRequest, conversation, instructions string) (dst []byte) {
	text := func(name, value string) {
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		if value == "" {
			dst = append(dst, "null"...)
			return
		}
		dst = jsonline.String(dst, value)
	}
	text("model", q.model)
	text("instructions", instructions)
	text("previous_response_id", q.previous)
	dst = append(dst, `,"max_output_tokens":`...)
	if n, ok := dialect.WholeNumber(r.members["max_output_tokens"]); ok {
		dst = strconv.AppendInt(dst, int64(n), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = jsonline.Object(append(dst, `,"metadata":`...), r.readMetadata())
	dst = append(dst, `,"parallel_tool_calls":true,"temperature":null,"top_p":null,"truncation":"disabled","reasoning":{"effort":null,"summary":null},"text":{"format":`...)
	if v := r.readObject("/text", r.members["text"])["format"]; v.Kind() == '{' {
		dst = jsonline.Object(dst, v)
	} else {
		dst = append(dst, `{"type":"text"}`...)
	}
	dst = append(dst, `},"tool_choice":`...)
	switch v := r.members["tool_choice"]; v.Kind() {
	case '{':
		dst = jsonline.Object(dst, v)
	case '"':
		dst = append(dst, v...)
	default:
		dst = append(dst, `"auto"`...)
	}
	dst = append(r.echoTools(append(dst, `,"tools":[`...)), ']')
	dst = strconv.AppendBool(append(dst, `,"background":`...), q.background)
	if conversation != "" {
		dst = append(jsonline.Name(append(dst, `,"conversation":{"id":`...), conversation), '}')
	}
	return dst
}

// echoTools appends the client's tools that are served, with all members that the protocol requires.
func (r *reader) echoTools(dst []byte) []byte {
	tools := r.members["tools"]
	if tools.Kind() != '[' {
		return dst
	}
	before := len(dst)
	for _, v := range dialect.List(tools) {
		if v.Kind() != '{' {
			continue
		}
		members := dialect.Object(v)
		if kind := members["type"]; kind.Kind() != '"' || dialect.Text(kind) != "function" {
			continue
		}
		if len(dst) > before {
			dst = append(dst, ',')
		}
		dst = jsonline.Object(dst, v)
		for _, required := range [...][2]string{{"parameters", "null"}, {"strict", "true"}} {
			if members[required[0]] == nil {
				dst = append(append(append(append(append(dst[:len(dst)-1], `,"`...), required[0]...), `":`...), required[1]...), '}')
			}
		}
	}
	return dst
}

// readMetadata reads the metadata. The response repeats its texts.
func (r *reader) readMetadata() jsontext.Value {
	v := r.members["metadata"]
	if v.Kind() != '{' {
		return jsontext.Value("{}")
	}
	members := dialect.Object(v)
	if len(members) > maxMetadata {
		r.addFault("/metadata", chat.CodeTooLong, "must have at most 16 pairs")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if value := members[name]; value.Kind() != '"' && name != "conversation_id" {
			r.addFault("/metadata/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), chat.CodeWrongType, "must be a string")
		}
	}
	return v
}
