package geminisim

import (
	"unicode"
	"unicode/utf8"
)

// streamAnswer streams the model's reply to a request that passed the checks.
func (s *Server) streamAnswer(out *reply, req *request, digest string) {
	out.model = s.cfg.Model.Version()
	o := Respond(s.cfg.Model, s.cfg.Roles, req.newQuestion())
	if out.sleep(s.cfg.FirstDelay) != nil {
		return // the client is gone
	}
	message := ""
	if len(o.Calls) > 0 && out.framing == framingUnary { // seen in unary answers alone
		message = "Model generated function call(s)."
	}
	for i, c := range cutAnswer(o, req, digest) {
		if i > 0 && out.sleep(s.cfg.Pace) != nil {
			return
		}
		if out.sendChunk(c.parts, c.finish, message, c.usage) != nil {
			return
		}
	}
	_ = out.end() // fails only when the client is gone
}

// piece is one chunk before it is written.
type piece struct {
	parts  []outPart
	finish string
	usage  *usage
}

// cutAnswer cuts an answer as the API does: thought summaries, then each call in a
// chunk of its own, the first one signed, or the text a few words at a time, and
// at last an empty one with the finish reason. Usage grows on the way.
func cutAnswer(o Answer, req *request, digest string) []piece {
	prompt := promptTokens(req)
	thinking, said := 0, 0
	var pieces []piece
	add := func(p outPart) {
		pieces = append(pieces, piece{parts: []outPart{p}, usage: newUsage(prompt, said, thinking)})
	}
	for _, text := range o.Thoughts {
		thinking += estimateTokens(text) // billed also where no summary is asked for
		if req.GenerationConfig.ThinkingConfig.IncludeThoughts {
			add(thoughtPart(text))
		}
	}
	for i, c := range o.Calls {
		call := &outCall{Name: c.Name, Args: c.Args, ID: callID(digest, i)}
		p := outPart{FunctionCall: call}
		if i == 0 {
			p.ThoughtSignature = signWords(callKey(&functionCall{ID: call.ID, Name: call.Name, Args: call.Args}))
		}
		said += estimateTokens(c.Name + string(call.Args))
		add(p)
	}
	for _, words := range o.Deltas(fewWords) {
		said += estimateTokens(words)
		add(textPart(words))
	}
	last := textPart("")
	if o.Text != "" && digest[0]%3 == 0 { // as now and then with the real API
		last.ThoughtSignature = signWords(digest)
	}
	return append(pieces, piece{parts: []outPart{last}, finish: "STOP", usage: newUsage(prompt, said, thinking)})
}

// fewWords cuts a text into pieces: one word, so that it starts early, then four
// at a time, each with the blanks behind it. Joined they are the text.
func fewWords(text string) []string {
	var pieces []string
	start, count, size := 0, 0, 1
	blank := false
	for i, r := range text {
		if space := unicode.IsSpace(r); !space && blank {
			if count++; count == size {
				pieces = append(pieces, text[start:i])
				start, count, size = i, 0, 4
			}
			blank = false
		} else {
			blank = space
		}
	}
	if rest := text[start:]; rest != "" {
		pieces = append(pieces, rest)
	}
	return pieces
}

// estimateTokens estimates: about four characters make one.
func estimateTokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

// tokens counts those of a content.
func (c *content) tokens() (n int) {
	for _, p := range c.Parts {
		switch {
		case p.Text != nil:
			n += estimateTokens(*p.Text)
		case p.FunctionCall != nil:
			n += estimateTokens(p.FunctionCall.Name + string(p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			n += estimateTokens(p.FunctionResponse.Name + string(p.FunctionResponse.Response))
		}
	}
	return n
}

// promptTokens counts the request roughly as a tokenizer would. Tests rely on
// it to grow with the conversation, not on its value.
func promptTokens(req *request) int {
	n := 0
	if req.SystemInstruction != nil {
		n += req.SystemInstruction.tokens()
	}
	for _, c := range req.Contents {
		n += c.tokens()
	}
	for _, t := range req.Tools {
		for _, d := range t.FunctionDeclarations {
			n += estimateTokens(d.Name + d.Description + string(d.Parameters) + string(d.ParametersJSONSchema))
		}
	}
	return n
}
