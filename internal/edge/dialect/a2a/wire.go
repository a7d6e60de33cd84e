package a2a

import (
	"encoding/json"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect/jsonline"
)

// wire is a binding of the protocol in one of its versions.
type wire int

const (
	rpc10 wire = iota
	rest10
	rpc03
	rest03
)

// isRPC says whether requests are JSON-RPC; else they are plain HTTP.
func (w wire) isRPC() bool { return w == rpc10 || w == rpc03 }

// isV03 says whether it is the older version, whose names and states differ.
func (w wire) isV03() bool { return w == rpc03 || w == rest03 }

// encodeEvent returns the JSON of an event of a stream.
func (w wire) encodeEvent(ev sdk.Event) ([]byte, error) {
	switch w {
	case rpc03:
		old, err := a2av0.FromV1Event(ev)
		if err != nil {
			return nil, err
		}
		return json.Marshal(old)
	case rest03:
		return pbjson.ToProtoStreamEvent(ev)
	}
	return json.Marshal(sdk.StreamResponse{Event: ev})
}

// encodeTask returns the JSON of the answer to a message.
func (w wire) encodeTask(task *sdk.Task) ([]byte, error) {
	if w == rest03 {
		return pbjson.ToProtoSendMessageResult(task)
	}
	return w.encodeEvent(task)
}

// envelope is the frame around a result.
type envelope struct {
	wire wire
	id   jsontext.Value // of a JSON-RPC request; nil: not known
}

// openResult begins a result.
func (e envelope) openResult(dst []byte) []byte {
	if !e.wire.isRPC() {
		return dst
	}
	return append(e.appendHead(dst), `,"result":`...)
}

// appendHead begins a reply of JSON-RPC.
func (e envelope) appendHead(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	switch e.id.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, e.id) // it was checked
		return jsonline.String(dst, string(text))
	case '0':
		return append(dst, e.id...)
	}
	return append(dst, "null"...)
}

// closeResult ends a result.
func (e envelope) closeResult(dst []byte) []byte {
	if !e.wire.isRPC() {
		return dst
	}
	return append(dst, '}')
}

// appendFrame appends a frame with a result, a JSON object.
func (e envelope) appendFrame(dst, result []byte) []byte {
	dst = jsonline.Object(e.openResult(append(dst, "data: "...)), result)
	return append(e.closeResult(dst), "\n\n"...)
}

// appendDocument appends a reply with a result, a JSON object.
func (e envelope) appendDocument(dst, result []byte) []byte {
	return e.closeResult(jsonline.Object(e.openResult(dst), result))
}
