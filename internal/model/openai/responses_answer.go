// This file reads an answer of the Responses API. Text is shown as its deltas come;
// everything that goes back later (ids, phases, encrypted reasoning) is taken from the
// items that are done, because only these are final.

package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// responsesAnswer reads the events of one answer. Text comes in deltas. Calls and kept parts are
// read from the item that is done, because its id may differ from that of the deltas and of the
// announced item.
type responsesAnswer struct {
	codec   *responsesCodec
	decoder responsesDecoder
	tools   *tool.Set // on offer; nil: not known

	usage      chat.Usage
	hasUsage   bool
	finish     model.FinishWords
	stats      model.Stats
	budget     model.Budget // of all that was taken
	announced  int          // bytes of arguments that were counted; the item that is done has them again
	ids        model.IDs    // of the calls
	calls      responsesCalls
	texts      responsesTexts // of the message at hand
	thoughts   responsesTexts // of the reasoning at hand
	kind       responsesKind  // of its deltas that count; 0: none came
	done       []string       // ids of the items that are done, calls left out
	held       []chat.Part    // for the next text or the end: until then the answer may be asked for again
	reasoned   bool           // a reasoning item is kept
	isDocument bool           // the reply is one document
	halves     [2]pending     // of text and of thoughts: half characters at the end of a delta
	malformed  error          // of a call that is of no use; it does not count if the answer was cut off
}

// Reset makes a ready for another answer.
func (a *responsesAnswer) Reset() {
	*a = responsesAnswer{codec: a.codec, decoder: a.decoder}
	a.decoder.begin(nil) // let go of the data
}

// SetRequest implements model.Asker.
func (a *responsesAnswer) SetRequest(req *chat.ModelRequest) {
	a.tools = req.Tools
	a.ids.ResetFor(req.Messages)
}

// Stats returns the figures of the answer so far, for the log.
func (a *responsesAnswer) Stats() model.Stats {
	a.stats.Size = a.budget.Size
	return a.stats
}

// HasEnded says that the response has ended.
func (a *responsesAnswer) HasEnded() bool { return a.finish.End != model.EndNone }

// Finished is the same: the event that says how the response ends is the last one.
func (a *responsesAnswer) Finished() bool { return a.HasEnded() }

// Decode reads one event.
//
// Events behind the end are ignored. An event that is not known says nothing.
func (a *responsesAnswer) Decode(name string, data []byte, c *chat.Chunk) error {
	if a.HasEnded() || string(data) == "[DONE]" { // which some send, as in Chat Completions
		return nil
	}
	ev, err := a.decoder.readEvent(name, data)
	if err != nil {
		return err
	}
	switch ev.kind {
	case responsesText:
		return a.addDelta(&ev, false, c)
	case responsesSummary, responsesReasoning:
		return a.addThought(&ev, c)
	case responsesArguments, responsesArgumentsDone, responsesItemAdded:
		return a.announceCall(&ev)
	case responsesItemDone:
		return a.addItem(ev.item, ev.place.item, c)
	case responsesCompleted, responsesIncomplete, responsesFailed:
		body, err := a.decoder.readBody(ev.response)
		if err != nil {
			return err
		}
		return a.judgeEnd(ev.kind, &body, c)
	case responsesError:
		return a.refusedError(ev.failure)
	case responsesPing:
		a.stats.Pings++
	}
	return nil
}

// DecodeDocument reads a reply that is a response in one piece.
//
// The items are taken as if each had just been done, with their texts.
func (a *responsesAnswer) DecodeDocument(data []byte, c *chat.Chunk) error {
	if jsontext.Value(data).Kind() != '{' {
		return fmt.Errorf("%w: no object", model.ErrUnreadable)
	}
	body, err := a.decoder.readBody(data)
	if err != nil {
		return err
	}
	kind := responsesCompleted
	switch {
	case body.failure != nil:
		kind = responsesFailed
	case body.output.Kind() != '[':
		return fmt.Errorf("%w: no output", model.ErrUnreadable)
	}
	a.isDocument = true
	for _, item := range model.Elements(body.output) {
		if err := a.addItem(item, -1, c); err != nil {
			return err
		}
	}
	return a.judgeEnd(kind, &body, c)
}

