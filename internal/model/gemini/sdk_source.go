//go:build !nosdk

package gemini

import (
	"context"
	"fmt"

	"sluice/internal/model"
	"sluice/internal/model/gemini/sdk"
	"sluice/internal/turn/chat"
)

// openSDK returns the driver that makes its calls through generative-ai-go.
func openSDK() (driver, error) {
	client, err := sdk.New(sdk.Transport{})
	if err != nil {
		return nil, fmt.Errorf("gemini: generative-ai-go: %w", err)
	}
	return overSDK(client), nil
}

// overSDK returns the driver that goes through client.
func overSDK(client *sdk.Client) driver {
	return func(h *model.HTTP, c *codec, name string) model.Source {
		return &sdkSource{http: h, codec: c, client: client, model: name}
	}
}

// sdkSource is the source that lets the SDK make the call. Below the SDK it sends the body
// of the driver rest and reads the same events.
type sdkSource struct {
	http   *model.HTTP
	codec  *codec
	client *sdk.Client
	model  string
}

// Close implements model.Source.
func (s *sdkSource) Close() { s.http.Close() }

// Open implements model.Source.
func (s *sdkSource) Open(ctx context.Context, req *chat.ModelRequest, body *model.Body) (model.Stream, error) {
	raw, err := s.openRaw(ctx, req, body)
	if err != nil {
		return nil, err
	}
	return &sdkStream{sdkAnswer: raw, assembler: assembler{tools: &s.codec.tools}}, nil
}

// openRaw opens an answer whose chunks are not assembled.
func (s *sdkSource) openRaw(ctx context.Context, req *chat.ModelRequest, body *model.Body) (*sdkAnswer, error) {
	a := &sdkAnswer{records: records{http: s.http, codec: s.codec, body: body}}
	var err error
	if a.sdk, err = s.client.Open(ctx, sdkRequest(s.model, req), &a.records); err != nil {
		a.records.close()
		return nil, err
	}
	return a, nil
}

// sdkStream makes chunks of the chunks that came through the SDK.
type sdkStream struct {
	*sdkAnswer
	raw rawChunk
	assembler
}

// Next implements model.Stream.
func (s *sdkStream) Next(c *chat.Chunk) error {
	if err := s.nextChunk(&s.raw); err != nil {
		return err
	}
	return s.assembler.addChunk(&s.raw, c)
}

// End implements model.Stream.
func (s *sdkStream) End(c *chat.Chunk) error { return s.assembler.completeAnswer(c) }

// Listen registers p for comments in the stream.
func (s *sdkStream) Listen(p model.Pinged) { s.records.events.Listen(p) }

// Finished implements model.Stream.
func (s *sdkStream) Finished() bool { return s.assembler.hasFinish() }

// Stats implements model.Stream.
func (s *sdkStream) Stats() model.Stats { return s.assembler.answerStats() }

// Buffered implements model.Stream.
func (s *sdkStream) Buffered() bool { return s.buffered() }

// Close implements model.Stream.
func (s *sdkStream) Close() { s.close() }

// sdkAnswer is one call under way, with the SDK's view of it and our own.
type sdkAnswer struct {
	sdk     *sdk.Answer
	records records
}

// nextChunk takes one step of the SDK's iterator and the record that belongs to it.
func (a *sdkAnswer) nextChunk(c *rawChunk) error {
	parts, err := a.sdk.Next()
	if err != nil {
		return err
	}
	if !a.records.popRecord(c) || !takeOver(c, parts) {
		return sdk.OutOfStep()
	}
	return nil
}

// buffered reports whether an event can be read that the SDK has not seen yet.
func (a *sdkAnswer) buffered() bool { return a.records.events.Buffered() }

// close must be called once. It frees the connection.
func (a *sdkAnswer) close() {
	a.sdk.Close()
	a.records.close()
}

