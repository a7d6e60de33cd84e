// Package access has the types for the sender of a request: the principal that a credential proves,
// and the reason of a refusal.
//
// Each method has a folder below this one and does not import the others: keys and jwt. The folder
// door calls them in their order and reads their configuration; limit counts the use of each
// principal.
package access

import (
	"net/http"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Method is a way of authentication.
type Method string

// Methods.
const (
	ByKey     Method = "key"
	ByToken   Method = "jwt"
	ByProxy   Method = "proxy"
	Anonymous Method = "anonymous"
)

// Identity is the principal of a request, and the method that proved it.
type Identity struct {
	chat.Principal
	Method Method
	// Expires is when the credential ends, without leeway; zero: it does not end by itself.
	Expires time.Time
	// Ends is when streams that only watch end with the credential, with leeway; zero: they
	// do not.
	Ends time.Time
	// Revoked reports whether the credential was taken back meanwhile; nil if it cannot be.
	Revoked func() bool
}

// Refused is the error of a credential that does not count. Clients get one text for all of
// them; Reason is a word for the audit, and holds nothing of the credential.
type Refused struct{ Reason string }

// Error returns the text for the log.
func (e *Refused) Error() string { return "credential refused: " + e.Reason }

// Challenged is a refusal with the value of WWW-Authenticate that comes with it.
type Challenged struct {
	Fault     *fault.Error
	Challenge string
}

// Invalid refuses a credential that does not count, or several of them; reason is a word for the
// audit. Clients get the same text for all of them.
func Invalid(reason string) *Challenged {
	return &Challenged{
		Fault:     &fault.Error{Type: fault.Unauthorized, Message: unauthorized, Err: &Refused{reason}},
		Challenge: `Bearer realm="sluice", error="invalid_token"`,
	}
}

// Missing refuses a request that shows no credential.
func Missing() *Challenged {
	return &Challenged{
		Fault:     &fault.Error{Type: fault.Unauthorized, Message: unauthorized, Err: &Refused{"none"}},
		Challenge: `Bearer realm="sluice"`,
	}
}

// unauthorized is the one text for all that does not count.
const unauthorized = "The request needs a valid credential: an API key or a token"

// SetHeader adds the refusal's challenge to the header of its reply.
func (e *Challenged) SetHeader(h http.Header) { h.Set("WWW-Authenticate", e.Challenge) }

// Error returns the text of the fault.
func (e *Challenged) Error() string { return e.Fault.Error() }

// Unwrap leads to the fault.
func (e *Challenged) Unwrap() error { return e.Fault }
