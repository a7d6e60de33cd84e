package geminisim

import (
	"unicode/utf8"
)

// answer streams the offline model's reply to a request that passed the checks.
func (s *Server) answer(out *reply, req *request, digest string) {
	out.model = ModelVersion
	o := think(readTurn(req, s.cfg.Now))
	if out.sleep(s.cfg.FirstDelay) != nil {
		return // the client is gone
	}
	message := ""
	if len(o.calls) > 0 && out.framing == framingUnary { // seen in unary answers alone
		message = "Model generated function call(s)."
	}
	for i, c := range o.chunks(req, digest) {
		if i > 0 && out.sleep(s.cfg.Pace) != nil {
			return
		}
		if out.chunk(c.parts, c.finish, message, c.usage) != nil {
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

// chunks cuts an answer as the API does: thought summaries, then each call in a
// chunk of its own, the first one signed, or the text a few words at a time, and
// at last an empty one with the finish reason. Usage grows on the way.
func (o output) chunks(req *request, digest string) []piece {
	prompt := promptTokens(req)
	thinking, said := 0, 0
	var pieces []piece
	add := func(p outPart) {
		pieces = append(pieces, piece{parts: []outPart{p}, usage: newUsage(prompt, said, thinking)})
	}
	for _, text := range o.thoughts {
		thinking += tokens(text) // billed also where no summary is asked for
		if req.GenerationConfig.ThinkingConfig.IncludeThoughts {
			add(thoughtPart(text))
		}
	}
	for i, c := range o.calls {
		call := &outCall{Name: c.name, Args: c.object(), ID: callID(digest, i)}
		p := outPart{FunctionCall: call}
		if i == 0 {
			p.ThoughtSignature = sign(callKey(&functionCall{ID: call.ID, Name: call.Name, Args: call.Args}))
		}
		said += tokens(c.name + string(call.Args))
		add(p)
	}
	for _, words := range fewWords(o.text) {
		said += tokens(words)
		add(textPart(words))
	}
	last := textPart("")
	if o.text != "" && digest[0]%3 == 0 { // as now and then with the real API
		last.ThoughtSignature = sign(digest)
	}
	return append(pieces, piece{parts: []outPart{last}, finish: "STOP", usage: newUsage(prompt, said, thinking)})
}

var wordBlank = rawPattern(`\S+\s*|\s+`)

// fewWords cuts a text into pieces: one word, so that it starts early, then four
// at a time. Joined they are the text.
func fewWords(text string) []string {
	var pieces []string
	size, count := 1, 0
	current := ""
	for _, w := range wordBlank.FindAllString(text, -1) {
		current += w
		if count++; count == size {
			pieces = append(pieces, current)
			current, count, size = "", 0, 4
		}
	}
	if current != "" {
		pieces = append(pieces, current)
	}
	return pieces
}

// tokens estimates: about four characters make one.
func tokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

func promptTokens(req *request) int {
	n := 0
	count := func(c content) {
		for _, p := range c.Parts {
			switch {
			case p.Text != nil:
				n += tokens(*p.Text)
			case p.FunctionCall != nil:
				n += tokens(p.FunctionCall.Name + string(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				n += tokens(p.FunctionResponse.Name + string(p.FunctionResponse.Response))
			}
		}
	}
	if req.SystemInstruction != nil {
		count(*req.SystemInstruction)
	}
	for _, c := range req.Contents {
		count(c)
	}
	for _, t := range req.Tools {
		for _, d := range t.FunctionDeclarations {
			n += tokens(d.Name + d.Description + string(d.Parameters) + string(d.ParametersJSONSchema))
		}
	}
	return n
}
