package main

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a request must have to be taken. The signature is the vector of
// github.com/standard-webhooks/standard-webhooks.
func TestVerify(t *testing.T) {
	t.Parallel()
	key, err := keyOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const (
		id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body      = `{"test": 2432232314}`
		signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	at := time.Unix(1614265330, 0)
	for _, tt := range []struct {
		name, id, signature, body string
		now                       time.Time
		ok                        bool
	}{
		{"right", id, signature, body, at, true},
		{"second of two", id, "v1,AAAA v2,x " + signature, body, at.Add(4 * time.Minute), true},
		{"late", id, signature, body, at.Add(6 * time.Minute), false},
		{"early", id, signature, body, at.Add(-6 * time.Minute), false},
		{"other body", id, signature, body + " ", at, false},
		{"other id", id + "x", signature, body, at, false},
		{"no id", "", signature, body, at, false},
		{"other version", id, strings.Replace(signature, "v1", "v2", 1), body, at, false},
		{"none", id, "", body, at, false},
	} {
		h := http.Header{}
		h.Set("webhook-id", tt.id)
		h.Set("webhook-timestamp", "1614265330")
		h.Set("webhook-signature", tt.signature)
		if err := verifySignature(key, h, []byte(tt.body), tt.now); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := keyOf("whsec_" + base64.StdEncoding.EncodeToString([]byte("short"))); err == nil {
		t.Error("a short key is taken")
	}
}

// A message that comes twice is sent once, also if both come at once; one that failed may
// come again; and the oldest are forgotten.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := newMemory(2)
	var begun sync.WaitGroup
	results := make(chan state, 50)
	for range 50 {
		begun.Go(func() { results <- m.begin("a") })
	}
	begun.Wait()
	close(results)
	first := 0
	for s := range results {
		if s == unknown {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d of 50 were the first", first)
	}
	m.end("a", false)
	if got := m.begin("a"); got != unknown {
		t.Errorf("after a failure: %v", got)
	}
	for _, id := range []string{"a", "b", "c"} {
		m.end(id, true)
	}
	if m.begin("a") != unknown || m.begin("b") != finished || m.begin("c") != finished {
		t.Error("the wrong one was forgotten")
	}
}

// Without a signature nothing is read, printed or remembered.
func TestStranger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &receiver{key: []byte("k"), out: &out, seen: newMemory(1)}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader(`{"type":"channel.message"}`)))
		if w.Code < 400 || w.Code >= 500 || out.Len() > 0 || len(r.seen.of) > 0 {
			t.Errorf("%s: %d, %q", method, w.Code, &out)
		}
	}
}