// records is the sdk.Upstream of a call. It records each chunk, complete, until its copy has
// come through the SDK.
type records struct {
	http   *model.HTTP
	codec  *codec
	body   *model.Body   // of the request
	events *model.Events // nil until the service has agreed to reply
	alike  pattern
	chunks []rawChunk // oldest first
	parts  []sdk.Part // reused by Next
}

// Open implements sdk.Upstream.
func (r *records) Open(ctx context.Context) (err error) {
	r.events, err = r.http.Send(ctx, r.body)
	return err
}

// Next implements sdk.Upstream.
func (r *records) Next() ([]sdk.Part, error) {
	n := len(r.chunks)
	if n == cap(r.chunks) {
		r.chunks = append(r.chunks, rawChunk{})
	}
	r.chunks = r.chunks[:n+1]
	c := &r.chunks[n]
	if err := r.readNext(c); err != nil {
		r.chunks = r.chunks[:n]
		return nil, err
	}
	r.parts = r.parts[:0]
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case p.call != nil:
			r.parts = append(r.parts, sdk.Part{Name: p.call.name, IsCall: true})
		case sdkHasType(p):
			r.parts = append(r.parts, sdk.Part{Text: p.text})
		}
	}
	return r.parts, nil
}

// readNext waits for the next event and decodes it into c, whose former content it overwrites.
func (r *records) readNext(c *rawChunk) error {
	_, data, err := r.events.Next()
	if err != nil {
		return err
	}
	return r.events.Decoded(r.codec.decodeEvent(data, c, &r.alike))
}

// sdkHasType reports whether the SDK has a type for p that we use. With some of the other
// parts it panics.
func sdkHasType(p *rawPart) bool { return p.call != nil || !p.foreign }

// popRecord puts the oldest record into c. It returns false if all records are taken.
func (r *records) popRecord(c *rawChunk) bool {
	n := len(r.chunks)
	if n == 0 {
		return false
	}
	oldest := r.chunks[0]
	copy(r.chunks, r.chunks[1:])
	r.chunks[n-1] = *c // for its room
	r.chunks = r.chunks[:n-1]
	*c = oldest
	return true
}

// close frees the connection.
func (r *records) close() {
	if r.events != nil {
		r.events.Close()
	}
}

// takeOver puts the texts and the names of calls that came through the SDK into the record c
// of the same chunk. It reports whether the two belong together.
func takeOver(c *rawChunk, parts []sdk.Part) bool {
	for i := range c.parts {
		p := &c.parts[i]
		if !sdkHasType(p) {
			continue
		}
		if len(parts) == 0 || parts[0].IsCall != (p.call != nil) {
			return false
		}
		if p.call != nil {
			p.call.name = parts[0].Name
		} else {
			p.text = parts[0].Text
		}
		parts = parts[1:]
	}
	return len(parts) == 0
}

// sdkRequest returns req as far as the SDK's types hold it. The codec fits the names in
// calls and results of the real request only.
func sdkRequest(name string, req *chat.ModelRequest) *sdk.Request {
	r := &sdk.Request{Model: name, System: req.System, NoTools: req.NoTools, Contents: sdkContents(req.Messages)}
	if req.Tools != nil {
		for i := range req.Tools.Specs {
			spec := &req.Tools.Specs[i]
			r.Tools = append(r.Tools, sdk.Tool{Name: fitName(spec.Name), Description: spec.Description})
		}
	}
	return r
}

// sdkContents returns the messages by the rules of appendContents.
func sdkContents(messages []chat.Message) (contents []sdk.Content) {
	var last *chat.Message
	for i := range messages {
		msg := &messages[i]
		if !hasParts(msg) {
			continue
		}
		if !continuesContent(last, msg) {
			contents = append(contents, sdk.Content{Role: msg.Role})
		}
		c := &contents[len(contents)-1]
		for j := range msg.Parts {
			if !isOmitted(&msg.Parts[j]) {
				c.Parts = append(c.Parts, &msg.Parts[j])
			}
		}
		last = msg
	}
	return contents
}
