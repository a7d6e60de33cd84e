// Command deliver receives the messages of a gateway's webhook. It checks the signature, drops
// repetitions, hands e-mails to an SMTP server and prints the rest, one line of JSON a message:
// that is where Twilio and the others would be called.
//
//	HOOK_SECRET=whsec_… SMTP_HOST=localhost SMTP_PORT=1025 MAIL_FROM=bot@example.com \
//	    go run ./examples/deliver -users users.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"
)

func main() {
	if err := serveHook(); err != nil {
		log.Fatal(err)
	}
}

func serveHook() error {
	address := flag.String("addr", "127.0.0.1:8090", "where to listen")
	users := flag.String("users", "", "file of JSON with the e-mail address of each user_id")
	flag.Parse()

	key, err := keyOf(os.Getenv("HOOK_SECRET"))
	if err != nil {
		return fmt.Errorf("HOOK_SECRET %w", err)
	}
	r := &receiver{key: key, out: os.Stdout, seen: newMemory(10_000)}
	if host := os.Getenv("SMTP_HOST"); host != "" {
		if r.mail, err = newMailer(host); err != nil {
			return err
		}
		if r.mail.addresses, err = readUsers(*users); err != nil {
			return err
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	log.Printf("listening on %s", listener.Addr())
	server := &http.Server{Handler: r, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newMailer reads what SMTP needs out of the environment.
func newMailer(host string) (*mailer, error) {
	port := 587
	if s := os.Getenv("SMTP_PORT"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, errors.New("SMTP_PORT must be a number")
		}
		port = n
	}
	from := os.Getenv("MAIL_FROM")
	if from == "" {
		return nil, errors.New("MAIL_FROM must be set")
	}
	return &mailer{host: host, port: port, user: os.Getenv("SMTP_USER"), password: os.Getenv("SMTP_PASSWORD"), from: from}, nil
}

func readUsers(name string) (map[string]string, error) {
	if name == "" {
		return nil, errors.New("e-mails need -users")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var users map[string]string
	return users, json.Unmarshal(b, &users)
}