// End completes the answer.
//
// A malformed call counts only in an answer that is whole: one that was cut at its limit
// often ends within a call.
func (a *responsesAnswer) End(c *chat.Chunk) error {
	if err := a.addText(string(a.halves[0].flush(nil)), a.texts.place, false, c); err != nil {
		return err
	}
	a.appendHeld(c)
	c.Finish = chat.FinishStop
	if a.hasUsage {
		c.Usage = &a.usage
	}
	switch {
	case a.finish.End == model.EndNone:
		return model.ErrCut
	case a.finish.End == model.EndMaxTokens:
		c.Finish = chat.FinishMaxTokens
		return nil // a call that was cut off as well is dropped
	case a.malformed != nil:
		return a.malformed
	case a.stats.TextLength == 0 && !a.ids.Any():
		return model.ErrNoText
	}
	return nil
}

// addThought takes a piece of reasoning. Some servers send it twice, as reasoning and as its summary:
// the kind that comes first counts.
func (a *responsesAnswer) addThought(ev *responsesEvent, c *chat.Chunk) error {
	if ev.place.item >= 0 && ev.place.item != a.thoughts.place.item {
		a.kind = responsesOther
	}
	if a.kind == responsesOther {
		a.kind = ev.kind
	}
	if a.kind != ev.kind {
		return nil
	}
	return a.addDelta(ev, true, c)
}

// addDelta takes a piece of text. null is allowed, as some servers send it; any other
// type is a fault of the answer.
func (a *responsesAnswer) addDelta(ev *responsesEvent, thought bool, c *chat.Chunk) error {
	switch ev.delta.Kind() {
	case '"':
		place := ev.place
		if !thought {
			place.part = -1 // parts of a message are one text
		}
		return a.addText(a.goesOn(ev.delta, thought), place, thought, c)
	case 'n', 0: // null, or none
		return nil
	}
	return a.decoder.unreadableError(errWrongType)
}

// announceCall takes the events of a call before its item is done.
func (a *responsesAnswer) announceCall(ev *responsesEvent) error {
	if ev.kind == responsesItemAdded {
		if ev.item.Kind() != '{' {
			return nil
		}
		item, err := a.decoder.readItem(ev.item)
		if err != nil || item.kind != "function_call" {
			return err
		}
		a.calls.addCall(ev.place.item, &item)
		a.announced += len(item.arguments)
		return a.budget.Grow(callOverhead + len(item.name) + len(item.callID) + len(item.id) + len(item.arguments))
	}
	grown := len(ev.delta)
	if call := a.calls.targetCall(ev); call != nil {
		grown = call.acceptArguments(ev)
	}
	a.announced += grown
	return a.budget.Grow(grown) // a sign of life
}

// goesOn returns the text of a delta, together with the half of a character that the one
// before it ended in.
func (a *responsesAnswer) goesOn(v jsontext.Value, thought bool) string {
	half := &a.halves[0]
	if thought {
		half = &a.halves[1]
	}
	d := &a.decoder
	d.text = half.unquote(d.text[:0], v)
	return string(d.text)
}

// addText adds text to the chunk. An empty piece does not make a part, because a part looks like
// progress.
func (a *responsesAnswer) addText(s string, at responsesPlace, thought bool, c *chat.Chunk) error {
	if s == "" {
		return nil
	}
	texts := &a.texts
	if thought {
		texts = &a.thoughts
	}
	s = texts.nextText(s, at)
	if !thought {
		a.appendHeld(c)
		a.stats.TextLength += len(s)
	}
	c.Parts = append(c.Parts, chat.Part{Text: s, Thought: thought})
	return a.budget.Grow(len(s))
}

// responsesTexts keeps texts apart that are not one: those of several messages, or of several parts
// of a summary.
type responsesTexts struct {
	begun   bool           // some text came
	hasText bool           // some text came of the item at hand
	place   responsesPlace // of the latest text
	lines   int            // how many line breaks the latest text ends in
}

// nextText returns the next text. It begins with a blank line if it belongs to another item or part
// than the text before.
func (t *responsesTexts) nextText(s string, at responsesPlace) string {
	other := !t.hasText || areDifferent(at.item, t.place.item) || areDifferent(at.part, t.place.part)
	if t.begun && other {
		lines := t.lines + len(s) - len(strings.TrimLeft(s, "\n"))
		s = blankLine[min(lines, len(blankLine)):] + s
	}
	t.begun, t.hasText, t.place = true, true, at
	t.lines = len(s) - len(strings.TrimRight(s, "\n"))
	return s
}

