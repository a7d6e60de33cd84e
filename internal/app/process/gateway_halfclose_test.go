package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// halfClosed sends a request over a connection of its own, waits until the reply
// holds upTo and what awaits, if anything, has happened, says that it has no more to send, and returns the reply with what
// ended it.
func halfClosed(t *testing.T, r *gatewaytest.Running, request, upTo string, await func()) (reply string, err error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for buf := make([]byte, 4096); !strings.Contains(got.String(), upTo); {
		n, err := conn.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
	}
	if await != nil {
		await()
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(&got, conn)
	return got.String(), err
}

func postOver(version, path, body string) string {
	return fmt.Sprintf("POST %s HTTP/%s\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, version, len(body), body)
}

// A client that closes its sending side looks like one that left: its turn is
// cancelled, and it can know that the reply is not whole.
func TestHalfClosedStreamEndsBroken(t *testing.T) {
	t.Parallel()
	const chatKit = `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"hi"}]}},"metadata":{}}`
	for _, tt := range []struct{ name, path, body, upTo string }{
		{"turn", "/chat/stream", gatewaytest.Input("hi"), "event: start"},
		{"ChatKit", "/chatkit", chatKit, "thread.created"},
	} {
		for _, version := range []string{"1.1", "1.0"} {
			t.Run(tt.name+" over "+version, func(t *testing.T) {
				t.Parallel()
				g := gatewaytest.Scripted(t, "hang")
				r := wholetest.Listen(t, g.Env())
				reply, err := halfClosed(t, r, postOver(version, tt.path, tt.body), tt.upTo, func() { r.Log.Await(t, "gemini_api_called", r.Ended) })
				wantBroken(t, version, reply, err)
				line := r.Log.Await(t, "request_completed", r.Ended)
				if line.Detail("finish_reason") != "cancelled" {
					t.Errorf("the turn ended so: %s", line.Raw)
				}
				if line := r.Log.Await(t, "gemini_api_result", r.Ended); line.Detail("outcome") != "cancelled" {
					t.Errorf("the model call ended so: %s", line.Raw)
				}
				if _, metrics := r.Get("/metrics"); !strings.Contains(metrics, `finish_reason="cancelled"} 1`) {
					t.Errorf("the turn is not counted:\n%s", metrics)
				}
			})
		}
	}
}

func TestHalfClosedProbeEndsBroken(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, nil)
	for _, version := range []string{"1.1", "1.0"} {
		request := "GET /diag/sse?ticks=2&interval_ms=60000 HTTP/" + version + "\r\nHost: x\r\n\r\n"
		reply, err := halfClosed(t, r, request, "event: tick", nil)
		wantBroken(t, version, reply, err)
	}
}

func wantBroken(t *testing.T, version, reply string, err error) {
	t.Helper()
	switch {
	case strings.Contains(reply, "event: done"):
		t.Errorf("there is a done: %q", reply)
	case version == "1.1" && (err != nil || strings.HasSuffix(reply, "0\r\n\r\n")):
		t.Errorf("over 1.1 the reply ends with %v: %q", err, reply)
	case version == "1.0" && !errors.Is(err, syscall.ECONNRESET):
		t.Errorf("over 1.0 the reply ends with %v, want a reset: %q", err, reply)
	}
}

// A stream that has its done ends as every other, whenever the client closes.
func TestHalfCloseAfterDoneIsNoBreak(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env())
	for _, version := range []string{"1.1", "1.0"} {
		reply, err := halfClosed(t, r, postOver(version, "/chat/stream", gatewaytest.Input("hi")), "event: done", nil)
		if err != nil || version == "1.1" && !strings.HasSuffix(reply, "\r\n0\r\n\r\n") {
			t.Errorf("over %s the reply ends with %v: %q", version, err, reply)
		}
	}
}
