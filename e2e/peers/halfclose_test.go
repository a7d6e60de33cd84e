package peers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// chatRequest is a turn as it is on the wire.
func chatRequest(version string) string {
	const body = `{"input":"hi"}`
	return fmt.Sprintf("POST /chat/stream HTTP/%s\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", version, len(body), body)
}

// hanging starts a gateway whose model never answers.
func hanging(t *testing.T) (g *gateway, addr string) {
	t.Helper()
	gemini := scripted(t, "hang")
	g = startGateway(t, map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": gemini.url})
	return g, strings.TrimPrefix(g.base, "http://")
}

// wantCutReply checks that a reply over HTTP/1.1 does not look like a whole one, and
// that what ran for it was ended with it.
func wantCutReply(t *testing.T, g *gateway, reply string) {
	t.Helper()
	if !strings.Contains(reply, "event: start\n") {
		t.Errorf("the stream did not begin: %q", reply)
	}
	if strings.HasSuffix(reply, "0\r\n\r\n") || strings.Contains(reply, "event: done") {
		t.Errorf("the reply ends as a whole one does: %q", reply)
	}
	wantCancelled(t, g)
}

func wantCancelled(t *testing.T, g *gateway) {
	t.Helper()
	g.awaitLog(t, "gemini_api_result", "outcome", "cancelled")
	g.awaitLog(t, "request_completed", "finish_reason", "cancelled")
}

// closesItsSide runs a program that sends its input to the gateway, closes its side
// of the connection at the end of it, and prints the reply. The input ends when the
// model has been called.
func closesItsSide(t *testing.T, g *gateway, version, name string, args ...string) (reply, warnings string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.WriteString(in, chatRequest(version))
	}
	if err != nil {
		t.Fatal(err)
	}
	g.awaitLog(t, "gemini_api_called")
	in.Close()
	_ = cmd.Wait() // they do not agree on what a broken end is worth
	return out.String(), errOut.String()
}

// What closes its side of the connection after the request looks as if it had left.
// It does not get the whole stream, and can know.
func TestProgramsThatCloseTheirSideSeeABrokenStream(t *testing.T) {
	t.Parallel()
	needPeers(t)
	t.Run("nc -N", func(t *testing.T) {
		t.Parallel()
		g, addr := hanging(t)
		host, port, _ := net.SplitHostPort(addr)
		reply, _ := closesItsSide(t, g, "1.1", "nc", "-N", host, port)
		wantCutReply(t, g, reply)
	})
	t.Run("socat", func(t *testing.T) {
		t.Parallel()
		g, addr := hanging(t)
		reply, _ := closesItsSide(t, g, "1.1", "socat", "-t", "60", "-", "TCP:"+addr)
		wantCutReply(t, g, reply)
	})
	t.Run("socat over HTTP/1.0", func(t *testing.T) {
		t.Parallel()
		g, addr := hanging(t)
		_, warnings := closesItsSide(t, g, "1.0", "socat", "-d", "-d", "-t", "60", "-", "TCP:"+addr)
		if !strings.Contains(warnings, "reset by peer") {
			t.Errorf("socat says %q", warnings)
		}
		wantCancelled(t, g)
	})
}

// HAProxy hands the end of a client's side on with option abortonclose: that cancels
// the turn, and HAProxy lets the client see that its stream is not whole.
func TestClientThatClosesItsSideBehindHAProxy(t *testing.T) {
	t.Parallel()
	needPeers(t)
	g, addr := hanging(t)
	haproxy := balancers()[1]
	front := haproxy.start(t, []string{addr, addr, addr}, "    option http-server-close\n", "    option http-server-close\n    option abortonclose\n")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(front, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, chatRequest("1.1")); err != nil {
		t.Fatal(err)
	}
	g.awaitLog(t, "gemini_api_called")
	begin := make([]byte, 512)
	n, err := conn.Read(begin) // HAProxy answers 400 to one who leaves before the header
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(conn) // it may be reset, too
	wantCutReply(t, g, string(begin[:n])+string(rest))
}
