//go:build unix

package redis_test

import (
	"regexp"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/storetest"
)

// BenchmarkStore also says, of the server, how many commands it was sent for an
// operation and what they and their replies took on the wire.
func BenchmarkStore(b *testing.B) {
	server := redistest.Start(b, "redis-server", false)
	s := redis.New(redis.Config{Location: server.Location(), Calls: patient()})
	defer s.Close()
	storetest.Bench(b, s)
}

// BenchmarkWire measures a turn alone.
func BenchmarkWire(b *testing.B) {
	server := redistest.Start(b, "redis-server", false)
	s := redis.New(redis.Config{Location: server.Location(), Calls: patient()})
	defer s.Close()
	a := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	defer a.Close()
	ctx := b.Context()
	storetest.Turn(b, s, "first") // loads the scripts
	memory := figure(a.Info(ctx, "memory").Val(), `used_memory:(\d+)`)
	a.ConfigResetStat(ctx)
	n := 0
	for b.Loop() {
		storetest.Turn(b, s, strconv.Itoa(n))
		n++
	}
	stats, commands := a.Info(ctx, "stats").Val(), a.Info(ctx, "commandstats").Val()
	b.ReportMetric(figure(commands, `cmdstat_evalsha:calls=(\d+)`)/float64(n)+1, "commands/turn") // List is no script
	b.ReportMetric(figure(stats, `total_net_input_bytes:(\d+)`)/float64(n), "B-in/turn")
	b.ReportMetric(figure(stats, `total_net_output_bytes:(\d+)`)/float64(n), "B-out/turn")
	b.ReportMetric((figure(a.Info(ctx, "memory").Val(), `used_memory:(\d+)`)-memory)/float64(n), "B-kept/turn")
}

func figure(info, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(info)
	if m == nil {
		return 0
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	return f
}
