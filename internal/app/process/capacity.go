// This file fits the limits of the gateway into what its process may use: descriptors and
// memory. A gateway that accepts more streams than it has memory for is ended by the kernel
// with all of them, so that limits which do not fit are lowered at the start, and the log
// says by which sum.

package process

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"

	"github.com/rs/zerolog"

	"sluice/internal/edge/conns"
)

const (
	// A stream takes this much memory, and the program itself the rest
	// (docs/performance.md). Connections that run no turn may have a fifth of the limit.
	streamMemory  = 70 << 10
	connMemory    = 20 << 10
	programMemory = 40 << 20

	// Descriptors that neither client connections nor the models of streams get: for
	// connections beyond the limit, on which health and metrics are still reported; for MCP
	// servers, and connections to a model that are opened without success; and for the
	// program's own files. A small limit keeps a quarter for the last and an eighth for each
	// other.
	surplusDescriptors  = 32
	upstreamDescriptors = 64
	ownDescriptors      = 32
)

// Limits are how much a gateway accepts at once.
type Limits struct {
	Streams     int
	Connections int // of clients; 0: not bounded
	// OwnModel says that the process serves the model itself, so that it holds both ends of
	// a stream's connection to it.
	OwnModel bool
}

// Resources are what a process may use. 0 means that it is not known, or not bounded.
type Resources struct {
	descriptors int
	memory      int64 // bytes
}

// OwnResources returns those of this process. Go's runtime has raised the limit of descriptors to what
// may be had, and gives children the former one.
func OwnResources() Resources {
	r := Resources{descriptors: descriptorLimit(), memory: cgroupMemory(os.ReadFile)}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 && (r.memory == 0 || limit < r.memory) {
		r.memory = limit
	}
	return r
}

// cgroupMemory returns the least memory limit of the cgroups that the process is in,
// of either version, or 0. Inside a container the path may be that of the host, which
// is not there; then the root of the tree is the container's own.
//
// readFile is os.ReadFile, or a test's. A file that cannot be read counts as no limit. 0:
// there is none.
func cgroupMemory(readFile func(string) ([]byte, error)) (least int64) {
	groups, _ := readFile("/proc/self/cgroup")
	for line := range bytes.Lines(groups) {
		fields := bytes.SplitN(bytes.TrimSpace(line), []byte(":"), 3) // id:controllers:path
		if len(fields) < 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch string(fields[1]) {
		case "":
		case "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + string(fields[2])); ; dir = path.Dir(dir) {
			text, _ := readFile(path.Join(root, dir, file))
			n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
			if err == nil && n > 0 && n < 1<<60 && (least == 0 || n < least) { // version 1 says "none" by a huge number
				least = n
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// Capacity is how much a gateway accepts at once with the resources that it has. Its
// Streams are at least 1.
type Capacity struct {
	Limits
	asked     Limits
	resources Resources
	surplus   int // connections beyond those of clients
	upstreams int // descriptors that stay for them
	own       int // descriptors that stay for the program
	perStream int // descriptors of a stream in addition to its client's connection
}

// Fit fits what is asked for into r. What is not known of r bounds nothing.
func Fit(asked Limits, r Resources) Capacity {
	c := Capacity{
		Limits: asked, asked: asked, resources: r,
		surplus: surplusDescriptors, upstreams: upstreamDescriptors, own: ownDescriptors, perStream: 1,
	}
	if asked.OwnModel {
		c.perStream = 2
	}
	if r.memory > 0 {
		c.Streams = min(c.Streams, max(1, int((r.memory/5*4-programMemory)/streamMemory)))
	}
	if r.descriptors > 0 {
		c.fitDescriptors()
	}
	if r.memory > 0 && asked.Connections == 0 {
		bound := c.Streams + int(r.memory/5/connMemory)
		c.Connections = min(cmp.Or(c.Connections, bound), bound)
	}
	return c
}

// fitDescriptors divides the descriptors between connections and streams. If what was
// asked for fits, it stays.
//
// Where no number of connections was asked for, as many as fit are accepted. Otherwise
// streams come first, and connections get the rest.
func (c *Capacity) fitDescriptors() {
	all, asked := c.resources.descriptors, c.asked.Connections
	c.surplus, c.upstreams, c.own = min(c.surplus, all/8), min(c.upstreams, all/8), min(c.own, all/4)
	room := all - c.surplus - c.upstreams - c.own
	if asked > 0 && asked+c.perStream*min(c.Streams, asked) <= room {
		return
	}
	c.Streams = min(c.Streams, max(1, room/(1+c.perStream)))
	c.Connections = max(1, room-c.perStream*c.Streams)
	if asked > 0 {
		c.Connections = min(c.Connections, asked)
	}
}

// Limiter returns what bounds the connections of clients; nil if nothing does.
func (c *Capacity) Limiter() *conns.Limiter {
	if c.Connections == 0 {
		return nil
	}
	return conns.NewLimiter(c.Connections, c.surplus)
}

// Warn logs which limits do not fit, and why.
//
// Nothing is logged if everything fits.
func (c *Capacity) Warn(log zerolog.Logger) {
	if c.Streams == c.asked.Streams && (c.asked.Connections == 0 || c.Connections == c.asked.Connections) {
		return
	}
	log.Warn().Dict("details", zerolog.Dict().
		Int("max_streams", c.Streams).Int("max_streams_asked", c.asked.Streams).
		Int("max_connections", c.Connections).Int("max_connections_asked", c.asked.Connections).
		Str("sum", c.sum())).Msg("limits_lowered")
}

// sum says how the limits follow from what there is.
func (c *Capacity) sum() (text string) {
	if c.resources.descriptors > 0 {
		text = fmt.Sprintf("%d descriptors: %d for connections, %d for %d streams to the model, %d beyond the limit, %d upstreams, %d files",
			c.resources.descriptors, c.Connections, c.perStream*c.Streams, c.Streams, c.surplus, c.upstreams, c.own)
	}
	if c.resources.memory > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%d MiB of memory, four fifths for the program (%d MiB) and %d streams (%d KiB each)",
			c.resources.memory>>20, programMemory>>20, c.Streams, streamMemory>>10)
	}
	return text
}
