package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// door answers GET /me as a gateway that knows one key: what it says of who has none, and of
// who has it.
func door(t *testing.T, without, with func() *http.Response) *examination {
	t.Helper()
	return examined(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/me" || r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		answer := without
		if r.Header.Get("Authorization") == "Bearer k-canary" || r.Header.Get("X-Api-Key") == "k-canary" {
			answer = with
		} else if r.Header.Get("Authorization")+r.Header.Get("X-Api-Key") != "" {
			t.Error("the credential is altered")
		}
		if answer == nil {
			return nil, errors.New("no answer")
		}
		resp := answer()
		if resp.Body == nil {
			resp.Body = http.NoBody
		}
		return resp, nil
	})
}

func said(status int, body string, header ...string) func() *http.Response {
	return func() *http.Response {
		resp := reply(status, append(header, "X-Request-ID", "req_1")...)
		resp.Body = io.NopCloser(strings.NewReader(body))
		return resp
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	closed := said(401, "", "WWW-Authenticate", `Bearer realm="sluice"`)
	ana := said(200, `{"user":"ana","tenant":"acme","scopes":["chat","ops"],"method":"key"}`)
	strange := func() *http.Response { return reply(404, "Server", "nginx") }
	const onlyWith = `ok access: only who shows a credential may ask (Bearer realm="sluice")`
	tests := []struct {
		name          string
		host          string
		key           string // the header that it is sent in; empty: none
		without, with func() *http.Response
		want          []string
		goesOn        bool
	}{
		{"open, here", "127.0.0.1:80", "", said(404, ""), nil, []string{"ok access: anybody on this machine may ask, as anybody"}, true},
		{"open, here, in IPv6", "[::1]:80", "", said(404, ""), nil, []string{"ok access: anybody on this machine may ask, as anybody"}, true},
		{"open", "gateway.test", "", said(404, ""), nil, []string{"note access: anybody who reaches this address may ask, as anybody"}, true},
		{"open, and it says so", "gateway.test", "Authorization", said(200, `{"user":"","method":"none"}`), nil, []string{"note access: anybody who reaches this address may ask, as anybody"}, true},
		{"closed, and no key", "localhost", "", closed, nil, []string{onlyWith, "problem access: no credential is there to go on with"}, false},
		{"closed, and a key", "localhost", "Authorization", closed, ana, []string{onlyWith, "ok access: with the credential: user ana of the tenant acme, by key, allowed: chat, ops"}, true},
		{"the other header", "localhost", "X-Api-Key", closed, ana, []string{onlyWith, "ok access: with the credential: user ana of the tenant acme, by key, allowed: chat, ops"}, true},
		{"in the clear", "gateway.test", "Authorization", closed, ana, []string{onlyWith, "problem access: the credential is sent in the clear", "ok access: with the credential: user ana of the tenant acme, by key, allowed: chat, ops"}, true},
		{"a bad key", "localhost", "Authorization", closed, closed, []string{onlyWith, "problem access: 401 Unauthorized with the credential"}, false},
		{"a key of a tenant that is off", "localhost", "Authorization", closed, said(403, ""), []string{onlyWith, "problem access: 403 Forbidden with the credential"}, false},
		{"no answer to the key", "localhost", "Authorization", closed, nil, []string{onlyWith, `problem access: no answer`}, false},
		{"the anonymous", "localhost", "", said(200, `{"user":"","scopes":[],"method":"anonymous"}`), nil,
			[]string{"ok access: without a credential: nobody in particular, by anonymous, allowed: nothing", "problem access: no credential is there to go on with"}, true},
		{"something else", "localhost", "", strange, nil, []string{"note access: 404 Not Found with no content type (Server: nginx)"}, true},
		{"no answer", "localhost", "", nil, nil, []string{"problem access: no answer"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := door(t, tt.without, tt.with)
			d.cfg.URL.Host = tt.host
			if tt.key != "" {
				d.cfg.Header = http.Header{tt.key: {map[bool]string{true: "Bearer "}[tt.key == "Authorization"] + "k-canary"}}
			}
			goesOn := d.checkAccess(t.Context())
			if got := brief(d.findings...); !slices.Equal(got, tt.want) || goesOn != tt.goesOn {
				t.Errorf("goes on %v, findings\n%s\nwant %v\n%s", goesOn, strings.Join(got, "\n"), tt.goesOn, strings.Join(tt.want, "\n"))
			}
			for _, f := range d.findings {
				if strings.Contains(f.Seen+f.Means+strings.Join(f.Change, ""), "canary") {
					t.Errorf("the credential is shown: %+v", f)
				}
			}
		})
	}
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]Verdict{soon + time.Hour: Good, soon - time.Hour: Notice} {
		d := examined(nil)
		d.checkCertificate(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{{NotAfter: time.Now().Add(left)}}})
		if len(d.findings) != 1 || d.findings[0].Verdict != want || !strings.HasPrefix(d.findings[0].Seen, "good until 20") {
			t.Errorf("%v left: %+v", left, d.findings)
		}
	}
	d := examined(nil)
	d.checkCertificate(nil)
	if len(d.findings) != 0 {
		t.Errorf("without TLS: %+v", d.findings)
	}
}
