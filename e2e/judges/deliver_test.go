package judges

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/internal/base/config"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
	"sluice/internal/quality/deliver"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The library of Standard Webhooks takes what we sign, and nothing that was changed.
func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	judge, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries++
		body, _ := io.ReadAll(r.Body)
		if err := judge.Verify(body, r.Header); err != nil {
			t.Errorf("try %d: %v", tries, err)
		}
		if judge.Verify(append(body, ' '), r.Header) == nil {
			t.Error("a changed body is taken")
		}
		if tries == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer srv.Close()
	got := send(t, srv.URL, "msg_1", formatted(t, channel.SMS, "**Grüße** 👋"), "ann")
	if got.Status != deliver.Delivered || got.Attempts != 2 {
		t.Errorf("got %+v", got)
	}
}

func formatted(t *testing.T, name, text string) []byte {
	t.Helper()
	f := channel.New(channel.ByName(nil)[name])
	b, err := json.Marshal(channeltest.Format(f, channel.Input{RequestID: "req_1", Text: text, At: time.Unix(1_770_000_000, 0)}))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func send(t *testing.T, url, id string, response []byte, user string) deliver.Receipt {
	t.Helper()
	s, err := deliver.New(deliver.Config{URL: config.Secret(url), Secret: hookSecret, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	body, err := deliver.Body(deliver.Content{Response: response, UserID: user, Quality: &deliver.Quality{Passed: true, Outcome: "passed"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s.Send(t.Context(), deliver.Message{ID: id, Body: body})
}

// inbox is an SMTP server that keeps what it gets.
type inbox struct {
	mu    sync.Mutex // guards the fields below
	mails []string
	to    []string
	down  bool
}

func (b *inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return b, nil }

func (b *inbox) Mail(string, *smtp.MailOptions) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errors.New("not now")
	}
	return nil
}

func (b *inbox) Rcpt(to string, _ *smtp.RcptOptions) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = append(b.to, to)
	return nil
}

func (b *inbox) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, string(content))
	return err
}

func (*inbox) Reset()        {}
func (*inbox) Logout() error { return nil }

func (b *inbox) setDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *inbox) serve(t *testing.T) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(b)
	srv.Domain = "localhost"
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(listener) })
	t.Cleanup(func() { _ = srv.Close(); served.Wait() })
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

// startReceiver builds and starts the example, and returns its URL and what it prints.
func startReceiver(t *testing.T, env ...string) (url string, out *bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	users, program := filepath.Join(dir, "users.json"), filepath.Join(dir, "deliver.exe")
	if err := os.WriteFile(users, []byte(`{"ann":"ann@example.com"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "sluice/examples/deliver").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-addr", "127.0.0.1:0", "-users", users)
	cmd.Env = append(os.Environ(), append(env, "HOOK_SECRET="+hookSecret, "MAIL_FROM=bot@example.com")...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var drained sync.WaitGroup
	t.Cleanup(func() { stop(); drained.Wait(); _ = cmd.Wait() })
	log := bufio.NewReader(stderr)
	line, err := log.ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	drained.Go(func() { _, _ = io.Copy(io.Discard, log) })
	return "http://" + strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]) + "/", bufio.NewReader(stdout)
}

// From the formatter over the webhook and the example to an inbox: an e-mail comes once,
// though it was sent twice; one that failed comes when the server is back; and an SMS is
// printed in its parts.
func TestExampleReceiver(t *testing.T) {
	t.Parallel()
	b := new(inbox)
	url, out := startReceiver(t, "SMTP_HOST=127.0.0.1", "SMTP_PORT="+b.serve(t))

	email := formatted(t, channel.Email, "# Grüße\n\n**You** have 4 todos: <https://example.com/?a=b&c=d>")
	for range 2 {
		if got := send(t, url, "msg_1", email, "ann"); got.Status != deliver.Delivered || got.Attempts != 1 {
			t.Fatalf("got %+v", got)
		}
	}
	if len(b.mails) != 1 || strings.Join(b.to, " ") != "ann@example.com" {
		t.Fatalf("%d mails to %q", len(b.mails), b.to)
	}
	m, err := mail.ReadMessage(strings.NewReader(b.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(m.Header.Get("Content-Type"), "multipart/alternative") || m.Header.Get("Message-Id") != "<msg_1@127.0.0.1>" {
		t.Errorf("the header is %q", m.Header)
	}

	if got := send(t, url, "msg_2", email, "bob"); got.Status != deliver.Rejected {
		t.Errorf("a user without an address: %+v", got)
	}
	b.setDown(true)
	time.AfterFunc(400*time.Millisecond, func() { b.setDown(false) })
	if got := send(t, url, "msg_3", email, "ann"); got.Status != deliver.Delivered || got.Attempts < 2 {
		t.Errorf("a server that is down for a while: %+v", got)
	}

	sms := formatted(t, channel.SMS, strings.Repeat("You have logged 32 of 40 hours. ", 80))
	if got := send(t, url, "msg_4", sms, "ann"); got.Status != deliver.Delivered {
		t.Errorf("got %+v", got)
	}
	line, err := out.ReadBytes('\n')
	var printed struct {
		ID, Channel, To string
		Messages        []string
	}
	if err != nil || json.Unmarshal(bytes.TrimSpace(line), &printed) != nil || printed.ID != "msg_4" || printed.To != "ann" || len(printed.Messages) != 2 || !strings.HasPrefix(printed.Messages[0], "(1/2) ") {
		t.Errorf("printed %s (%v)", line, err)
	}
}
