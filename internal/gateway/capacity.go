// This file fits the limits of the gateway into what its process may use: descriptors and
// memory. A gateway that accepts more streams than it has memory for is ended by the kernel
// with all of them, so that limits which do not fit are lowered at the start, and the log
// says by which sum.

package gateway

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

	"sluice/config"
)

const (
	// A stream takes this much memory, and the program itself the rest
	// (docs/performance.md). Connections that run no turn may have a fifth of the limit.
	streamMemory  = 70 << 10
	connMemory    = 20 << 10
	programMemory = 40 << 20

	// Descriptors that neither client connections nor the models of streams get: for
	// connections beyond the limit, on which health and metrics are still told; for MCP
	// servers, and connections to a model that are opened without success; and for the program's
	// own files. A small limit keeps a quarter for the last and an eighth for each other.
	surplusDescriptors  = 32
	upstreamDescriptors = 64
	ownDescriptors      = 32
)

// resources are what a process may use. 0 means that it is not known, or not bounded.
type resources struct {
	descriptors int
	memory      int64 // bytes
}

// processResources returns those of this process. Go's runtime has raised the limit of descriptors to what
// may be had, and gives children the former one.
func processResources() resources {
	r := resources{descriptors: descriptorLimit(), memory: cgroupMemory(os.ReadFile)}
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

// capacity is how much a gateway takes at once.
type capacity struct {
	resources
	streams     int
	connections int // of clients; 0: not bounded
	surplus     int // connections beyond those
	upstreams   int // descriptors kept for them
	own         int // descriptors kept for the program
	perStream   int // descriptors that a stream takes beside its client's connection
}

// capacityOf fits what cfg asks for into r.
//
// It has no side effect. streams is at least 1. A machine that tells nothing gets what was
// asked for.
func capacityOf(cfg config.Config, r resources) capacity {
	c := capacity{
		resources: r, streams: cfg.MaxStreams, connections: cfg.MaxConnections,
		surplus: surplusDescriptors, upstreams: upstreamDescriptors, own: ownDescriptors, perStream: 1,
	}
	if cfg.Offline() {
		c.perStream = 2 // both ends of a connection to ourselves
	}
	if r.memory > 0 {
		c.streams = min(c.streams, max(1, int((r.memory/5*4-programMemory)/streamMemory)))
	}
	if r.descriptors > 0 {
		c.fitDescriptors(cfg.MaxConnections)
	}
	if r.memory > 0 && cfg.MaxConnections == 0 {
		bound := c.streams + int(r.memory/5/connMemory)
		c.connections = min(cmp.Or(c.connections, bound), bound)
	}
	return c
}

// fitDescriptors divides the descriptors between connections and streams. If what was
// asked for fits, it stays.
//
// asked is cfg.MaxConnections; 0: as many as fit. Otherwise streams come first, and
// connections get the rest.
func (c *capacity) fitDescriptors(asked int) {
	c.surplus, c.upstreams, c.own = min(c.surplus, c.descriptors/8), min(c.upstreams, c.descriptors/8), min(c.own, c.descriptors/4)
	room := c.descriptors - c.surplus - c.upstreams - c.own
	if asked > 0 && asked+c.perStream*min(c.streams, asked) <= room {
		return
	}
	c.streams = min(c.streams, max(1, room/(1+c.perStream)))
	c.connections = max(1, room-c.perStream*c.streams)
	if asked > 0 {
		c.connections = min(c.connections, asked)
	}
}

// warn tells of settings that do not fit, and why.
//
// Nothing is logged if everything fits.
func (c capacity) warn(log zerolog.Logger, cfg config.Config) {
	if c.streams == cfg.MaxStreams && (cfg.MaxConnections == 0 || c.connections == cfg.MaxConnections) {
		return
	}
	log.Warn().Dict("details", zerolog.Dict().
		Int("max_streams", c.streams).Int("max_streams_asked", cfg.MaxStreams).
		Int("max_connections", c.connections).Int("max_connections_asked", cfg.MaxConnections).
		Str("sum", c.sum())).Msg("limits_lowered")
}

// sum says how the limits follow from what there is.
func (c capacity) sum() (text string) {
	if c.descriptors > 0 {
		text = fmt.Sprintf("%d descriptors: %d for connections, %d for %d streams to the model, %d beyond the limit, %d upstreams, %d files",
			c.descriptors, c.connections, c.perStream*c.streams, c.streams, c.surplus, c.upstreams, c.own)
	}
	if c.memory > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%d MiB of memory, four fifths for the program (%d MiB) and %d streams (%d KiB each)",
			c.memory>>20, programMemory>>20, c.streams, streamMemory>>10)
	}
	return text
}
