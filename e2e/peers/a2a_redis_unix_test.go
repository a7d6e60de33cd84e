//go:build unix

package peers

import (
	"os"
	"testing"

	"sluice/internal/state/store/redis/redistest"
)

// A task that one gateway runs is read, followed, cancelled and answered through another
// one that shares its Redis: both SDKs, both versions, both bindings.
func TestA2AThroughAnotherGateway(t *testing.T) {
	t.Parallel()
	for _, sdk := range []string{"python", "javascript"} {
		for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
			for _, version := range []string{"1.0", "0.3"} {
				t.Run(sdk+" "+binding+" "+version, func(t *testing.T) {
					t.Parallel()
					sdks(t)[sdk]()
					server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") == "1", "--appendonly", "yes")
					where := "unix://" + server.Socket
					judge(t, sdk, startTeam(t, where).base, binding, version, startTeam(t, where).base)
				})
			}
		}
	}
}
