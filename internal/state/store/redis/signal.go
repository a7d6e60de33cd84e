package redis

import (
	"context"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
)

// listener wakes the watches of this process by one connection, whatever their number. It asks for
// a channel while somebody watches its topic. When Redis confirms that, now or after a lost
// connection, the watchers are woken: they must look for earlier changes themselves.
type listener struct {
	hub    store.Hub
	client *goredis.Client
	prefix string // of channels
	wake   chan struct{}
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex      // guards the fields below
	pending map[string]bool // topics that began or ceased to be watched
	started bool
	closed  bool
}

// newListener returns a listener that connects when somebody watches. close
// ends it.
func newListener(client *goredis.Client, prefix string) *listener {
	l := &listener{client: client, prefix: prefix, wake: make(chan struct{}, 1), pending: map[string]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.hub.Begin = func(topic string) { l.setWatched(topic, true) }
	l.hub.End = func(topic string) { l.setWatched(topic, false) }
	return l
}

// channelOf is the name of a topic's channel in the server, which all databases
// of one server share.
func (l *listener) channelOf(topic string) string { return l.prefix + topic }

// setWatched notes whether a topic is watched.
func (l *listener) setWatched(topic string, watched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.pending[topic] = watched
	if !l.started {
		l.started = true
		// Goroutine (run): asks Redis for the channels of topics that are watched, and gives back
		// others.
		// Ends: `Close`.
		// Waits: `Close`.
		l.wg.Go(l.followChannels)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// clearPending returns which topics are to be followed or left since the last time, and
// forgets them.
func (l *listener) clearPending() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := l.pending
	l.pending = map[string]bool{}
	return pending
}

// followChannels asks for channels, until close.
func (l *listener) followChannels() {
	sub := l.client.Subscribe(l.ctx)
	// Goroutine (observe): wakes those who watch.
	// Ends: the subscription is closed, which run does.
	// Waits: `Close`.
	l.wg.Go(func() { l.wakeWatchers(sub.ChannelWithSubscriptions()) })
	defer sub.Close() // ends wakeWatchers
	asked := map[string]bool{}
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		}
		var begin, end []string
		for topic, watched := range l.clearPending() {
			switch {
			case watched && asked[topic]:
				l.hub.Signal(topic) // it was confirmed before
			case watched:
				asked[topic] = true
				begin = append(begin, l.channelOf(topic))
			case asked[topic]:
				delete(asked, topic)
				end = append(end, l.channelOf(topic))
			}
		}
		// The subscription remembers its channels: if this fails, it asks again as soon as it has
		// another connection.
		if len(end) > 0 {
			_ = sub.Unsubscribe(l.ctx, end...)
		}
		if len(begin) > 0 {
			_ = sub.Subscribe(l.ctx, begin...)
		}
	}
}

// wakeWatchers wakes those who watch, until the subscription is closed.
func (l *listener) wakeWatchers(messages <-chan any) {
	for m := range messages {
		switch m := m.(type) {
		case *goredis.Message:
			l.hub.Signal(strings.TrimPrefix(m.Channel, l.prefix))
		case *goredis.Subscription:
			if m.Kind == "subscribe" {
				l.hub.Signal(strings.TrimPrefix(m.Channel, l.prefix))
			}
		}
	}
}

// close ends the subscription and waits for its goroutines.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}

// Signal wakes all who watch topic.
func (s *Store) Signal(ctx context.Context, topic string) error {
	return s.runCommand(ctx, "signal", func(ctx context.Context) error {
		return s.client.Publish(ctx, s.signals.channelOf(topic), "").Err()
	})
}

// Watch begins to watch a topic.
func (s *Store) Watch(topic string) *store.Watch { return s.signals.hub.Watch(topic) }
