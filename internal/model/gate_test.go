package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
)

// turnstile is a gate that counts, and lets so many attempts pass.
type turnstile struct {
	passes  int
	inside  int
	entered int
	used    []int
	wait    time.Duration
}

func (g *turnstile) enter(ctx context.Context) (func(int), error) {
	if g.wait > 0 {
		time.Sleep(g.wait)
	}
	if g.entered == g.passes {
		return nil, &fault.Error{Type: fault.ModelRateLimited, Message: "busy", Service: "limits", RetryAfter: time.Second}
	}
	g.entered++
	g.inside++
	return func(tokens int) { g.inside--; g.used = append(g.used, tokens) }, ctx.Err()
}

// Each attempt passes the gate, retries too, and leaves it with what it has used.
func TestGateCountsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &turnstile{passes: 3}
		failing := modeltest.Reply{Status: 503}
		m, s := openWith(t, model.Spec{Retries: 2}, model.Options{Gate: g.enter}, failing, failing, whole(text("hello")))
		if got := modeltest.Ask(t.Context(), m); got.Err != nil || got.Text != "hello" {
			t.Fatalf("%q, %v", got.Text, got.Err)
		}
		if diff := cmp.Diff([]int{0, 0, 7}, g.used); diff != "" || g.inside != 0 || len(s.Requests()) != 3 {
			t.Errorf("%d inside, %d requests, used (-want +got):\n%s", g.inside, len(s.Requests()), diff)
		}
		_ = modeltest.Ask(t.Context(), m)
		if len(s.Requests()) != 3 {
			t.Error("an attempt that was not admitted was made")
		}
	})
}

// What a gate refuses is like a 429 for the turn, and nothing for the breaker; a fallback is asked.
func TestGateRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed, open := &turnstile{}, &turnstile{passes: 100}
		limited, s := openWith(t, model.Spec{Breaker: breaker.Config{Failures: 1}}, model.Options{Gate: closed.enter}, whole(text("no")))
		for range 3 {
			got := modeltest.Ask(t.Context(), limited)
			f, ok := errors.AsType[*fault.Error](got.Err)
			if !ok || f.Type != fault.ModelRateLimited || f.Service != "limits" || f.RetryAfter != time.Second || model.Class(f) != "rate_limited" {
				t.Fatalf("refused with %#v", got.Err)
			}
		}
		if state := limited.Breaker().Snapshot(); state.State != breaker.Closed || len(s.Requests()) != 0 {
			t.Errorf("breaker %v, %d requests", state.State, len(s.Requests()))
		}
		other, _ := openWith(t, model.Spec{}, model.Options{Gate: open.enter}, whole(text("from the other")))
		chain, err := model.NewChain(model.ChainConfig{Links: []model.Link{limited, renameMembers{other}}, On: model.DefaultFallbackOn()})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		err = chain.Stream(t.Context(), &chat.ModelRequest{Step: 1}, func(c *chat.Chunk) error {
			for _, p := range c.Parts {
				said += p.Text
			}
			return nil
		})
		if err != nil || said != "from the other" {
			t.Errorf("%q, %v", said, err)
		}
	})
}

// renameMembers is a model under another key.
type renameMembers struct{ *model.Model }

func (renameMembers) Key() string { return "other" }

// Of an answer that is cut the tokens are estimated; a wait at the gate is no silence of the model's.
func TestGateAndAnswersThatAreCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &turnstile{passes: 9, wait: 14 * time.Second}
		m, _ := openWith(t, model.Spec{}, model.Options{Gate: g.enter},
			modeltest.Reply{Pieces: []string{text("a long text that goes on, and then there is nothing more of it")}, Pause: 5 * time.Second, End: modeltest.ErrHang})
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, fault.ErrClientGone)
		defer cancel()
		if got := modeltest.Ask(ctx, m); got.Err == nil || got.Text == "" {
			t.Fatalf("%q, %v", got.Text, got.Err)
		}
		if len(g.used) != 1 || g.used[0] < 20 || g.used[0] > 60 {
			t.Errorf("used %v", g.used)
		}
	})
}
