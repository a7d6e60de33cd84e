// Package replay serves recorded answers of providers, and returns our model's reading of an answer
// in a form that can be compared with other readers. It is for tests.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// The protocols, by the names that recordings give them.
const (
	Chat      = "chat/completions"
	Responses = "responses"
	Messages  = "messages"
)

// Recording is one answer as it went over the wire.
type Recording struct {
	Name   string // of its files, without the extension
	API    string // Chat, Responses or Messages
	Status int
	Stream bool // false: the body is a single document
	Body   []byte
	End    string // stop, max_tokens or "error" and a type, as others read it
}

// Read reads all recordings of a folder, ordered by name.
func Read(dir string) ([]Recording, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []Recording
	for _, file := range files {
		rec, err := readRecording(strings.TrimSuffix(file, ".json"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, rec)
	}
	return list, nil
}

// readRecording reads a recording from the files that begin with base.
func readRecording(base string) (Recording, error) {
	var about struct {
		API    string
		Status int
		Expect struct{ End string }
	}
	data, err := os.ReadFile(base + ".json")
	if err == nil {
		err = json.Unmarshal(data, &about)
	}
	if err != nil {
		return Recording{}, err
	}
	rec := Recording{Name: filepath.Base(base), API: about.API, Status: about.Status, End: about.Expect.End}
	return rec, rec.readBody(base)
}

// readBody reads the reply: one document, or a stream in one of two forms.
func (r *Recording) readBody(base string) (err error) {
	if r.Body, err = os.ReadFile(base + ".body"); err == nil {
		return nil
	}
	r.Stream = true
	if r.Body, err = os.ReadFile(base + ".sse"); err == nil {
		return nil
	}
	chunks, err := os.ReadFile(base + ".chunks.jsonl")
	r.Body = frameChunks(r.API, chunks)
	return err
}

// frameChunks adds the parts that a file of chunks, one a line, lacks: the fields of events and the
// end of a stream.
func frameChunks(api string, chunks []byte) (b []byte) {
	for line := range bytes.Lines(chunks) {
		line = bytes.TrimSpace(line)
		var chunk struct{ Type string }
		if json.Unmarshal(line, &chunk) == nil && chunk.Type != "" {
			b = fmt.Appendf(b, "event: %s\n", chunk.Type)
		}
		b = fmt.Appendf(b, "data: %s\n\n", line)
	}
	if api == Chat {
		b = append(b, "data: [DONE]\n\n"...)
	}
	return b
}

// Header returns the header that the answer comes with.
func (r *Recording) Header() http.Header {
	if r.Stream {
		return http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	}
	return http.Header{"Content-Type": {"application/json"}}
}

// Handler answers POST /NAME/… with the recording of that name, an event at a time.
func Handler(list []Recording) http.Handler {
	mux := http.NewServeMux()
	for _, rec := range list {
		mux.HandleFunc("POST /"+rec.Name+"/", rec.sendBody)
	}
	return mux
}

// sendBody sends the recorded reply, event by event.
func (r *Recording) sendBody(w http.ResponseWriter, _ *http.Request) {
	for name, values := range r.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(r.Status)
	flush := http.NewResponseController(w).Flush
	for _, event := range bytes.SplitAfter(r.Body, []byte("\n\n")) {
		if _, err := w.Write(event); err != nil || flush() != nil {
			return // the reader has left
		}
	}
}

// Endpoint returns the URL that requests go to, on a server of Handler's.
func (r *Recording) Endpoint(server string) string { return r.Base(server) + "/" + r.API }

// Base returns what libraries add the protocol's path to.
func (r *Recording) Base(server string) string { return server + "/" + r.Name + "/v1" }
