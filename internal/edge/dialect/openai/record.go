package openai

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// responsePrefix begins the ids of responses. For a stored turn, the turn's id without its prefix
// follows.
const responsePrefix = "resp_"

// maxRecord bounds a stored response, in bytes. A longer response is not stored.
const maxRecord = 1 << 20

// Turns are the turns that a store keeps, and the responses that were made of them.
type Turns interface {
	// Response returns a turn's stored response and its version; data is nil without one.
	Response(ctx context.Context, turn string) (data []byte, version int64, err error)
	// KeepResponse keeps data for a day in the place of a version, 0 for none, of a task's
	// turn. It does nothing if another version is there, or none any more.
	KeepResponse(ctx context.Context, task, turn string, data []byte, version int64)
	// DropResponse removes it.
	DropResponse(ctx context.Context, turn string) error
	// ResponseLog opens the log of a turn; nil: it is gone.
	ResponseLog(ctx context.Context, turn string) (Log, error)
	// CancelResponse ends a task.
	CancelResponse(ctx context.Context, who chat.Principal, user, task string) error
}

// Log is the log of one turn.
type Log interface {
	Stored() dialect.StoredTurn
	// Past calls use with the events that there are, and reports whether the turn has ended with
	// them.
	Past(ctx context.Context, use func(stream.Event)) (bool, error)
	// Follow calls use with the events from the first to Done, as they come, and flush behind
	// those that came together. It ends with ctx, or with the first error of flush.
	Follow(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error
}

// record is the stored form of a response.
type record struct {
	// Tenant and Owner are whose it is.
	Tenant       string `json:"tenant,omitempty"`
	Owner        string `json:"owner,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Task         string `json:"task"`
	Turn         string `json:"turn"`
	// Echo has the members of the response that repeat the request.
	Echo jsontext.Value `json:"echo"`
	// Answered is as in responseFacts.
	Answered map[string]string `json:"answered,omitempty"`
	// Input is the turn's history and input, as items.
	Input jsontext.Value `json:"input"`
	// Response is the response as it has ended; nil: it has not, as far as is known.
	Response jsontext.Value `json:"response,omitempty"`
	// Called is the model's message whose calls the client must run; nil without such calls.
	Called *calledMessage `json:"called,omitempty"`

	version int64
}

// calledMessage is a message as it is kept: to the byte, as its model wants it back.
type calledMessage struct {
	Maker string       `json:"maker,omitempty"`
	Parts []calledPart `json:"parts"`
}

// calledPart is a part of it. Call is the id of the call, empty for other parts.
type calledPart struct {
	Text      string `json:"text,omitempty"`
	Thought   bool   `json:"thought,omitempty"`
	Signature string `json:"signature,omitempty"`
	Opaque    string `json:"kept,omitempty"`
	Call      string `json:"call,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// calledOf returns the stored form of a message.
func calledOf(m chat.Message) *calledMessage {
	c := &calledMessage{Maker: m.Maker}
	for _, p := range m.Parts {
		kept := calledPart{Text: p.Text, Thought: p.Thought, Signature: p.Signature, Opaque: p.Kept}
		if p.Call != nil {
			kept.Call, kept.Name, kept.Arguments = p.Call.ID, p.Call.Name, string(p.Call.Arguments)
		}
		c.Parts = append(c.Parts, kept)
	}
	return c
}

// toMessage returns the message.
func (c *calledMessage) toMessage() chat.Message {
	m := chat.Message{Role: chat.RoleModel, Maker: c.Maker}
	for _, kept := range c.Parts {
		p := chat.Part{Text: kept.Text, Thought: kept.Thought, Signature: kept.Signature, Kept: kept.Opaque}
		if kept.Call != "" {
			p.Call = &tool.Call{ID: kept.Call, Name: kept.Name, Arguments: jsontext.Value(kept.Arguments)}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// newRecord returns the record of a response at the begin of its turn.
func newRecord(ctx context.Context, req *chat.Request, f responseFacts) *record {
	return &record{
		Tenant: chat.TurnOf(ctx).Principal.Tenant, Owner: (&chat.Request{Principal: chat.TurnOf(ctx).Principal, UserID: req.UserID}).Owner(), Conversation: req.ConversationID,
		Echo: append(append([]byte{'{'}, f.echo[1:]...), '}'), Answered: f.answered, Input: itemsOf(req),
	}
}

// itemsOf returns a turn's history and input as items.
func itemsOf(req *chat.Request) jsontext.Value {
	w := itemWriter{dst: []byte{'['}}
	w.addMessages(req.History)
	if req.Input != "" {
		w.addMessage("user", req.Input)
	}
	if req.App != nil {
		w.addMessages(req.App.Continues)
	}
	return append(w.dst, ']')
}

// itemWriter writes messages as items.
type itemWriter struct{ dst []byte }

// beginItem begins an item.
func (w *itemWriter) beginItem(head string) {
	if len(w.dst) > 1 {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(w.dst, head...)
}

func (w *itemWriter) addMessage(role, said string) {
	w.beginItem(`{"role":"` + role + `","content":`)
	w.dst = append(jsonline.String(w.dst, said), '}')
}

// addMessages appends messages. Results stand behind the calls that they are for, in their order.
func (w *itemWriter) addMessages(all []chat.Message) {
	for i := range all {
		m := &all[i]
		said := m.Text()
		switch {
		case said == "":
		case m.Role == chat.RoleModel:
			w.addMessage("assistant", said)
		default:
			w.addMessage("user", said)
		}
		var results []chat.Part
		if i+1 < len(all) && !all[i+1].Spoken() {
			results = all[i+1].Parts
		}
		w.addCalls(m.Parts, results)
	}
}

// addCalls appends the calls of a message. A call with a model's id is the client's, which may
// still have it; others are the gateway's.
func (w *itemWriter) addCalls(parts, results []chat.Part) {
	var outputs itemWriter
	n := 0
	for i := range parts {
		c := parts[i].Call
		if c == nil || n >= len(results) || results[n].Result == nil {
			continue
		}
		result := results[n].Result
		n++
		if c.ID == "" {
			w.beginItem(`{"type":"mcp_call","name":`)
			w.dst = jsonline.String(w.dst, c.Name)
			w.dst = jsonline.String(append(w.dst, `,"arguments":`...), string(c.Arguments))
			w.dst = jsonline.String(append(w.dst, `,"output":`...), result.Text)
			w.dst = append(w.dst, '}')
			continue
		}
		w.beginItem(`{"type":"function_call","call_id":`)
		w.dst = jsonline.String(w.dst, c.ID)
		w.dst = jsonline.String(append(w.dst, `,"name":`...), c.Name)
		w.dst = append(jsonline.String(append(w.dst, `,"arguments":`...), string(c.Arguments)), '}')
		outputs.dst = append(outputs.dst, `,{"type":"function_call_output","call_id":`...)
		outputs.dst = jsonline.String(outputs.dst, c.ID)
		outputs.dst = append(jsonline.String(append(outputs.dst, `,"output":`...), result.Text), '}')
	}
	w.dst = append(w.dst, outputs.dst...)
}

// outputItems returns the items of the response, or an empty array before its end.
func (k *record) outputItems() jsontext.Value {
	if k.Response.Kind() == '{' {
		if output := dialect.Object(k.Response)["output"]; output.Kind() == '[' {
			return output
		}
	}
	return jsontext.Value("[]")
}

// responseID returns the id of the response.
func (k *record) responseID() string {
	return responsePrefix + strings.TrimPrefix(k.Turn, chat.TurnPrefix)
}

// encoderFacts returns the facts for an encoder of the log.
func (k *record) encoderFacts() responseFacts {
	echo := append([]byte{','}, k.Echo[1:len(k.Echo)-1]...)
	return responseFacts{echo: echo, store: true, answered: k.Answered}
}

// encodeRecord returns the record as it is kept; nil: it is too long.
func (k *record) encodeRecord() []byte {
	data, err := json.Marshal(k)
	if err != nil || len(data) > maxRecord {
		return nil
	}
	return data
}

// storeDuringTurn sets hooks on x that store the record: at the turn's begin, before the client's
// calls, and at the end.
func (s *Server) storeDuringTurn(ctx context.Context, x *dialect.Exchange, k *record) {
	x.Begun = func(context.CancelCauseFunc) {
		if x.Request.Turn == "" { // the store is unavailable
			return
		}
		k.Task, k.Turn, k.Conversation = x.Request.Task, x.Request.Turn, x.Request.ConversationID
		s.storeOngoing(ctx, k)
	}
	if app := x.Request.App; app != nil {
		app.Called = func(m chat.Message) {
			k.Called = calledOf(m)
			s.storeOngoing(ctx, k)
		}
	}
	x.Close = func() {
		if k.version == 0 {
			return
		}
		// The client has seen the end, or the log has it. The next read of the response tries
		// again.
		if e, ok := x.Encoder.(*responder); ok {
			k.Response = e.finalResponse()
		}
		if k.Response != nil {
			_ = s.storeFinal(ctx, k)
			return
		}
		_, _ = s.completeRecord(ctx, k)
	}
}

// storeFinal stores a complete record. If the record is too long, it removes the stored one.
func (s *Server) storeFinal(ctx context.Context, k *record) error {
	if data := k.encodeRecord(); data != nil {
		s.cfg.Turns.KeepResponse(ctx, k.Task, k.Turn, data, k.version)
		return nil
	}
	return s.cfg.Turns.DropResponse(ctx, k.Turn)
}

// storeOngoing stores the record of a running turn in place of its previous version.
func (s *Server) storeOngoing(ctx context.Context, k *record) {
	if k.Turn == "" || k.Called != nil && k.version == 0 {
		return
	}
	if data := k.encodeRecord(); data != nil {
		s.cfg.Turns.KeepResponse(ctx, k.Task, k.Turn, data, k.version)
		k.version++
	}
}

// turnOf returns the turn in the id of a response or of an item, or an empty text.
func turnOf(id string) string {
	_, rest, _ := strings.Cut(id, "_")
	rest, _, _ = strings.Cut(rest, "_")
	if turn := chat.TurnPrefix + rest; chat.IsTurnID(turn) {
		return turn
	}
	return ""
}

// findRecord returns the record of a user's response, completed if its turn has ended, or nil. To a
// sender who names no user the id is the key, among the responses of that sender.
func (s *Server) findRecord(ctx context.Context, turn, user string) (*record, error) {
	if s.cfg.Turns == nil || turn == "" {
		return nil, nil
	}
	data, version, err := s.cfg.Turns.Response(ctx, turn)
	if err != nil || data == nil {
		return nil, err
	}
	tenant, owner := ownerOf(data)
	if !mayFind(chat.TurnOf(ctx).Principal, tenant, owner, user) {
		return nil, nil
	}
	k := &record{version: version}
	if json.Unmarshal(data, k) != nil || k.Turn != turn || k.Tenant != tenant || k.Owner != owner || !k.hasRawMembers() {
		return nil, nil
	}
	return s.completeRecord(ctx, k)
}

// mayFind reports whether a sender may find a response by its owner, for a user.
func mayFind(who chat.Principal, tenant, owner, user string) bool {
	if tenant != who.Tenant || !who.Finds(owner, user) {
		return false
	}
	return who.ID != "" || user == "" || user == owner
}

// hasRawMembers reports whether a record has the members that are sent as they are.
func (k *record) hasRawMembers() bool { return k.Echo.Kind() == '{' && k.Input.Kind() == '[' }

// ownerOf returns whose a record is. They are its first members, so that a foreign record is
// refused without a look at the others: the time of that look would reveal that the record exists.
func ownerOf(data []byte) (tenant, owner string) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	if _, err := d.ReadToken(); err != nil {
		return "", ""
	}
	for range 2 {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			break
		}
		to := &tenant
		switch name.String() {
		case "tenant":
		case "owner":
			to = &owner
		default:
			return tenant, owner
		}
		value, err := d.ReadToken()
		if err != nil || value.Kind() != '"' {
			return "", ""
		}
		*to = value.String()
	}
	return tenant, owner
}

// completeRecord adds the response of a turn that has ended, from its log. It returns nil if the
// record has no response and its log is gone.
func (s *Server) completeRecord(ctx context.Context, k *record) (*record, error) {
	if k.Response != nil {
		return k, nil
	}
	e, ended, err := s.responseSoFar(ctx, k)
	if err != nil || e == nil {
		return nil, err
	}
	if !ended {
		return k, nil
	}
	k.Response = e
	return k, s.storeFinal(ctx, k)
}

// responseSoFar returns the response as far as the log has it, and whether it has ended. It returns
// nil without a log.
func (s *Server) responseSoFar(ctx context.Context, k *record) (response jsontext.Value, ended bool, err error) {
	log, err := s.cfg.Turns.ResponseLog(ctx, k.Turn)
	if err != nil || log == nil {
		return nil, false, err
	}
	at := log.Stored()
	e := newResponder(at.RequestID, at.Began, k.encoderFacts(), asDocument)
	ended, err = log.Past(ctx, func(ev stream.Event) { response = e.Encode(response, stream.Stamp{}, ev) })
	if err == nil && !ended {
		response = e.appendResponse(nil, "in_progress", nil)
	}
	return response, ended, err
}

// previousResponse returns the response that a request continues; nil: the fault is reported.
func (s *Server) previousResponse(ctx context.Context, r *reader, at, id, user string) (*record, error) {
	var k *record
	var err error
	if strings.HasPrefix(id, responsePrefix) && len(id) == len(responsePrefix)+len(strings.TrimPrefix(turnOf(id), chat.TurnPrefix)) {
		k, err = s.findRecord(ctx, turnOf(id), user)
	}
	if err != nil {
		return nil, err
	}
	if k == nil || k.Response == nil {
		r.addFault(at, codeNoResponse, "names no response that is stored here, or one that has not ended")
		return nil, nil
	}
	return k, nil
}

// codeNoResponse is the code of a response that is not there.
const codeNoResponse = "previous_response_not_found"

// itemOf returns an item of a stored response, or nil after it has reported a fault. seen caches
// the responses that were read.
func (s *Server) itemOf(ctx context.Context, r *reader, seen map[string]*record, at, id, user string) (jsontext.Value, error) {
	if s.cfg.Turns == nil {
		r.addFault(at+"/id", chat.CodeUnsupported, "names an item, and this gateway stores none: send the items themselves, as clients do that send store: false")
		return nil, nil
	}
	k, known := seen[turnOf(id)]
	if !known {
		var err error
		if k, err = s.findRecord(ctx, turnOf(id), user); err != nil {
			return nil, err
		}
		seen[turnOf(id)] = k
	}
	if k != nil {
		for _, item := range dialect.List(k.outputItems()) {
			if item.Kind() == '{' && r.readText(at, dialect.Object(item)["id"], false) == id {
				return item, nil
			}
		}
	}
	r.addFault(at+"/id", codeNoResponse, "names no item of a response that is stored here")
	return nil, nil
}
