//go:build unix

package gateway_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// cable stands before a server's socket. Once it is cut nothing passes, until it is mended.
type cable struct {
	socket, server string

	mu    sync.Mutex // guards the fields below
	cut   bool
	conns []net.Conn
}

func layCable(t *testing.T, server string) *cable {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &cable{socket: filepath.Join(dir, "s"), server: server}
	in, err := new(net.ListenConfig).Listen(t.Context(), "unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		w.setCut(true)
	})
	go func() { // ends with the listener
		for {
			conn, err := in.Accept()
			if err != nil {
				return
			}
			w.pass(conn)
		}
	}()
	return w
}

// pass connects conn with the server.
func (w *cable) pass(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, err := new(net.Dialer).Dial("unix", w.server)
	if err != nil || w.cut {
		_ = conn.Close()
		return
	}
	w.conns = append(w.conns, conn, to)
	for _, pair := range [][2]net.Conn{{conn, to}, {to, conn}} {
		go func() { // ends with either of them
			_, _ = io.Copy(pair[0], pair[1])
			_ = conn.Close()
			_ = to.Close()
		}()
	}
}

func (w *cable) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// A gateway that cannot reach the store, which another one can, loses its turns to that one and
// believes that they are its own: nothing is paid twice, and when it is back its stream breaks off.
func TestGatewayIsCutOffFromTheStore(t *testing.T) {
	t.Parallel()
	for _, hold := range []string{"model", "bank"} {
		t.Run("in the "+hold, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			w, s := layCable(t, server.Socket), openShop(t)
			s.hold, s.held, s.let = hold, make(chan struct{}, 8), make(chan struct{})
			dir := filepath.Join(t.TempDir(), "cut")
			var gateways [2]*wholetest.Flow
			for i, socket := range []string{w.socket, server.Socket} {
				c := crashedTurn{crashing{dir, s.mcp, socket}, s.model, "tasks: {lease: 3s}\n", ""}
				in := c.open(t)
				t.Cleanup(func() { _ = in.Close() })
				gateways[i] = c.gateway(t, in)
				wholetest.AwaitTools(t, gateways[i])
			}
			one, two := gateways[0], gateways[1]
			got := make(chan string, 1)
			go func() { got <- one.Serve("/chat/stream", `{"input":"pay once"}`, io.Discard) }()
			<-s.held
			id := wholetest.Only(t, two.Store())
			w.setCut(true)
			var last store.Task
			testnet.Eventually(t, "the other gateway has the turn", func() bool {
				var err error
				last, err = two.Store().Task(t.Context(), id)
				return err == nil && (last.Holder == two.Tasks().Holder() || last.State == task.InputRequired)
			})
			w.setCut(false)
			first := <-got
			if strings.Contains(first, "event: done") || strings.Contains(first, "event: error") {
				t.Errorf("the stream of the first gateway has an end:\n%s", first)
			}
			if hold == "model" {
				close(s.let)
			}
			s.finish(two, id, false, "pay once", first)
			if hold == "bank" {
				close(s.let)
			}
			if s.mu.Lock(); s.paid[30] > 1 {
				t.Errorf("paid %d times", s.paid[30])
			}
			s.mu.Unlock()
		})
	}
}
