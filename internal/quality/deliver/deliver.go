// Package deliver hands messages to a webhook. This is their only way out. It signs them by
// Standard Webhooks 1.0.0 (standardwebhooks.com), and reports the receiver's reply. It stores no
// message: a message that is not delivered within the time of a turn is lost.
//
// It retries only if the receiver cannot have taken the message, or asks for it again. Each message
// has an id, so that the receiver recognizes repetitions. URLs come from the configuration, never
// from a request. Redirects are not followed: the signature is for the place that was named.
package deliver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/metrics"
)

// Statuses of a Receipt.
const (
	Delivered = "delivered" // the receiver said so
	Rejected  = "rejected"  // it said that it will not take the message
	Failed    = "failed"    // it is not known whether the message has arrived
)

// Defaults of a Config.
const (
	DefaultTimeout = 3 * time.Second
	DefaultTries   = 3
)

// Config is a webhook.
type Config struct {
	URL     config.Secret `key:"url"`                           // https, or a loopback host; it may hold a key
	Secret  config.Secret `key:"secret"`                        // whsec_ and 24 to 64 bytes in base64
	Timeout time.Duration `key:"timeout" from:"100ms" to:"30s"` // of one try; 0: DefaultTimeout
	Tries   int           `key:"tries"`                         // 0: DefaultTries

	Channel string // for metrics
	// Transport carries the requests; nil: one of its own.
	Transport http.RoundTripper
	// Proxy is that of http.Transport; nil: none.
	Proxy   func(*http.Request) (*url.URL, error)
	Metrics *metrics.Registry
}

// Receipt says what became of a message.
type Receipt struct {
	Status   string `json:"status"`
	Attempts int    `json:"attempts"`
	MS       int64  `json:"ms"`
	ID       string `json:"id"`
	// Reason is of the last try that was not delivered, for the log. It contains neither the URL
	// nor the receiver's words.
	Reason string `json:"-"`
}

// Message is one message to a receiver.
type Message struct {
	ID   string // the same for each try; see ID and NewID
	Body []byte // see Body
}

// ID is that of the message of a turn that is kept under an id.
func ID(turn string) string { return "msg_" + turn }

// NewID is that of the message of a turn that is not kept.
func NewID() string { return "msg_" + rand.Text() }

// Sender sends to one webhook. It may be used at the same time.
type Sender struct {
	url     string
	key     []byte
	timeout time.Duration
	tries   int
	channel string
	client  *http.Client
	count   metrics.Counter
}

// New returns a Sender, or an error about a fault in cfg. The error does not show the value.
func New(cfg Config) (*Sender, error) {
	key, err := decodeKey(cfg.Secret.Reveal())
	if err == nil {
		err = checkURL(cfg.URL.Reveal())
	}
	if err != nil {
		return nil, err
	}
	s := &Sender{url: cfg.URL.Reveal(), key: key, timeout: cfg.Timeout, tries: cfg.Tries, channel: cfg.Channel}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.tries <= 0 {
		s.tries = DefaultTries
	}
	transport := cfg.Transport
	if transport == nil {
		transport = NewTransport(cfg.Proxy)
	}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.count = cfg.Metrics.Counter("deliveries_total", "Messages handed to webhooks, by what became of them.", "channel", "status")
	return s, nil
}

// NewTransport returns the default transport of a Sender. It has small bounds: a receiver that
// answers much or slowly costs a turn its time.
func NewTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 2 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConnsPerHost: 4, IdleConnTimeout: 60 * time.Second,
	}
}

// Close closes connections that wait for more messages.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send sends a message and waits for what becomes of it. Once begun it is not stopped by a
// client that leaves: of ctx it keeps the deadline, and no cancellation.
func (s *Sender) Send(ctx context.Context, m Message) Receipt {
	began := time.Now()
	deadline, limited := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	r := Receipt{ID: m.ID, Status: Failed}
	for r.Attempts < s.tries {
		if r.Attempts > 0 && !waitForRetry(ctx, r.Attempts) {
			break
		}
		r.Attempts++
		var again bool
		if r.Status, r.Reason, again = s.sendOnce(ctx, m); !again {
			break
		}
	}
	r.MS = time.Since(began).Milliseconds()
	s.count.Inc(s.channel, r.Status)
	return r
}

// waitForRetry waits before another try. It returns false at once if there is not enough time for
// it.
func waitForRetry(ctx context.Context, failures int) bool {
	d := 500 * time.Millisecond
	if failures > 1 {
		d = 2 * time.Second // however many failed
	}
	d = d*3/4 + mathrand.N(d/2) // within a quarter of it
	if at, limited := ctx.Deadline(); limited && time.Until(at) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sendOnce sends the message once. again says that it may be tried once more.
func (s *Sender) sendOnce(ctx context.Context, m Message) (status, reason string, again bool) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(m.Body))
	if err != nil { // New has checked the URL
		return Failed, "the request cannot be made", false
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Sluice")
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", s.signBody(m.ID, at, m.Body))
	resp, err := s.client.Do(req)
	if err != nil {
		return Failed, reasonOf(err), true
	}
	defer resp.Body.Close()
	// The body is of no use, but reading a short one keeps the connection usable.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return Delivered, "", false
	case isRefusal(code):
		return Rejected, "HTTP " + strconv.Itoa(code), false
	default: // a redirect is not followed: the receiver has moved, and nobody has changed the setting
		return Failed, "HTTP " + strconv.Itoa(code), true
	}
}

// reasonOf words an error without the URL that most errors contain.
func reasonOf(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was cut"
	}
	return "unreachable"
}

// signBody returns the signature of Standard Webhooks 1.0.0: HMAC-SHA256 over id, timestamp
// and body.
func (s *Sender) signBody(id, at string, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	io.WriteString(mac, id+"."+at+".")
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// decodeKey returns that of a secret.
func decodeKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64")
	}
	return key, nil
}

// isRefusal reports whether a status is one that another try would not change.
func isRefusal(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return code >= 400 && code < 500
}

// checkURL accepts where messages may be sent: https, or http to this machine.
// A name or password would end up in logs.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || !isAbsolute(u):
		return errors.New("must be an absolute URL with https")
	case u.User != nil || strings.Contains(text, "#"):
		return errors.New("must not hold a user name, password or fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return errors.New("must be https, or of a loopback host")
	}
	return nil
}

// isAbsolute reports whether a URL is one of http or https that names a host.
func isAbsolute(u *url.URL) bool {
	return u.Host != "" && u.Opaque == "" && (u.Scheme == "https" || u.Scheme == "http")
}

// isLoopback reports whether host is this machine by its very text: names are not resolved.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