// blankLine is what keeps two texts apart.
const blankLine = "\n\n"

// areDifferent reports whether two numbers of places are known and not the same.
func areDifferent(a, b int) bool { return a >= 0 && b >= 0 && a != b }

// holdPart keeps p until something is shown after it, or the answer ends, and counts its size
// against the bound of an answer.
func (a *responsesAnswer) holdPart(p chat.Part, size int) error {
	a.held = append(a.held, p)
	return a.budget.Grow(size)
}

// appendHeld hands on the held parts.
func (a *responsesAnswer) appendHeld(c *chat.Chunk) {
	c.Parts = append(c.Parts, a.held...)
	a.held = nil
}

// addItem takes an item that is done. Its texts mostly came as deltas before. A repeated item is
// ignored.
//
// v is part of the event's data: kept bytes are copied.
func (a *responsesAnswer) addItem(v jsontext.Value, place int, c *chat.Chunk) error {
	if v.Kind() != '{' {
		return nil
	}
	item, err := a.decoder.readItem(v)
	if err != nil {
		return err
	}
	switch item.kind {
	case "message":
		return a.addMessage(&item, c)
	case "reasoning":
		return a.addReasoning(v, &item, c)
	case "function_call":
		a.calls.completeItem(place, &item)
		return a.addCall(&item)
	}
	return nil // tools that the provider runs itself, and future types
}

// isRepeat reports whether an item was done before. Ids are few, and may be missing.
func (a *responsesAnswer) isRepeat(item *responsesItem) bool {
	if item.id == "" || len(item.id) > maxResponsesID {
		return false
	}
	if slices.Contains(a.done, item.id) {
		return true
	}
	if len(a.done) < maxItems {
		a.done = append(a.done, item.id)
	}
	return false
}

// maxItems bounds the ids that are looked through.
const maxItems = 64

// addMessage keeps the phase of a message for the texts before it, because models that distinguish
// comments from answers want it back. After reasoning it keeps the id too. A text without deltas is
// taken from here.
func (a *responsesAnswer) addMessage(item *responsesItem, c *chat.Chunk) error {
	if a.isRepeat(item) {
		return nil
	}
	if !a.texts.hasText {
		none := responsesPlace{-1, -1}
		err := a.decoder.readTexts(item.content, func(s string) error { return a.addText(s, none, false, c) })
		if err != nil {
			return err
		}
	}
	a.texts.hasText = false
	kept := responsesKept{id: a.linkedID(item), phase: item.phase}
	if kept == (responsesKept{}) || len(kept.phase) > maxResponsesID {
		return nil
	}
	return a.holdPart(chat.Part{Kept: kept.messageJSON()}, len(kept.id)+len(kept.phase))
}

// linkedID returns the id of an item that reasoning led to: a reasoning item that goes back
// is answered with 400 unless the item that followed it does so under its id.
func (a *responsesAnswer) linkedID(item *responsesItem) string {
	if !a.reasoned || len(item.id) > maxResponsesID {
		return ""
	}
	return item.id
}

// canReturn reports whether a thought says something to the provider in the next request.
func (a *responsesAnswer) canReturn(item *responsesItem) bool {
	return a.codec.stored || item.sealed || len(model.Elements(item.content)) > 0
}

// addReasoning keeps the item as it is. An item that is useless without the provider's memory does
// not go back: the API replies 404 to an id alone, as nothing was stored. A summary without deltas
// is taken from here. In a document without a summary the reasoning itself is taken.
func (a *responsesAnswer) addReasoning(v jsontext.Value, item *responsesItem, c *chat.Chunk) error {
	if a.isRepeat(item) {
		return nil
	}
	for i, texts := range []jsontext.Value{item.summary, item.content} {
		if a.thoughts.hasText || i > 0 && !a.isDocument {
			break
		}
		at := responsesPlace{-1, -1}
		err := a.decoder.readTexts(texts, func(s string) error {
			at.part++
			return a.addText(s, at, true, c)
		})
		if err != nil {
			return err
		}
	}
	a.thoughts.hasText, a.kind = false, responsesOther
	if !a.canReturn(item) || !v.IsValid() {
		return nil
	}
	a.reasoned = true
	return a.holdPart(chat.Part{Kept: string(v)}, len(v))
}

