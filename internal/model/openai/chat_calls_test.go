package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// callPiece is an element of tool_calls, in whichever chunk.
type callPiece struct {
	Index *int           `json:"index,omitempty"`
	ID    string         `json:"id,omitempty"`
	Func  *callPieceFunc `json:"function,omitempty"`
}

type callPieceFunc struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

func (p *callPiece) function() callPieceFunc {
	if p.Func == nil {
		return callPieceFunc{}
	}
	return *p.Func
}

// slowCall is a call of the second implementation.
type slowCall struct {
	index    *int
	id, name string
	args     []string
	rest     bool
}

// slowCalls is the second implementation: it joins strings and reads them with encoding/json.
func slowCalls(pieces []callPiece) (calls []tool.Call, malformed bool) {
	var list []*slowCall
	for _, p := range pieces {
		f := p.function()
		if p.ID == "" && f == (callPieceFunc{}) {
			continue
		}
		var target *slowCall
		for _, c := range list {
			if p.Index == nil || c.index != nil && *c.index == *p.Index {
				target = c
			}
		}
		if target == nil || f.Name != "" && target.name != "" &&
			(p.Index == nil || p.ID != "" && target.id != "" && p.ID != target.id) &&
			(f.Name != target.name || isObject(strings.Join(target.args, ""))) {
			next := &slowCall{index: p.Index, rest: target != nil && target.name == f.Name}
			list, target = append(list, next), next
		}
		target.id, target.name = cmp.Or(target.id, p.ID), cmp.Or(target.name, f.Name)
		target.args = append(target.args, f.Arguments)
	}
	for _, c := range list {
		args := strings.TrimSpace(slowArguments(c.args))
		if args == "" && c.rest {
			continue
		}
		if args = cmp.Or(args, "{}"); c.name == "" || !isObject(args) {
			return nil, true
		}
		calls = append(calls, tool.Call{ID: c.id, Name: c.name, Arguments: []byte(args)})
	}
	return calls, false
}

func isObject(s string) bool {
	var object map[string]any
	return json.Unmarshal([]byte(s), &object) == nil && object != nil
}

// slowArguments joins pieces, without repetitions if they are not JSON with them.
func slowArguments(pieces []string) string {
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(s string) bool { return s == "" })
	if joined := strings.Join(pieces, ""); json.Valid([]byte(joined)) {
		return joined
	}
	from := 0
	for i, p := range pieces {
		before := strings.Join(pieces[from:i], "")
		grows := true
		for j := from; j < i; j++ {
			grows = grows && pieces[j][0] == '{' && strings.HasPrefix(pieces[j+1], pieces[j])
		}
		var a, b any
		equal := json.Unmarshal([]byte(p), &a) == nil && json.Unmarshal([]byte(before), &b) == nil && reflect.DeepEqual(a, b)
		if isObject(p) && p[0] == '{' && (equal || grows || strings.HasPrefix(p, before)) {
			from = i
		}
	}
	return strings.Join(pieces[from:], "")
}

