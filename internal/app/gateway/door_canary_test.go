package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/edge/access/keys"
	"sluice/internal/state/store/memory"
)

// Nothing that a client shows to prove who it is stands in a log, an audit line, an event, an error or a
// metric, good or bad, nor does its base64.
func TestCredentialsAreSaidNowhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	_, good, err := keys.Add(file, keys.Entry{User: "ann", Scopes: []string{"chat", "ops"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, read := wholetest.Configured(t, "auth: {keys: "+file+"}", nil)
	var log gatewaytest.SafeBuffer
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(&log).Level(zerolog.DebugLevel), gateway.Seams{Store: memory.New(memory.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	bad := []string{"slk_canary0000_" + strings.Repeat("C", 38), "eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiJjYW5hcnkifQ.Y2FuYXJ5", "canary-of-nothing", good + "x"}
	said := ""
	note := func(a asked) { said += a.body + a.header.Get("WWW-Authenticate") }
	for _, credential := range append(bad, good) {
		for _, h := range []string{"Authorization: Bearer " + credential, "X-API-Key: " + credential, "Authorization: Basic " + credential, "X-Forwarded-User: " + credential} {
			note(askWith(g, "POST", "/chat/stream", "", `{"input":"hello"}`, h))
			note(ask(g, "GET", "/me", "", h))
			note(ask(g, "GET", "/tools?ticket="+credential, "", h))
			note(ask(g, "GET", "/chat/stream?ticket="+credential, ""))
		}
	}
	issued := askWith(g, "POST", "/chat/tickets", "", `{"input":"hello"}`, "Authorization: Bearer "+good)
	var reply struct{ Ticket, URL string }
	if err := json.Unmarshal([]byte(issued.body), &reply); err != nil || issued.code != http.StatusCreated {
		t.Fatal(issued, err)
	}
	for range 2 {
		note(ask(g, "GET", reply.URL, ""))
	}
	note(ask(g, "GET", reply.URL+"x", ""))
	metrics := ask(g, "GET", "/metrics", "", "Authorization: Bearer "+good)
	if metrics.code != http.StatusOK || !strings.Contains(metrics.body, "sluice_auth_total") {
		t.Fatal(metrics.code)
	}
	places := map[string]string{"the log": log.String(), "replies": said, "metrics": metrics.body}
	for _, secret := range append(bad, good, reply.Ticket) {
		for where, text := range places {
			for _, form := range []string{secret, secret[len(secret)/2:], base64.StdEncoding.EncodeToString([]byte(secret))[:20]} {
				if strings.Contains(text, form) {
					t.Errorf("%s has %q", where, form)
				}
			}
		}
	}
	if !strings.Contains(places["the log"], `"audit":true`) || !strings.Contains(places["the log"], "auth_failed") {
		t.Error("the audit has no line")
	}
}
