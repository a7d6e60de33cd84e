package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/e2e/events"
)

const (
	// silence is how long Redis stands still. It is longer than a command of a gateway may take, and a
	// try to find out what became of it.
	silence = 1500 * time.Millisecond
	// silentTurns begin meanwhile.
	silentTurns = 8
)

// silentStore has Redis stand still while turns begin at one gateway, then restarts that gateway.
// Each turn runs, and none runs a second time because its task was stored without the gateway's
// knowledge.
func silentStore(r *run) {
	if standStill == nil {
		r.Lack("SIGSTOP")
	}
	for _, killed := range []bool{false, true} {
		r.silenceRedis(killed)
	}
}

// silenceRedis plays one of two endings: the gateway ends in order, or it is killed once it had
// time to clean up.
func (r *run) silenceRedis(killed bool) {
	p := r.startPlace(options{})
	c, how, prefix := newClient(), "ends", "e"
	if killed {
		how, prefix = "is killed", "k"
	}
	var wait sync.WaitGroup
	fates := make([]string, silentTurns)
	begin := func(prefix string) {
		for n := range fates {
			wait.Go(func() { fates[n] = c.finishReason(r, p.a.url, order{id: fmt.Sprint(prefix, n), calls: 1, words: 2}) })
		}
	}
	begin("first-" + prefix) // from now on the gateway has connections, to which commands are written
	wait.Wait()
	p.redis.signal(standStill)
	begin(prefix)
	r.Pause(silence)
	p.redis.signal(goOn)
	wait.Wait()
	stopped := 0
	for _, fate := range fates {
		if fate == "stop" {
			stopped++
		}
	}
	r.Exactly(fmt.Sprintf("turns that ended well, then the gateway %s", how), stopped, silentTurns)
	if killed {
		r.awaitOrFail("the gateway undoes its tasks", time.Minute, func() bool {
			saved, err := p.redis.sendCommand("KEYS sluice:turn:*")
			return err == nil && saved == "*0"
		})
		p.a.kill()
	} else {
		p.a.stop()
	}
	r.Must(p.a.start())
	r.Pause(r.sizes.lease + 12*time.Second) // the lease ends, and two sweeps look
	calls := 0
	for n := range fates {
		calls += p.tools.countCalls(fmt.Sprintf("%s%d.1", prefix, n))
	}
	r.Exactly("calls of a tool after a restart", calls, silentTurns)
}

// finishReason runs a turn and returns how it ended.
func (c *client) finishReason(r *run, url string, o order) string {
	v := newView()
	err := c.readStream(r.Ctx, func(f events.Event) bool { v.accept(f); return true }, http.MethodPost, url+"/chat/stream", fmt.Sprintf(`{"input":%q}`, o))
	if p := (*problem)(nil); errors.As(err, &p) {
		return p.Error()
	}
	r.Must(err)
	return v.reason
}