// checkPieces compares what the codec makes of pieces with the second implementation.
func checkPieces(t *testing.T, codec *chatCodec, pieces []callPiece) {
	t.Helper()
	var events []event
	for i := range pieces {
		data, err := json.Marshal(pieces[i])
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event{data: fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[%s]}}]}`, data)})
	}
	events = append(events, event{data: `{"choices":[{"delta":{"content":"x"},"finish_reason":"tool_calls"}]}`}, event{data: "[DONE]"})
	h := observe(codec.NewAnswer(), events)
	want, malformed := slowCalls(pieces)
	if malformed != errors.Is(h.err, model.ErrMalformedCall) || !malformed && h.err != nil {
		t.Fatalf("%s: %v, want malformed: %v", show(pieces), h.err, malformed)
	}
	seen := map[string]bool{}
	for i := range want {
		if i >= len(h.calls) {
			break
		}
		if id := h.calls[i].ID; want[i].ID == "" || len(want[i].ID) > 256 || seen[want[i].ID] {
			if !model.NineLetters(id) {
				t.Fatalf("%s: call %d has id %q", show(pieces), i, id)
			}
			want[i].ID = id
		}
		if seen[h.calls[i].ID] {
			t.Fatalf("%s: id %q twice", show(pieces), h.calls[i].ID)
		}
		seen[h.calls[i].ID] = true
	}
	if d := diff.Diff(want, h.calls); d != "" {
		t.Fatalf("%s: calls (-want +got):\n%s", show(pieces), d)
	}
}

func show(pieces []callPiece) string {
	b, _ := json.Marshal(pieces)
	return string(b)
}

func piece(index int, id, name, args string) callPiece {
	p := callPiece{ID: id, Func: &callPieceFunc{name, args}}
	if index >= 0 {
		p.Index = &index
	}
	return p
}

// Arguments may be split after each byte, with or without an index, and the id may come
// with any of the pieces.
func TestChatCallsSplitAnywhere(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	const args = `{"title":"milk ☕","n":[1,{"a":null}]}`
	for at := range len(args) + 1 {
		if s := args[:at]; s != strings.ToValidUTF8(s, "") {
			continue // no JSON string ends inside a rune
		}
		for _, index := range []int{-1, 0, 7} {
			for _, ids := range [][2]string{{"a", ""}, {"a", "a"}, {"", "a"}, {"", ""}, {"a", "b"}} {
				checkPieces(t, codec, []callPiece{
					piece(index, ids[0], "create", args[:at]), piece(index, ids[1], "", args[at:]),
					piece(index, "z", "list", ""),
				})
			}
		}
	}
}

// pieceAlphabet is what the fuzzer's bytes pick from.
var pieceAlphabet = struct {
	indexes []int
	ids     []string
	names   []string
	args    []string
}{
	[]int{-1, 0, 1, 1000000},
	[]string{"", "a", "b", "123456789"},
	[]string{"", "list", "create"},
	[]string{"", `{}`, `{"a":`, `1}`, ` `, `[1]`, `{"b":"`, `x"}`, `}`},
}

func FuzzChatCalls(f *testing.F) {
	f.Add([]byte{1, 1, 1, 2, 1, 0, 0, 3})
	f.Add([]byte{0, 1, 1, 2, 0, 0, 0, 3, 0, 2, 2, 1})
	f.Add([]byte{1, 1, 1, 1, 1, 2, 2, 1, 2, 0, 1, 0})
	f.Add([]byte{1, 0, 1, 2, 1, 3, 0, 3, 0, 0, 0, 1})
	codec := testChat(f, model.Spec{})
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &pieceAlphabet
		var pieces []callPiece
		for ; len(data) >= 4 && len(pieces) < 64; data = data[4:] {
			pick := func(i, n int) int { return int(data[i]) % n }
			pieces = append(pieces, piece(a.indexes[pick(0, len(a.indexes))], a.ids[pick(1, len(a.ids))], a.names[pick(2, len(a.names))], a.args[pick(3, len(a.args))]))
		}
		checkPieces(t, codec, pieces)
	})
}

// FuzzChatAnswer feeds anything as chunks: nothing may panic, errors are of the known
// kinds, and what comes out is within the limits.
func FuzzChatAnswer(f *testing.F) {
	for _, rec := range readFuzzSeeds(f) {
		f.Add(rec)
	}
	f.Add([]byte("data: [DONE]\n\n"))
	codec := testChat(f, model.Spec{Generation: model.Generation{ThinkTags: "auto"}})
	f.Fuzz(func(t *testing.T, wire []byte) {
		h := observe(codec.NewAnswer(), splitBytes(wire))
		size := len(h.text) + len(h.thoughts)
		for _, c := range h.calls {
			if c.ID == "" || c.Name == "" || c.Arguments.Kind() != '{' {
				t.Fatalf("call %+v", c)
			}
		}
		if size > 2<<20+len(wire) {
			t.Fatalf("%d bytes of an answer", size)
		}
		var refusal *model.Refusal
		var blocked *model.Blocked
		var givenUp *model.GivenUp
		known := h.err == nil || errors.As(h.err, &refusal) || errors.As(h.err, &givenUp) || errors.As(h.err, &blocked) || errors.Is(h.err, model.ErrMalformedCall) ||
			errors.Is(h.err, model.ErrUnreadable) || errors.Is(h.err, model.ErrTooLarge) || errors.Is(h.err, model.ErrCut) || errors.Is(h.err, model.ErrNoText)
		if !known {
			t.Fatalf("an unknown error: %v", h.err)
		}
	})
}

func readFuzzSeeds(f *testing.F) (list [][]byte) {
	return [][]byte{
		[]byte(`data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"text":"a"}]},{"text":"b"}]}}]}` + "\n\n"),
		[]byte(`data: {"choices":[{"delta":{"content":"<think>a</think> b","tool_calls":[{"index":1.5,"id":"x","function":{"name":"n","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}` + "\n\n"),
		[]byte(`data: {"error":{"code":429,"message":"try again in 6.2s"}}` + "\n\n"),
		[]byte(`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"signature":"s"}]}}]}` + "\n\n"),
	}
}
