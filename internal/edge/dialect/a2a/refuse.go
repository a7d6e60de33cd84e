package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// The transports word their own answers. The rest is worded here, in the same form.

// code has the names of an error: in JSON-RPC, over HTTP with a word of google.rpc.Code, and in the
// libraries of 0.3.
type code struct {
	kind   error
	rpc    int
	status int
	word   string
	name   string
}

// listCodes returns the codes in the order of the search. The last one is for all other errors. It
// is built for each error: only replies that fail pay for it.
func listCodes() []code {
	return []code{
		{sdk.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT", "JSONParseError"},
		{sdk.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT", "InvalidRequestError"},
		{sdk.ErrMethodNotFound, -32601, http.StatusNotImplemented, "UNIMPLEMENTED", "MethodNotFoundError"},
		{sdk.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT", "InvalidParamsError"},
		{sdk.ErrServerError, -32000, http.StatusServiceUnavailable, "UNAVAILABLE", "InternalError"},
		{sdk.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND", "TaskNotFoundError"},
		{sdk.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION", "TaskNotCancelableError"},
		{sdk.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, "FAILED_PRECONDITION", "PushNotificationNotSupportedError"},
		{sdk.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION", "UnsupportedOperationError"},
		{sdk.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT", "ContentTypeNotSupportedError"},
		{sdk.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION", "VersionNotSupportedError"},
		{sdk.ErrInternalError, -32603, http.StatusInternalServerError, "INTERNAL", "InternalError"}, // and all others
	}
}

// codeOf returns the first code that fits, or that of an internal error.
func codeOf(fits func(code) bool) code {
	all := listCodes()
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return all[i]
	}
	return all[len(all)-1]
}

// statusError is the error object of HTTP+JSON.
type statusError struct {
	Code    int                   `json:"code"`
	Status  string                `json:"status"`
	Message string                `json:"message"`
	Details []*errordetails.Typed `json:"details"`
}

// errorReply returns the reply that words err. status is that of the HTTP reply; 0: as the
// binding has it, which for JSON-RPC is 200.
func (e envelope) errorReply(err error, status int) dialect.Reply {
	c := codeOf(func(c code) bool { return errors.Is(err, c.kind) })
	details := []*errordetails.Typed{errordetails.NewErrorInfo(sdk.ErrorReason(c.kind), sdk.ProtocolDomain, nil)}
	if !e.wire.isRPC() {
		status = cmp.Or(status, c.status)
		return dialect.Reply{Status: status, Body: e.wire.errorDocument(c, statusError{status, c.word, err.Error(), details})}
	}
	body, _ := json.Marshal(map[string]any{"code": c.rpc, "message": err.Error(), "data": details}) // plain values: cannot fail
	body = append(append(append(e.appendHead(nil), `,"error":`...), body...), '}')
	return dialect.Reply{Status: status, Body: body}
}

// errorDocument returns the document of an error over HTTP+JSON. The libraries of 0.3 do not
// agree on its form: each finds its own.
func (w wire) errorDocument(c code, failure statusError) []byte {
	document := map[string]any{"error": failure}
	if w.isV03() {
		document["code"], document["type"], document["message"] = c.rpc, c.name, failure.Message
	}
	body, _ := json.Marshal(document) // plain values: cannot fail
	return body
}

// rewordDocument words an error of a transport as errorDocument does.
func (w wire) rewordDocument(body []byte) []byte {
	var failure struct {
		Error *statusError `json:"error"`
	}
	if !w.isV03() || json.Unmarshal(body, &failure) != nil || failure.Error == nil {
		return body
	}
	return w.errorDocument(codeOf(func(c code) bool {
		return slices.ContainsFunc(failure.Error.Details, func(d *errordetails.Typed) bool { return d.Value["reason"] == sdk.ErrorReason(c.kind) })
	}), *failure.Error)
}

// rewordError words an error that a transport has found, since its text names Go types. It returns
// false if body is not an error.
func (e envelope) rewordError(body []byte) (*dialect.Reply, bool) {
	var failure struct {
		Error *struct {
			Data, Details []*errordetails.Typed
		} `json:"error"`
	}
	if json.Unmarshal(body, &failure) != nil || failure.Error == nil {
		return nil, false
	}
	c := codeOf(func(c code) bool {
		return slices.ContainsFunc(append(failure.Error.Data, failure.Error.Details...), func(d *errordetails.Typed) bool {
			return d.Value["reason"] == sdk.ErrorReason(c.kind)
		})
	})
	message := "The request is not one that this endpoint takes: look at the types of its members"
	switch c.kind {
	case sdk.ErrMethodNotFound:
		message = "There is no such method"
	case sdk.ErrInvalidParams:
		message = "The params are not what this method takes: look at the types of their members"
	}
	reply := e.errorReply(sdk.NewError(c.kind, message), 0)
	return &reply, true
}

// refuse implements dialect.Route.Refuse and dialect.Exchange.Refuse.
func (e envelope) refuse(r dialect.Refusal) dialect.Reply {
	kind, status := sdk.ErrInternalError, r.Status
	switch r.Fault.Type {
	case fault.Unauthorized, fault.Forbidden, fault.RateLimited, fault.AuthUnavailable: // before the envelope is read
		return dialect.Problem(r)
	case fault.Validation, fault.DuplicateRequest, fault.KeyReused:
		begins := r.Fault.RetryAfter > 0 // the turn of this message, sent before
		if !begins {
			kind = sdk.ErrInvalidParams
		}
		if !begins || e.wire.isRPC() {
			status = 0
		}
		if noTask(r.Fields) { // it has continued with another message
			return e.errorReply(errNoMessage(), 0)
		}
	case fault.ApprovalInvalid:
		kind, status = sdk.ErrInvalidParams, 0
	case fault.ApprovalUsed, fault.ApprovalConflict, fault.ApprovalExpired: // the task waits for no message
		kind, status = sdk.ErrUnsupportedOperation, 0
	case fault.PayloadTooLarge, fault.MethodNotAllowed, fault.NotFound, fault.RequestTimeout, fault.OriginRefused:
		kind = sdk.ErrInvalidRequest
	case fault.UnsupportedMediaType:
		kind = sdk.ErrUnsupportedContentType
	case fault.Overloaded, fault.ShuttingDown, fault.StoreUnavailable:
		kind = sdk.ErrServerError
	}
	return e.errorReply(sdk.NewError(kind, r.Fault.Message), status)
}

// noTask says whether the only trouble is the task: A2A has an error of its own
// for that.
func noTask(fields []chat.FieldError) bool {
	return slices.ContainsFunc(fields, func(f chat.FieldError) bool { return f.Field == "/task_id" })
}
