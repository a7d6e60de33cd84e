package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"sluice/chat"
	"sluice/dialect"
	"sluice/fault"
)

// What the transports answer by themselves they also word. The rest is worded here, in
// the same form.

// codes are the error codes of JSON-RPC, and the words of google.rpc.Code beside HTTP's.
var codes = []struct {
	kind   error
	code   int
	status int
	word   string
}{
	{sdk.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrMethodNotFound, -32601, http.StatusNotImplemented, "UNIMPLEMENTED"},
	{sdk.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{sdk.ErrServerError, -32000, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{sdk.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
	{sdk.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrUnsupportedContentType, -32005, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT"},
	{sdk.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{sdk.ErrInternalError, -32603, http.StatusInternalServerError, "INTERNAL"}, // and all others
}

// fail returns the reply that words err. status is that of the HTTP reply; 0: as the
// binding has it, which for JSON-RPC is 200.
func (e envelope) fail(err error, status int) dialect.Reply {
	known := slices.IndexFunc(codes, func(c struct {
		kind   error
		code   int
		status int
		word   string
	}) bool {
		return errors.Is(err, c.kind)
	})
	if known < 0 {
		known = len(codes) - 1
	}
	c := codes[known]
	details := []*errordetails.Typed{errordetails.NewErrorInfo(sdk.ErrorReason(c.kind), sdk.ProtocolDomain, nil)}
	if !e.wire.rpc() {
		if status == 0 {
			status = c.status
		}
		body, _ := json.Marshal(map[string]any{"error": map[string]any{ // plain values: cannot fail
			"code": status, "status": c.word, "message": err.Error(), "details": details,
		}})
		return dialect.Reply{Status: status, Body: body}
	}
	body, _ := json.Marshal(map[string]any{"code": c.code, "message": err.Error(), "data": details})
	body = append(append(append(e.head(nil), `,"error":`...), body...), '}')
	return dialect.Reply{Status: status, Body: body}
}

// refuse implements dialect.Route.Refuse and dialect.Exchange.Refuse.
func (e envelope) refuse(r dialect.Refusal) dialect.Reply {
	kind, status := sdk.ErrInternalError, r.Status
	switch r.Fault.Type {
	case fault.Validation, fault.DuplicateRequest, fault.KeyReused:
		kind, status = sdk.ErrInvalidParams, 0
		if noTask(r.Fields) { // it took its input from somebody else in this moment
			kind = sdk.ErrUnsupportedOperation
		}
	case fault.PayloadTooLarge, fault.MethodNotAllowed, fault.NotFound, fault.RequestTimeout, fault.OriginRefused:
		kind = sdk.ErrInvalidRequest
	case fault.UnsupportedMediaType:
		kind = sdk.ErrUnsupportedContentType
	case fault.Overloaded, fault.ShuttingDown, fault.StoreUnavailable:
		kind = sdk.ErrServerError
	}
	return e.fail(sdk.NewError(kind, r.Fault.Message), status)
}

func noTask(fields []chat.FieldError) bool {
	return slices.ContainsFunc(fields, func(f chat.FieldError) bool { return f.Field == "/task_id" })
}
