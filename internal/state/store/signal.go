package store

import "sync"

// Watch waits for one topic. C has room for one signal, so that many become one. The
// first comes at once, or when the engine has begun to listen.
type Watch struct {
	// C is c, to receive from only.
	C    <-chan struct{}
	c    chan struct{}
	stop func()
}

// Stop ends the watch. It may be called several times.
func (w *Watch) Stop() { w.stop() }

// wake says that something has changed. It never blocks: a watcher that has not
// looked yet sees this change with the one before.
func (w *Watch) wake() {
	select {
	case w.c <- struct{}{}:
	default: // it is yet to look after the signal before
	}
}

// Hub wakes those who watch in this process; engines have one. Its zero value is without watches.
type Hub struct {
	// Begin and End, if set, are called when the first one begins to watch a topic and
	// the last one stops, in order and one at a time. They must not block.
	Begin, End func(topic string)

	mu      sync.Mutex // guards the field below
	watches map[string]map[*Watch]bool
}

// Watch begins to watch a topic. If nothing listens on behalf of the hub, the watch is
// woken at once, else when Signal is called first.
func (h *Hub) Watch(topic string) *Watch {
	c := make(chan struct{}, 1)
	w := &Watch{C: c, c: c}
	w.stop = sync.OnceFunc(func() { h.removeWatch(topic, w) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches == nil {
		h.watches = map[string]map[*Watch]bool{}
	}
	first := h.watches[topic] == nil
	if first {
		h.watches[topic] = map[*Watch]bool{}
	}
	h.watches[topic][w] = true
	if first && h.Begin != nil {
		h.Begin(topic)
	} else {
		w.wake()
	}
	return w
}

// removeWatch ends a watch. The topic's End is called with the last one.
func (h *Hub) removeWatch(topic string, w *Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches[topic], w)
	if len(h.watches[topic]) > 0 {
		return
	}
	delete(h.watches, topic)
	if h.End != nil {
		h.End(topic)
	}
}

// Signal wakes all who watch topic.
func (h *Hub) Signal(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches[topic] {
		w.wake()
	}
}

// Topics returns the watched topics.
func (h *Hub) Topics() (topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic := range h.watches {
		topics = append(topics, topic)
	}
	return topics
}
