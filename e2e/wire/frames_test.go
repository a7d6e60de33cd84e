package wire

import (
	"bytes"
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames writes HTTP/2 frame by frame.
type frames struct {
	*http2.Framer
	head bytes.Buffer
	hp   *hpack.Encoder
}

func newFrames(w io.Writer) *frames {
	f := &frames{Framer: http2.NewFramer(w, nil)}
	f.AllowIllegalWrites = true
	f.hp = hpack.NewEncoder(&f.head)
	return f
}

// block returns the encoded head of a request.
func (f *frames) block(method, path string, more ...hpack.HeaderField) []byte {
	f.head.Reset()
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: path},
	}, more...) {
		_ = f.hp.WriteField(h)
	}
	return f.head.Bytes()
}

// get asks for a path.
func (f *frames) get(stream uint32, path string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.block("GET", path), EndHeaders: true, EndStream: true})
}

// post begins a request whose body follows.
func (f *frames) post(stream uint32, path string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true,
		BlockFragment: f.block("POST", path, hpack.HeaderField{Name: "content-type", Value: "application/json"})})
}

// discard reads what comes until the connection ends, and returns how much that was.
func discard(r io.Reader) int64 {
	n, _ := io.Copy(io.Discard, r)
	return n
}
