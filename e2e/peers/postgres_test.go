package peers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cluster is a PostgreSQL server of our own, as scripts/postgres.sh makes one.
type cluster struct {
	dir, addr string
	process   *process
}

// newCluster describes a cluster; nothing is started.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	needPeers(t)
	_, psql := exec.LookPath("psql")
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if _, initdb := exec.LookPath("initdb"); psql != nil || initdb != nil && len(found) == 0 {
		missing(t, "PostgreSQL")
	}
	dir, err := os.MkdirTemp(shared.dir, "postgres-")
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{dir: dir, addr: freeAddr(t)}
}

// start starts the cluster, also after kill or stop, and waits until it is ready.
func (c *cluster) start() (err error) {
	_, port, _ := net.SplitHostPort(c.addr)
	script, err := filepath.Abs(filepath.Join(root, "scripts", "postgres.sh"))
	if err != nil {
		return err
	}
	c.process, err = command{name: script, args: []string{"run", c.dir, port}, env: baseEnv()}.start()
	if err != nil {
		return err
	}
	return c.process.await("a ready database", func(text string) bool {
		return strings.Contains(text, "ready to accept connections")
	})
}

func (c *cluster) kill() {
	if c.process != nil {
		c.process.kill()
	}
}

// The cluster that most tests share, each with a database of its own. It runs
// until all tests have ended.
var sharedCluster = struct {
	mu      sync.Mutex // guards the fields below
	cluster *cluster
	err     error
	number  int
}{}

// newDatabase makes a database and returns its URL.
func newDatabase(t testing.TB) string {
	t.Helper()
	s := &sharedCluster
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		s.cluster = newCluster(t)
		s.err = s.cluster.start()
		shared.atEnd(s.cluster.kill)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	s.number++
	name := "test" + strconv.Itoa(s.number)
	psql(t, s.cluster.url("postgres"), "create database "+name)
	return s.cluster.url(name)
}

func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgresql://postgres@%s/%s", c.addr, database)
}

// psql runs a statement and returns its rows, one a line, columns between bars.
func psql(t testing.TB, url, statement string) string {
	t.Helper()
	out, err := exec.Command("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url).CombinedOutput()
	if err != nil {
		t.Fatalf("psql %s: %v\n%s", statement, err, out)
	}
	return strings.TrimSpace(string(out))
}

// The script's other half, for people: a cluster in the background, which may be
// started and stopped twice.
func TestPostgresScript(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	_, port, _ := net.SplitHostPort(c.addr)
	script := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(filepath.Join(root, "scripts", "postgres.sh"), args...).CombinedOutput(); err != nil {
			t.Errorf("postgres.sh %s: %v\n%s", args[0], err, out)
		}
	}
	t.Cleanup(func() { script("stop", c.dir) })
	script("start", c.dir, port)
	script("start", c.dir, port)
	if got := psql(t, c.url("postgres"), "select 6 * 7"); got != "42" {
		t.Errorf("got %s, want 42", got)
	}
	script("stop", c.dir)
	if out, err := exec.Command("psql", "-c", "select 1", c.url("postgres")).CombinedOutput(); err == nil {
		t.Errorf("it is not stopped: %s", out)
	}
}
