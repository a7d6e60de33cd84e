package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wneessen/go-mail"
)

// mailer hands e-mails to an SMTP server.
type mailer struct {
	host           string
	port           int
	user, password string // empty: the server asks for none
	from           string
	addresses      map[string]string // of users: no recipient comes out of a message
}

// timeout of one e-mail: the gateway waits for three seconds unless it is set otherwise.
const timeout = 10 * time.Second

func (m *mailer) sendMail(ctx context.Context, id string, c *content) error {
	to, ok := m.addresses[c.UserID]
	if !ok {
		return fmt.Errorf("%w: no address is known of this user", errNever)
	}
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(m.from); err != nil {
		return err
	}
	if err := msg.To(to); err != nil {
		return fmt.Errorf("%w: the address is none", errNever)
	}
	msg.SetDate()
	msg.SetMessageIDWithValue(id + "@" + m.host) // a message that came twice all the same counts once
	msg.Subject(c.Subject)
	msg.SetBodyString(mail.TypeTextPlain, c.Text)
	msg.AddAlternativeString(mail.TypeTextHTML, c.HTML)

	options := []mail.Option{mail.WithPort(m.port), mail.WithTimeout(timeout), mail.WithTLSPolicy(mail.TLSMandatory)}
	if m.host == "localhost" || m.host == "127.0.0.1" {
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	}
	if m.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.user), mail.WithPassword(m.password))
	}
	client, err := mail.NewClient(m.host, options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, msg)
}
