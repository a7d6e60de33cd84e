package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of a request.
const (
	maxBody   = 4 << 20
	tolerance = 5 * time.Minute // between the clocks, and since the request was signed
)

// message is the body of a request.
type message struct {
	Type      string
	Timestamp time.Time
	Data      content
}

// content is a formatted response, with whom it is for.
type content struct {
	RequestID      string `json:"request_id"`
	UserID         string `json:"user_id"`
	ConversationID string `json:"conversation_id"`
	Channel        string
	Content        string
	Subject        string // of an e-mail
	Text           string
	HTML           string
	Parts          []struct {
		Sequence int
		Content  string
	}
}

// receiver takes the requests of a gateway.
type receiver struct {
	key  []byte
	seen *memory
	mail *mailer // nil: e-mails are printed like the rest

	mu  sync.Mutex // guards out
	out io.Writer
}

// ServeHTTP answers as the gateway reads it: 2xx is done, most of 4xx means never, all
// else means try again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	// Before anything else: until then these are bytes of a stranger.
	if err := verifySignature(r.key, req.Header, body, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var m message
	if json.Unmarshal(body, &m) != nil || m.Type != "channel.message" {
		http.Error(w, "no such message is known here", http.StatusBadRequest)
		return
	}
	id := req.Header.Get("webhook-id")
	switch r.seen.begin(id) {
	case finished:
		w.WriteHeader(http.StatusNoContent) // it came before
		return
	case running:
		http.Error(w, "this message is being sent", http.StatusServiceUnavailable)
		return
	}
	err = r.deliver(req.Context(), id, &m.Data)
	r.seen.end(id, err == nil || errors.Is(err, errNever))
	switch {
	case errors.Is(err, errNever):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		log.Printf("%s: %v", id, err)
		http.Error(w, "not sent", http.StatusBadGateway)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// errNever says that another try would end alike.
var errNever = errors.New("the message cannot be sent")

// deliver delivers a message: by SMTP here, else to stdout. A provider's API would be called here,
// with id as its idempotency key if it has one.
func (r *receiver) deliver(ctx context.Context, id string, c *content) error {
	if c.HTML != "" && r.mail != nil {
		return r.mail.sendMail(ctx, id, c)
	}
	texts := []string{c.Content}
	if len(c.Parts) > 0 {
		texts = nil
		for _, p := range c.Parts {
			texts = append(texts, p.Content)
		}
	}
	line, err := json.Marshal(map[string]any{"id": id, "channel": c.Channel, "to": c.UserID, "messages": texts})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// keyOf returns the key of a secret of Standard Webhooks.
func keyOf(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 {
		return nil, errors.New("must be whsec_ and 24 bytes or more in base64")
	}
	return key, nil
}

// verifySignature checks a request as Standard Webhooks 1.0.0 says: one of the signatures must be
// right, and the time near, so that nobody can send it once more later.
func verifySignature(key []byte, h http.Header, body []byte, now time.Time) error {
	id, at := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if id == "" || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errors.New("the time is missing, or too far from ours")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(bytes.Join([][]byte{[]byte(id), []byte(at), body}, []byte(".")))
	want := mac.Sum(nil)
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) {
		version, text, _ := strings.Cut(signature, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errors.New("the signature is wrong")
}

// state of a message.
type state int

const (
	unknown state = iota
	running
	finished
)

// memory knows the last messages. A real receiver keeps them where they outlive it.
type memory struct {
	mu    sync.Mutex // guards the fields below
	of    map[string]state
	order []string // of those finished
	most  int
}

func newMemory(most int) *memory { return &memory{of: map[string]state{}, most: most} }

// begin returns the state of a message. A message without a state is running from now on.
func (m *memory) begin(id string) state {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.of[id]
	if was == unknown {
		m.of[id] = running
	}
	return was
}

// end records that a message is done, or may come again.
func (m *memory) end(id string, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !done {
		delete(m.of, id)
		return
	}
	m.of[id] = finished
	m.order = append(m.order, id)
	if len(m.order) > m.most {
		delete(m.of, m.order[0])
		m.order = m.order[1:]
	}
}
