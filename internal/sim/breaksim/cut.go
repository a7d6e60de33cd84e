package breaksim

import (
	"bytes"
	"net/http"
)

// Cut returns a handler that ends a stream at the mark of a Model, as a connection that breaks
// does.
func Cut(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(cutter{w}, r) })
}

type cutter struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (c cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write implements io.Writer.
func (c cutter) Write(p []byte) (int, error) {
	for back := range utf8Max {
		if i := bytes.Index(p, []byte(string(rune(mark+back)))); i >= 0 {
			_, _ = c.ResponseWriter.Write(p[:i-back])
			_ = http.NewResponseController(c.ResponseWriter).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	return c.ResponseWriter.Write(p)
}

// utf8Max is the number of marks: a code point has at most four bytes.
const utf8Max = 4