// addCall takes a call that is whole, unless it came before. Whether its arguments fit the tool is
// not judged here: the model reads it.
func (a *responsesAnswer) addCall(item *responsesItem) error {
	args := model.FirstArguments(item.arguments)
	reason := model.CallFault(item.name, args)
	if item.status == "incomplete" {
		reason = "it is not complete"
	}
	if reason != "" {
		a.malformed = &model.Malformed{Reason: reason}
		return nil
	}
	args = args.Clone() // it is the event's
	call := a.codec.tools.Called(a.tools, &a.ids, item.callID, item.name, args)
	if call == nil {
		return a.budget.Grow(len(args))
	}
	kept := responsesKept{id: a.linkedID(item)}
	size := len(call.ID) + len(kept.id) + len(item.name) + max(0, len(args)-a.announced)
	a.announced = 0
	return a.holdPart(chat.Part{Call: call, Kept: kept.callJSON()}, size)
}

// judgeEnd reads how the response ended. The status says more than the event and wins.
//
// A status that names no end leaves the answer open; the stream must continue, or it was cut.
func (a *responsesAnswer) judgeEnd(kind responsesKind, body *responsesBody, c *chat.Chunk) error {
	if body.hasUsage {
		a.usage, a.hasUsage = body.usage, true
		c.Usage = &a.usage
	}
	a.stats.Model = body.model
	switch {
	case kind == responsesFailed || body.status == "failed" || body.status == "cancelled":
		a.stats.Finish = model.Word(body.status)
		return a.refusedError(body.failure)
	case kind == responsesIncomplete || body.status == "incomplete":
		a.setIncomplete(body.reason)
	case body.status == "queued" || body.status == "in_progress":
		a.finish.Word = body.status // no end
	default:
		a.finish.Add([]byte(cmp.Or(body.status, "completed")))
	}
	a.stats.Finish, a.stats.Unknown = model.Word(a.finish.Word), model.Word(a.finish.Unknown)
	if err := a.finish.Err(); err != nil {
		return err
	}
	if !a.HasEnded() {
		return nil
	}
	return a.addMissing(body, c)
}

// setIncomplete takes the reason why a response is not complete. An unknown or harmless reason
// counts as a limit of tokens.
func (a *responsesAnswer) setIncomplete(reason string) {
	end, known := model.EndOf(reason)
	if end == model.EndStop {
		end = model.EndMaxTokens
	}
	a.finish.Word = reason
	a.finish.Set(end, known || reason == "")
}

// addMissing takes the parts of the whole response that no event brought: the text with the
// thoughts before it, and announced calls. Other calls count only if the answer is empty so far.
func (a *responsesAnswer) addMissing(body *responsesBody, c *chat.Chunk) error {
	nothing, silent := a.stats.TextLength == 0 && !a.ids.Any(), a.stats.TextLength == 0
	var output []responsesItem // the calls
	for _, v := range model.Elements(body.output) {
		item, err := a.decoder.readItem(v)
		switch {
		case err != nil:
			return err
		case item.kind == "message" && silent:
			err = a.addMessage(&item, c)
		case item.kind == "reasoning" && silent:
			err = a.addReasoning(v, &item, c)
		case item.kind == "function_call" && nothing && len(a.calls.list) == 0:
			err = a.addCall(&item)
		case item.kind == "function_call":
			output = append(output, item)
		}
		if err != nil {
			return err
		}
	}
	if a.finish.End != model.EndStop {
		return nil // a call that was not done was cut
	}
	for item := range a.calls.unfinishedCalls(output) {
		if err := a.addCall(item); err != nil {
			return err
		}
	}
	return nil
}

// refusedError reads the error member of a response that failed. An HTTP status is missing, because
// the stream began with 200.
func (a *responsesAnswer) refusedError(failure jsontext.Value) error {
	r := a.codec.Refuse(0, nil, failure)
	if r.Kind == model.KindBlocked {
		return &model.Blocked{Reason: "content_filter"}
	}
	return r
}
