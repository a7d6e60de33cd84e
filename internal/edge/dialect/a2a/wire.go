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

// rpc says whether requests are JSON-RPC; else they are plain HTTP.
func (w wire) rpc() bool { return w == rpc10 || w == rpc03 }

// v03 says whether it is the older version, whose names and states differ.
func (w wire) v03() bool { return w == rpc03 || w == rest03 }

// event returns the JSON of an event of a stream.
func (w wire) event(ev sdk.Event) ([]byte, error) {
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

// sent returns the JSON of what is answered to a message.
func (w wire) sent(task *sdk.Task) ([]byte, error) {
	if w == rest03 {
		return pbjson.ToProtoSendMessageResult(task)
	}
	return w.event(task)
}

// envelope is what stands around a result.
type envelope struct {
	wire wire
	id   jsontext.Value // of a JSON-RPC request; nil: not known
}

// open begins a result.
func (e envelope) open(dst []byte) []byte {
	if !e.wire.rpc() {
		return dst
	}
	return append(e.head(dst), `,"result":`...)
}

// head begins a reply of JSON-RPC.
func (e envelope) head(dst []byte) []byte {
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

// close ends a result.
func (e envelope) close(dst []byte) []byte {
	if !e.wire.rpc() {
		return dst
	}
	return append(dst, '}')
}

// frame appends a frame with a result, which is a JSON object.
func (e envelope) frame(dst, result []byte) []byte {
	dst = jsonline.Object(e.open(append(dst, "data: "...)), result)
	return append(e.close(dst), "\n\n"...)
}

// document appends a reply with a result, which is a JSON object.
func (e envelope) document(dst, result []byte) []byte {
	return e.close(jsonline.Object(e.open(dst), result))
}
