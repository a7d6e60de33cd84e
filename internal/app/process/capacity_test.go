package process

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// What is let in at once fits into what there is, and what was asked for stays if it
// fits.
func TestCapacity(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, tt := range []struct {
		name                 string
		streams, connections int // asked for
		offline              bool
		res                  Resources
		want                 [3]int // streams, connections, surplus
		sum                  string // in the warning; empty: there is none
	}{
		{"nothing is known", 10000, 0, false, Resources{}, [3]int{10000, 0, 32}, ""},
		{"much", 10000, 0, false, Resources{1 << 20, 0}, [3]int{10000, 1<<20 - 128 - 10000, 32}, ""},
		{"20,000 descriptors", 10000, 0, false, Resources{20000, 0}, [3]int{9936, 9936, 32},
			"20000 descriptors: 9936 for connections, 9936 for 9936 streams to the model, 32 beyond the limit, 64 upstreams, 32 files"},
		{"1,024 descriptors", 10000, 0, false, Resources{1024, 0}, [3]int{448, 448, 32}, "1024 descriptors: 448 for"},
		{"1,024, the model is ours", 10000, 0, true, Resources{1024, 0}, [3]int{298, 300, 32}, "596 for 298 streams"},
		{"few streams leave more connections", 10, 0, false, Resources{1024, 0}, [3]int{10, 886, 32}, ""},
		{"64 descriptors", 10000, 0, false, Resources{64, 0}, [3]int{16, 16, 8}, "8 beyond the limit, 8 upstreams, 16 files"},
		{"8 descriptors", 10000, 0, false, Resources{8, 0}, [3]int{2, 2, 1}, "8 descriptors"},
		{"asked for, fits", 50, 700, false, Resources{1024, 0}, [3]int{50, 700, 32}, ""},
		{"asked for few", 10000, 100, false, Resources{1024, 0}, [3]int{10000, 100, 32}, ""},
		{"asked for too many", 10000, 5000, false, Resources{1024, 0}, [3]int{448, 448, 32}, "1024 descriptors"},
		{"96 MiB", 10000, 0, false, Resources{0, 96 * mib}, [3]int{538, 1521, 32}, "96 MiB of memory, four fifths for the program (40 MiB) and 538 streams (70 KiB each)"},
		{"512 MiB, 1,024 descriptors", 10000, 0, false, Resources{1024, 512 * mib}, [3]int{448, 448, 32}, "448 streams (70 KiB each)"},
		{"less than the program takes", 10000, 0, false, Resources{0, 20 * mib}, [3]int{1, 205, 32}, "20 MiB"},
		{"4 GiB", 10000, 0, false, Resources{1 << 20, 4096 * mib}, [3]int{10000, 51943, 32}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Fit(Limits{Streams: tt.streams, Connections: tt.connections, OwnModel: tt.offline}, tt.res)
			if diff := cmp.Diff(tt.want, [3]int{c.Streams, c.Connections, c.surplus}); diff != "" {
				t.Errorf("streams, connections, surplus (-want +got):\n%s", diff)
			}
			if n := c.Connections + c.perStream*min(c.Streams, c.Connections) + c.surplus + c.upstreams + c.programFiles; tt.res.descriptors > 0 && n > tt.res.descriptors {
				t.Errorf("%d descriptors in all, of %d", n, tt.res.descriptors)
			}
			if bounded := c.Limiter() != nil; bounded != (c.Connections > 0) {
				t.Errorf("connections are bounded: %v, with a limit of %d", bounded, c.Connections)
			}
			var log strings.Builder
			c.Warn(zerolog.New(&log))
			if line := log.String(); (line == "") != (tt.sum == "") || !strings.Contains(line, tt.sum) {
				t.Errorf("want a warning with %q: %s", tt.sum, line)
			}
		})
	}
}

// The least limit of all groups counts, of both versions.
func TestCgroupMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", nil, 0},
		{"version 2", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "1000\n"}, 1000},
		{"version 2, of a parent", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "700\n"}, 700},
		{"version 2, in a container", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		{"version 1", map[string]string{"/proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "500\n"}, 500},
		{"version 1, the host's path", map[string]string{"/proc/self/cgroup": "4:memory:/docker/x\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "500\n"}, 500},
		{"version 1, none", map[string]string{"/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"nonsense", map[string]string{"/proc/self/cgroup": "::\nx\n4:memory:../..\n\n0::\n", "/sys/fs/cgroup/memory.max": "-1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := cgroupMemory(func(name string) ([]byte, error) {
				if text, ok := tt.files[name]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}
