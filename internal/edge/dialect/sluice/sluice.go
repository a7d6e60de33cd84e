// Package sluice speaks the gateway's own protocol: a request of one turn, reported as
// Server-Sent Events with names and ids (docs/events.md).
//
// A frame, byte for byte:
//
//	retry: 86400000                              first frame only
//	id: req_0123456789ab:1
//	event: start
//	data: {"request_id":"req_0123456789ab",...}  one JSON object on one line
//	                                             an empty line ends the frame
package sluice

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Path is where turns are asked for, with POST and with GET.
const Path = "/chat/stream"

// decisionPath is where the questions of tasks are answered.
const decisionPath = "/tasks/{id}/decision"

// maxBody bounds the body of a request with a history. Without one it may have
// dialect.MaxBody.
const maxBody = 1 << 20

// Dialect is the protocol. Its zero value lets a GET call every tool.
type Dialect struct {
	// GetTools are the tools that a turn of a GET may call.
	GetTools chat.ToolAccess
	// Stored says that turns are kept, and can be resumed.
	Stored bool
	// OnDisconnect is what becomes of such a turn whose client leaves, unless its request
	// says it. Empty: chat.OnDisconnectContinue.
	OnDisconnect string
	// History says what becomes of the history that a POST brings.
	History chat.HistoryRules
}

// Routes implements dialect.Dialect.
func (d Dialect) Routes() []dialect.Route {
	routes := []dialect.Route{
		{Methods: []string{http.MethodPost}, Path: Path, MaxBody: maxBody, Open: d.openPost, Resume: resumeEncoder, User: dialect.NamedUser, Retracts: true},
		{Methods: []string{http.MethodGet}, Path: Path, NoBody: true, Reconnects: true, Open: d.openGet, Resume: resumeEncoder, Retracts: true},
	}
	if d.Stored {
		routes = append(routes, dialect.Route{Methods: []string{http.MethodPost}, Path: decisionPath, Open: d.openDecision, Resume: resumeEncoder, User: dialect.NamedUser, Retracts: true,
			Scopes: chat.ScopeChat | chat.ScopeReadOnly | chat.ScopeApprove})
	}
	return routes
}

// openPost reads the request of a POST from its body.
func (d *Dialect) openPost(r *http.Request, body []byte) (*dialect.Exchange, error) {
	asked, err := d.History.DecodeRequest(body)
	if len(body) > dialect.MaxBody && !asked.NamesHistory {
		return nil, &fault.Error{Type: fault.PayloadTooLarge,
			Message: "The request's body may have at most 128 KiB, or 1 MiB with a history"}
	}
	key, err := dialect.HeaderKey(r, err)
	return d.newExchange(r, asked, key, err)
}

// openGet reads the request of a GET from its query, as an EventSource sends it.
func (d *Dialect) openGet(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	asked, err := chat.QueryRequest(r.URL.RawQuery)
	asked.Tools = d.GetTools
	d.History.Bring(&asked.Request, nil, false)
	query, _ := url.ParseQuery(r.URL.RawQuery)
	key, err := dialect.Key(query["idempotency_key"], err)
	return d.newExchange(r, asked, key, err)
}

// newExchange makes a turn of a parsed request, or returns its fault. Fields that only a kept turn
// has are refused where none is kept.
func (d *Dialect) newExchange(r *http.Request, asked *chat.ParsedRequest, key string, err error) (*dialect.Exchange, error) {
	if err == nil && !d.Stored {
		err = notStored(asked)
	}
	if err != nil {
		return nil, err
	}
	mode := dialect.Detached
	if cmp.Or(asked.OnDisconnect, d.OnDisconnect) == chat.OnDisconnectCancel {
		mode = dialect.Attached
	}
	return &dialect.Exchange{
		Request:     asked.Request,
		Repetition:  dialect.Repetition{Key: key},
		Encoder:     NewEncoder(chat.RequestID(r.Context()), asked.Accumulated, 0),
		TaskID:      asked.TaskID,
		Answering:   dialect.Answering{Approval: asked.Approval},
		Accumulated: asked.Accumulated,
		BeatEvents:  asked.BeatEvents,
		Mode:        mode,
	}, nil
}

// openDecision reads an answer to the question of a task. The client may ask for a document in
// place of the stream.
func (d *Dialect) openDecision(r *http.Request, body []byte) (*dialect.Exchange, error) {
	answer, err := chat.ReadAnswer(body)
	key, err := dialect.HeaderKey(r, err)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if !chat.IsTaskID(id) {
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such task; it may have expired"}
	}
	mode := dialect.Detached
	if wantsDocument(r) {
		mode = dialect.Unattended
	}
	return &dialect.Exchange{
		Request:     chat.Request{UserID: answer.UserID},
		Repetition:  dialect.Repetition{Key: key},
		Encoder:     NewEncoder(chat.RequestID(r.Context()), true, 0),
		Answering:   dialect.Answering{Approval: &answer, Decides: id},
		Accumulated: true, Mode: mode,
	}, nil
}

// wantsDocument reports whether a client accepts JSON, but not a stream.
func wantsDocument(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// resumeEncoder returns the encoder of a turn that is kept.
func resumeEncoder(k dialect.StoredTurn) stream.Encoder {
	return newStoredEncoder(k.TurnID, k.RequestID, k.Accumulated)
}

// notStored refuses what only turns that are kept can do.
func notStored(asked *chat.ParsedRequest) error {
	continues := asked.OnDisconnect == chat.OnDisconnectContinue
	if asked.TaskID == "" && !continues {
		return nil
	}
	e := new(chat.ValidationError)
	if asked.TaskID != "" {
		e.Add("/task_id", needsStore())
	}
	if continues {
		e.Add("/on_disconnect", needsStore())
	}
	return e
}

// needsStore is the fault of a field that has an effect only with a store.
func needsStore() *chat.FieldError {
	return &chat.FieldError{Code: chat.CodeNotConfigured, Message: "needs a store, and this gateway has none (SLUICE_STORE)"}
}
