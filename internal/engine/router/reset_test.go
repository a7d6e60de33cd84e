package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// begunAgain is an agent that says something, takes the end of it back and says something else.
func begunAgain(pause time.Duration, first string, back int, then ...string) func(context.Context, *chat.Request, stream.Sink) error {
	return func(ctx context.Context, req *chat.Request, sink stream.Sink) error {
		if err := says(pause, first)(ctx, req, sink); err != nil {
			return err
		}
		if err := sink.Emit(&stream.Reset{Reason: stream.ResetFallback, Back: back, Runes: back}); err != nil {
			return err
		}
		return says(pause, then...)(ctx, req, sink)
	}
}

// A member takes back its own text, whether it is out or waits for another one's: what others
// have said stays, and so does what stands between two.
func TestOnlyTheTextOfOneMemberIsTakenBack(t *testing.T) {
	t.Parallel()
	const second = time.Second
	lights := func() router.Agent { return agentOf("lights", says(2*second, "The lights", " are dim.")) }
	for name, tt := range map[string]struct {
		agents     []router.Agent
		sequential bool
		want       []string
		text       string
	}{
		"the one that speaks": {
			[]router.Agent{agentOf("lights", begunAgain(2*second, "The lamp", 4, "lights", " are dim.")), agentOf("music", says(second, "Jazz", " plays."))}, false,
			[]string{"lights> The lamp", `lights takes back to "The "`, "lights> lights", "lights>  are dim.", ">  ", "music> Jazz", "music>  plays."}, "The lights are dim. Jazz plays.",
		},
		"one that waits": {
			[]router.Agent{lights(), agentOf("music", begunAgain(second, "Rock", 3, "umba", " plays."))}, false,
			[]string{"lights> The lights", "lights>  are dim.", ">  ", "music> R", "music> umba", "music>  plays."}, "The lights are dim. Rumba plays.",
		},
		"all that one said, behind another": {
			[]router.Agent{lights(), agentOf("music", begunAgain(5*second, "Rock", 4, "Jazz", " plays."))}, false,
			[]string{"lights> The lights", "lights>  are dim.", ">  ", "music> Rock", `music takes back to "The lights are dim. "`, "music> Jazz", "music>  plays."},
			"The lights are dim. Jazz plays.",
		},
		"in order": {
			[]router.Agent{agentOf("lights", begunAgain(0, "Half", 4, "The lights are dim.")), agentOf("music", begunAgain(0, "Half", 2, "lo."))}, true,
			[]string{"lights> Half", `lights takes back to ""`, "lights> The lights are dim.", ">  ", "music> Half", `music takes back to "The lights are dim. Ha"`, "music> lo."},
			"The lights are dim. Halo.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := router.Defaults()
				cfg.Agents, cfg.Asker, cfg.Dispatch.Sequential = tt.agents, &asker{choose("lights", 0.9, "music")}, tt.sequential
				var got []string
				var fold stream.Fold
				sink := emits(func(ev stream.Event) {
					fold.Add(ev)
					switch ev := ev.(type) {
					case *stream.Delta:
						got = append(got, ev.AgentID+"> "+ev.Text)
					case *stream.Reset:
						got = append(got, fmt.Sprintf("%s takes back to %q", ev.AgentID, ev.Accumulated))
					}
				})
				frame := stream.Frame{Runner: router.New(cfg), Timeout: time.Minute}
				if err := frame.Run(t.Context(), &chat.Request{Input: "Dim the lights and play jazz", Facts: chat.Facts{Retracts: true}}, sink); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || fold.Text() != tt.text || fold.Done.Reason != stream.Stop {
					t.Errorf("%q, %s (-want +got):\n%s", fold.Text(), fold.Done.Reason, diff)
				}
			})
		})
	}
}

// Who comes after a member is shown what counts of its text.
func TestTheNextMemberSeesWhatStays(t *testing.T) {
	t.Parallel()
	cfg := router.Defaults()
	var seen []chat.Quote
	cfg.Agents = []router.Agent{
		agentOf("lights", begunAgain(0, "Half a lie", 6, "the truth.")),
		agentOf("music", func(_ context.Context, req *chat.Request, sink stream.Sink) error {
			seen = req.Data
			return sink.Emit(&stream.Delta{Text: "Jazz."})
		}),
	}
	cfg.Asker, cfg.Dispatch.Sequential = &asker{choose("lights", 0.9, "music")}, true
	if _, err := router.New(cfg).Run(t.Context(), &chat.Request{Input: "hi", Facts: chat.Facts{Retracts: true}}, new(record)); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[1].Text != "Halfthe truth." {
		t.Errorf("it sees %+v", seen)
	}
}
