package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"go/version"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"sluice/e2e/process"
)

// asServer in the environment makes this program the server that TestStandardServer starts.
const asServer = "SLUICE_WIRE_SERVER"

// serveStandard serves HTTP/2 with the server inside Go until stdin ends, if a test asks for it.
func serveStandard() bool {
	if os.Getenv(asServer) == "" {
		return false
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 200 {
			w.Header().Set(fmt.Sprintf("X-%d-%d", i, time.Now().UnixNano()), strings.Repeat("v", 25))
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	fmt.Println(s.Listener.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return true
}

// changeTables asks for much and changes the size of the header table meanwhile, over a
// connection, as long as it can. It returns how many frames it sent.
func changeTables(c *tls.Conn, limit time.Duration) (frames int) {
	go discard(c)
	var out bytes.Buffer
	f := newFrames(&out)
	out.WriteString(http2.ClientPreface)
	_ = f.WriteSettings()
	began := time.Now()
	for id := uint32(1); time.Since(began) < limit; id += 2 {
		f.get(id, "/")
		for i := range 20 {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(i%2) * 4096})
		}
		_ = c.SetWriteDeadline(time.Now().Add(limit))
		if _, err := c.Write(out.Bytes()); err != nil {
			return frames
		}
		out.Reset()
		frames += 21
	}
	return frames
}

// A client ends the HTTP/2 server inside Go before 1.26.9, with all that its process serves, by
// changing the size of the header table while a reply is encoded (CVE-2026-97032). It does not
// end the gateway, which is served by another one.
func TestHeaderTableCrash(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	const limit = 20 * time.Second // the standard server ends within one
	t.Run("the server inside Go", func(t *testing.T) {
		if version.Compare(runtime.Version(), "go1.26.9") >= 0 {
			t.Skip("mended in " + runtime.Version())
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asServer+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		addr, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); time.Since(began) < limit; {
			c, err := tls.Dial("tcp", strings.TrimSpace(addr), trusting("h2"))
			if err != nil {
				break // it has ended
			}
			changeTables(c, time.Second)
			_ = c.Close()
		}
		_ = in.Close()
		if err := cmd.Wait(); err == nil {
			t.Error("it has survived: is the crash mended, so that this test and the reason for another server can go?")
		}
		if text := stderr.String(); !strings.Contains(text, "hpack") {
			t.Errorf("it has ended for another reason: %s", text[:min(len(text), 2000)])
		}
	})
	t.Run("the gateway", func(t *testing.T) {
		g, _ := startSealed(t, nil)
		for range 3 {
			if n := changeTables(g.dial(t, "h2"), time.Second); n == 0 {
				t.Error("nothing could be sent")
			}
		}
		g.healthy(t)
	})
}
