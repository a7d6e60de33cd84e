// This file fits the limits of the gateway into what its process may use: descriptors and memory.
// The kernel ends a gateway with more streams than its memory holds, and all its streams with it.
// So the start lowers limits that do not fit, and logs the sum.

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

	// Descriptors beyond those of client connections and of streams' models. The first are for
	// connections beyond the limit, as health and metrics are still reported on them. The second
	// are for MCP servers and failed connections to a model. The third are for the program's own
	// files. A small limit keeps a quarter for the last and an eighth for each other.
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

// Resources are the bounds of a process. 0 means unknown or unbounded.
type Resources struct {
	descriptors int
	memory      int64 // bytes
}

// OwnResources returns those of this process. Go's runtime has raised the limit of descriptors to
// its maximum, and gives children the former one.
func OwnResources() Resources {
	r := Resources{descriptors: descriptorLimit(), memory: cgroupMemory(os.ReadFile)}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 && (r.memory == 0 || limit < r.memory) {
		r.memory = limit
	}
	return r
}

// cgroupMemory returns the least memory limit of the cgroups that the process is in, of either
// version, or 0. Inside a container the path may be the host's and not exist; then the root of the
// tree is the container's own.
//
// readFile is os.ReadFile, or a test's. A file that cannot be read counts as unlimited. 0 means
// without a limit.
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
	requested    Limits
	resources    Resources
	surplus      int // connections beyond those of clients
	upstreams    int // descriptors that stay for them
	programFiles int // descriptors that stay for the program
	perStream    int // descriptors of a stream in addition to its client's connection
}

// Fit fits the requested limits into r. Unknown resources do not bound anything.
func Fit(asked Limits, r Resources) Capacity {
	c := Capacity{
		Limits: asked, requested: asked, resources: r,
		surplus: surplusDescriptors, upstreams: upstreamDescriptors, programFiles: ownDescriptors, perStream: 1,
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

// fitDescriptors divides the descriptors between connections and streams. If the requested limits
// fit, they stay.
//
// Without a requested number of connections, as many as fit are accepted. Otherwise streams come
// first, and connections get the rest.
func (c *Capacity) fitDescriptors() {
	all, asked := c.resources.descriptors, c.requested.Connections
	c.surplus, c.upstreams, c.programFiles = min(c.surplus, all/8), min(c.upstreams, all/8), min(c.programFiles, all/4)
	room := all - c.surplus - c.upstreams - c.programFiles
	if asked > 0 && asked+c.perStream*min(c.Streams, asked) <= room {
		return
	}
	c.Streams = min(c.Streams, max(1, room/(1+c.perStream)))
	c.Connections = max(1, room-c.perStream*c.Streams)
	if asked > 0 {
		c.Connections = min(c.Connections, asked)
	}
}

// Limiter returns the limiter of client connections, or nil if they are not bounded.
func (c *Capacity) Limiter() *conns.Limiter {
	if c.Connections == 0 {
		return nil
	}
	return conns.NewLimiter(c.Connections, c.surplus)
}

// Warn logs which limits do not fit, and why.
//
// It logs nothing if everything fits.
func (c *Capacity) Warn(log zerolog.Logger) {
	if c.Streams == c.requested.Streams && (c.requested.Connections == 0 || c.Connections == c.requested.Connections) {
		return
	}
	log.Warn().Dict("details", zerolog.Dict().
		Int("max_streams", c.Streams).Int("max_streams_asked", c.requested.Streams).
		Int("max_connections", c.Connections).Int("max_connections_asked", c.requested.Connections).
		Str("sum", c.sumText())).Msg("limits_lowered")
}

// sumText says how the limits follow from the resources.
func (c *Capacity) sumText() (text string) {
	if c.resources.descriptors > 0 {
		text = fmt.Sprintf("%d descriptors: %d for connections, %d for %d streams to the model, %d beyond the limit, %d upstreams, %d files",
			c.resources.descriptors, c.Connections, c.perStream*c.Streams, c.Streams, c.surplus, c.upstreams, c.programFiles)
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
