package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// stacksBelow is what the goroutines of an open stream may have for stacks, in bytes. The
// handler has 8 KB, the reader of the client's connection 2 to 4 and the two of net/http's
// client 4 each; a handler that went deeper has 16 KB to its end (docs/performance.md).
const stacksBelow = 22 << 10

// partChunk returns one event of Gemini's with a part of an answer.
func partChunk(part, more string) string {
	return `data: {"candidates":[{"content":{"parts":[` + part + `],"role":"model"}` + more + `}]}` + "\r\n\r\n"
}

// holdingModel answers each connection's first request with a tool call and its second
// with a word, and then keeps the connection open until the test ends, without a
// goroutine.
func holdingModel(t *testing.T) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go holdOpen(c)
		}
	}()
	return "http://" + ln.Addr().String()
}

func holdOpen(c net.Conn) {
	in := bufio.NewReader(c)
	for held := false; !held; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		asked, _ := io.ReadAll(r.Body)
		head, part := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", ""
		if held = bytes.Contains(asked, []byte(`"functionResponse"`)); held {
			part = partChunk(`{"text":"Well,"}`, "")
		} else {
			part = partChunk(`{"functionCall":{"name":"list_todos","args":{},"id":"call"},"thoughtSignature":"RXVrQg=="}`, `,"finishReason":"STOP"`)
		}
		text := fmt.Sprintf("%s%x\r\n%s\r\n", head, len(part), part)
		if !held {
			text += "0\r\n\r\n"
		}
		_, _ = io.WriteString(c, text)
	}
}

// hold runs a turn as far as the model's first word, after a tool call, and leaves it
// open until the test ends.
func hold(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(testnet.Patience))
	body := gatewaytest.Input("what is left to do?")
	fmt.Fprintf(c, "POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var all []byte
	for room := make([]byte, 4<<10); !bytes.Contains(all, []byte("event: response_delta")); {
		n, err := c.Read(room)
		if all = append(all, room[:n]...); err != nil {
			t.Fatalf("%v: %s", err, all)
		}
	}
}

// It measures the whole process, so it must not run at the same time as others.
func TestStacksOfOpenStreams(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes frames larger")
	}
	const streams = 200
	r := wholetest.Listen(t, map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": holdingModel(t), "SLUICE_TODO_DB": ":memory:",
		"SLUICE_ADMISSION": "count", "SLUICE_REQUEST_TIMEOUT": "10m", "SLUICE_MODEL_TIMEOUT": "10m"})
	addr := strings.TrimPrefix(r.Base, "http://")
	hold(t, addr)
	before := stacks()
	for range streams {
		hold(t, addr)
	}
	each := (stacks() - before) / streams
	t.Logf("%d bytes", each)
	if each > stacksBelow {
		t.Errorf("the stacks of an open stream take %d bytes, want at most %d", each, stacksBelow)
	}
}

// stacks returns what the stacks of all goroutines take, in bytes, after those that are not
// in use were freed.
func stacks() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.StackInuse)
}
