package handlers

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// cutReply is a reply whose connection that knows whether it was closed to make room.
type cutReply struct {
	http.ResponseWriter
	cut bool
}

func (r *cutReply) SetReadDeadline(at time.Time) error {
	r.cut = at.Before(time.Now())
	return nil
}

// slowBody is a body as the rules have it.
type slowBody struct {
	share   *share
	reply   *cutReply
	size    int
	givenUp bool
	left    bool
}

// slowBodies follows the rules of bodies in the simplest way: a list, of which the first go
// until the rest fits.
type slowBodies struct {
	max  int
	all  []*slowBody // that are being read, in the order in which they began
	held int
}

func (b *slowBodies) grow(s *slowBody, n int) {
	if !slices.Contains(b.all, s) {
		return
	}
	s.size += n
	for b.held += n; b.held > b.max; {
		b.all[0].givenUp = true
		b.remove(b.all[0])
	}
}

func (b *slowBodies) remove(s *slowBody) {
	if i := slices.Index(b.all, s); i >= 0 {
		b.all, b.held = slices.Delete(b.all, i, i+1), b.held-s.size
	}
}

// Whatever order bodies come, grow and end in: those that are read for the longest time are
// given up, no more of them than must, and the bytes of a sender that is gone are not counted.
func TestBodiesByTheRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		fast, slow := &bodies{max: 100}, &slowBodies{max: 100}
		var ever []*slowBody
		for step := range 300 {
			switch n := r.IntN(10); {
			case n == 0 || len(ever) == 0:
				s := &slowBody{share: new(share), reply: new(cutReply)}
				ever, slow.all = append(ever, s), append(slow.all, s)
				fast.beginBody(s.share, s.reply)
			case n == 1:
				s := ever[r.IntN(len(ever))]
				s.left = true
				slow.remove(s)
				if got := fast.endBody(s.share); got != s.givenUp {
					t.Fatalf("seed %d, step %d: leave says %v, want %v", seed, step, got, s.givenUp)
				}
			default:
				s := ever[max(len(ever)-1-r.IntN(12), 0)]
				size := r.IntN(1 + []int{1, 3, 40, 120}[r.IntN(4)])
				slow.grow(s, size)
				fast.countBytes(s.share, size)
			}
			if int(fast.held) != slow.held {
				t.Fatalf("seed %d, step %d: %d bytes are held, want %d", seed, step, fast.held, slow.held)
			}
			for i, s := range ever {
				if s.reply.cut != s.givenUp {
					t.Fatalf("seed %d, step %d: body %d is cut: %v, want %v", seed, step, i, s.reply.cut, s.givenUp)
				}
			}
		}
	}
}

// lastWords is a body that comes byte by byte, and does something at its end.
type lastWords struct {
	text *strings.Reader
	then func()
}

func (b *lastWords) Read(p []byte) (int, error) {
	n, err := b.text.Read(p[:1])
	if err == io.EOF {
		b.then()
	}
	return n, err
}

func (*lastWords) Close() error { return nil }

// noted is a place that notes what it receives.
type noted struct {
	anyPlace
	notes []string
}

func (p *noted) Waiting() { p.notes = append(p.notes, "waiting") }
func (p *noted) Busy()    { p.notes = append(p.notes, "busy") }

// A body is waited for until all of it is there. One that was given up is refused even if
// the last of it has just come, as its connection has lost its deadline.
func TestReadBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		other   int // bytes of another body, which come last
		wantErr bool
		notes   []string
	}{
		{"there is room", 2, false, []string{"waiting", "busy"}},
		{"given up at its end", 3, true, []string{"waiting"}},
	} {
		s := &bodyReader{budget: bodies{max: 10}}
		place, reply := new(noted), &cutReply{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/chat/stream", http.NoBody)
		r = r.WithContext(WithConn(r.Context(), Conn{Place: place}))
		r.Body = &trackedBody{all: &s.budget, ReadCloser: &lastWords{strings.NewReader("12345678"), func() {
			other := new(share)
			s.budget.beginBody(other, new(cutReply))
			s.budget.countBytes(other, tt.other)
		}}}
		body, err := s.readBody(reply, r, 100)
		f, ok := errors.AsType[*fault.Error](err)
		if (err != nil) != tt.wantErr || ok && f.Type != fault.RequestTimeout || isUnread(r) != tt.wantErr || reply.cut != tt.wantErr || err == nil && string(body) != "12345678" {
			t.Errorf("%s: %q, %v, unread %v, cut %v", tt.name, body, err, isUnread(r), reply.cut)
		}
		if diff := cmp.Diff(tt.notes, place.notes); diff != "" {
			t.Errorf("%s: the place is told (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Why a body could not be read decides the status, and for a length the text.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for _, tt := range []struct {
		err      error
		deadline time.Time
		limit    int64
		want     string
	}{
		{fmt.Errorf("read: %w", net.ErrClosed), later, 0, "request_timeout: The connection was closed to make room for another one"},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), later, 0, "request_timeout: The request's body did not arrive in time"},
		{io.ErrUnexpectedEOF, before, 0, "request_timeout: The request's body did not arrive in time"},
		{&http.MaxBytesError{}, later, 128 << 10, "payload_too_large: The request's body may have at most 128 KiB"},
		{&http.MaxBytesError{}, later, 1 << 20, "payload_too_large: The request's body may have at most 1 MiB"},
		{&http.MaxBytesError{}, later, 3 << 19, "payload_too_large: The request's body may have at most 1536 KiB"},
		{io.ErrUnexpectedEOF, later, 0, "invalid_json"},
	} {
		err := bodyFault(tt.err, tt.deadline, tt.limit)
		got := ""
		if f, ok := errors.AsType[*fault.Error](err); ok {
			got = string(f.Type) + ": " + f.Message
		} else if v, ok := errors.AsType[*chat.ValidationError](err); ok {
			got = v.Fields[0].Code
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, diff)
		}
	}
}
