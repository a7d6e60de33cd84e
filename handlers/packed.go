package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// acceptedEncodings are the values of Content-Encoding that a body may have.
const acceptedEncodings = "gzip, zstd"

// packedSlack is how many bytes a packed body may have beyond the bound of its content. Text without
// any repetition becomes longer by the headers of its blocks.
const packedSlack = 4 << 10

// mark is the byte order mark of UTF-8.
const mark = "\uFEFF"

// encodingOf returns how a body is packed: gzip, zstd, or "" if it is not.
func encodingOf(r *http.Request) (string, error) {
	switch given := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ","))); given {
	case "", "identity":
		return "", nil
	case "gzip", "x-gzip":
		return "gzip", nil
	case "zstd":
		return "zstd", nil
	}
	return "", &unknownEncoding{&fault.Error{
		Type: fault.UnsupportedMediaType, Message: "Send the body as it is, or packed by one of gzip and zstd, as Content-Encoding says",
	}}
}

// unknownEncoding is the error of a body that is packed in another way. Its reply names the ways.
type unknownEncoding struct{ error }

// Unwrap returns the fault.
func (e *unknownEncoding) Unwrap() error { return e.error }

// SetHeader implements headed.
func (*unknownEncoding) SetHeader(h http.Header) { h.Set("Accept-Encoding", acceptedEncodings) }

// bytesOf returns how many bytes may arrive of a body whose content has at most limit.
func bytesOf(limit int64, encoding string) int64 {
	if encoding == "" {
		return limit
	}
	return limit + packedSlack
}

// unpackBody returns the content of a body. It ends with a fault at the first byte above limit,
// however much would follow.
func (b *buffers) unpackBody(body []byte, encoding string, limit int64) (content []byte, err error) {
	if encoding == "" || len(body) == 0 {
		return body, nil
	}
	if encoding == "gzip" {
		content, err = b.readGzip(body, limit)
	} else {
		content, err = b.readZstd(body, limit)
	}
	b.put(body)
	switch {
	case err == nil && int64(len(content)) > limit:
		b.put(content)
		return nil, tooLarge(limit)
	case err != nil:
		return nil, &chat.ValidationError{Fields: []chat.FieldError{{
			Code: chat.CodeInvalidFormat, Message: "the body is not packed as its Content-Encoding says",
		}}}
	}
	return content, nil
}

// readGzip returns at most limit+1 bytes of a gzip body.
func (b *buffers) readGzip(body []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return b.readAll(io.LimitReader(z, limit+1))
}

// maxWindow is the largest window that a frame of zstd may ask for, as RFC 9659 has it.
const maxWindow = 8 << 20

// decoders has room for one decoder of zstd for each processor, made when it is first used. The
// windows of more would only fill the memory.
var decoders = sync.OnceValue(func() chan *zstd.Decoder {
	all := make(chan *zstd.Decoder, runtime.GOMAXPROCS(0))
	for range cap(all) {
		all <- nil
	}
	return all
})

// readZstd returns at most limit+1 bytes of a zstd body.
func (b *buffers) readZstd(body []byte, limit int64) (content []byte, err error) {
	all := decoders()
	d := <-all
	defer func() { all <- d }()
	if d == nil {
		// With a concurrency of 1 it starts no goroutines, so that nothing has to close it.
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true)); err != nil {
			return nil, err
		}
	}
	if err := d.Reset(bytes.NewReader(body)); err != nil {
		return nil, err
	}
	return b.readAll(io.LimitReader(d, limit+1))
}

// withoutMark returns the body behind its byte order mark, in the same memory.
func withoutMark(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte(mark)) {
		return body
	}
	return body[:copy(body, body[len(mark):])]
}
