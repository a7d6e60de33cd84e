package quality_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// shelf is a chat.Saver that keeps what is saved.
type shelf struct{ parts map[string][][]byte }

func (s *shelf) Save(part string, state []byte) {
	s.parts[part] = append(s.parts[part], bytes.Clone(state))
}
func (*shelf) Confirm() error     { return nil }
func (*shelf) Begin() func()      { return func() {} }
func (*shelf) Together(f func())  { f() }
func (*shelf) IsHandedOver() bool { return false }

// nobody is an inner runner that must not be asked.
func nobody(t *testing.T) inner {
	return func(context.Context, *chat.Request, stream.Sink) (stream.Result, error) {
		t.Error("the answer is made again")
		return stream.Result{}, nil
	}
}

// makes is says, and reports what it did, with the words next to its call.
func makes(text string) inner {
	return func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		result, err := says(text)(ctx, req, sink)
		result.TurnMessages = []chat.TurnMessages{{Line: "now", Messages: []chat.Message{
			{Role: chat.RoleModel, Origin: "o", Parts: []chat.Part{{Text: "a draft"}, {Call: &tool.Call{Name: "get_hours", Arguments: jsontext.Value(`{}`)}, Signature: "s"}}},
			{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{Text: "32"}}}},
			{Role: chat.RoleModel, Parts: []chat.Part{{Text: "a draft"}}},
		}}}
		return result, err
	}
}

// Where another process goes on behind the answer it is delivered as it was, no other one is made,
// nothing of it is said again, and the turn ends as it would have.
func TestDeliveryGoesOn(t *testing.T) {
	t.Parallel()
	asked := chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}}
	for name, tt := range map[string]turn{
		"not checked": {inner: makes("Hi|there")},
		"checked":     {yaml: enforce + backed, inner: makes("I say 32.")},
		"withheld":    {yaml: enforce + backed, inner: makes("I say 35.")},
		"a question": {inner: inner(func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
			result, err := says("Which one?")(ctx, req, sink)
			result.Reason = stream.InputRequired
			return result, err
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []string{"delivered", "rejected"} {
				tt := tt
				s, first, second := &shelf{map[string][][]byte{}}, &receiver{status: status}, &receiver{status: status}
				tt.req, tt.sender = asked, first
				tt.req.Facts.Saving = &chat.Saving{Saver: s}
				before := tt.runInner(t)
				states := s.parts[chat.SavedDelivery]
				if len(states) != 1 || strings.Contains(string(states[0]), "draft") {
					t.Fatalf("it saves %s", states)
				}
				tt.req.Facts.Saving, tt.sender, tt.inner = &chat.Saving{Saver: s, Before: s.parts}, second, nobody(t)
				after := tt.runInner(t)
				want := []string{"start", "done " + string(before.done.Reason)}
				if status == "rejected" {
					want = []string{"start", "error delivery_failed false", "done " + string(before.done.Reason)}
				}
				if diff := cmp.Diff(want, after.lines); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if q := before.done.Quality; q != nil { // it is made before the answer has left
					q.Millis.Held = after.done.Quality.Millis.Held
				}
				before.done.Timings, after.done.Timings = stream.Timings{}, stream.Timings{}
				if diff := cmp.Diff(before.done, after.done, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Checked" }, cmp.Ignore())); diff != "" {
					t.Errorf("the end (-want +got):\n%s", diff)
				}
				if (before.done.Checked == nil) != (after.done.Checked == nil) {
					t.Errorf("kept of the checks is %s, and was %s", after.done.Checked, before.done.Checked)
				}
				first.got.Request, second.got.Request = nil, nil
				if diff := cmp.Diff(first.got, second.got); diff != "" {
					t.Errorf("what is delivered (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Of a turn that was delivered by another process the memory has what it would have had: the calls,
// and the answer as its author wrote it.
func TestDeliveryThatGoesOnIsRemembered(t *testing.T) {
	t.Parallel()
	s := &shelf{map[string][][]byte{}}
	req := &chat.Request{Input: "hi", ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}, Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}
	c := quality.New(quality.Config{Formatters: map[string]quality.Formatter{"sms": phone{}}, Senders: map[string]quality.Sender{"sms": &receiver{status: "delivered"}}})
	if _, err := c.Around(makes("Hi"), "").Run(t.Context(), req, new(clientView)); err != nil {
		t.Fatal(err)
	}
	req.Facts.Saving = &chat.Saving{Saver: s, Before: s.parts}
	got, err := c.Around(nobody(t), "").Run(t.Context(), req, new(clientView))
	if err != nil {
		t.Fatal(err)
	}
	want := []chat.TurnMessages{{Line: "now", Messages: []chat.Message{
		{Role: chat.RoleModel, Origin: "o", Parts: []chat.Part{{Call: &tool.Call{Name: "get_hours", Arguments: jsontext.Value(`{}`)}, Signature: "s"}}},
		{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{Text: "32"}}}},
		{Role: chat.RoleModel},
	}}}
	if diff := cmp.Diff(want, got.TurnMessages); diff != "" || got.Markdown != "Hi" {
		t.Errorf("%q; what was done (-want +got):\n%s", got.Markdown, diff)
	}
}

// What was saved of a delivery and cannot be read ends the turn; a turn that waits for a person
// saves nothing of it.
func TestDeliveryThatDoesNotGoOn(t *testing.T) {
	t.Parallel()
	c := quality.New(quality.Config{Formatters: map[string]quality.Formatter{"sms": phone{}}, Senders: map[string]quality.Sender{"sms": &receiver{status: "delivered"}}})
	for _, state := range []string{`{"response":{}`, `{}`, `null`, `[]`, `{"response":{}}`, `{"response":{},"end":{}}`, `{"end":{"channel":{}}}`} {
		req := &chat.Request{Input: "hi", ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}}
		req.Facts.Saving = &chat.Saving{Before: map[string][][]byte{chat.SavedDelivery: {[]byte(state)}}}
		if _, err := c.Around(nobody(t), "").Run(t.Context(), req, new(clientView)); err == nil || fault.From(err).Type != fault.TurnLost {
			t.Errorf("%s: %v", state, err)
		}
	}
	s := &shelf{map[string][][]byte{}}
	req := &chat.Request{Input: "hi", ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}, Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}
	waits := inner(func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		result, err := says("May I?")(ctx, req, sink)
		result.Reason, result.Paused = stream.ApprovalRequired, new(chat.Paused)
		return result, err
	})
	if _, err := c.Around(waits, "").Run(t.Context(), req, new(clientView)); err != nil || len(s.parts) > 0 {
		t.Errorf("%v, and it saves %s", err, s.parts)
	}
}
