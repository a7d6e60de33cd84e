package model

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"sluice/internal/turn/chat"
)

// A provider that refuses a request names the member that it does not take in one of many ways. A
// name in a field of the error counts. A name in the message alone may be a quotation: the text
// "stream_options is not supported" from one person must not take that member from everybody's
// requests.

// maxNaming is how long a message may be that names a member: longer ones quote.
const maxNaming = 300

// maxQuoted is how many bytes in a row of a text may stand in a message that names a
// member, and one more.
const maxQuoted = 16

// badRequest reports whether the request itself was refused.
func (e *Refusal) badRequest() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
}

// settleMember decides which member of req the refusal is about. It clears r.Member if that is
// uncertain. A request for a form may be refused in words that no codec knows.
func (r *Refusal) settleMember(req *chat.ModelRequest) {
	if !r.badRequest() || r.Member != "" && !r.Guessed {
		return
	}
	if r.refusesCalls(req) {
		r.Member = memberCalls
		return
	}
	if r.Member == "" && !r.isOfForm(req) {
		return
	}
	if r.mayQuote(req) {
		r.Member = ""
		return
	}
	r.Member = cmp.Or(r.Member, memberForm)
}

func (r *Refusal) mayQuote(req *chat.ModelRequest) bool {
	return len(r.Message) > maxNaming || quotesRequest(r.Message, req)
}

// isOfForm reports whether the words of a refusal name the form that the request asks for.
func (r *Refusal) isOfForm(req *chat.ModelRequest) bool {
	return req.Form.Kind != chat.FormText && namesForm.MatchString(r.Message)
}

// memberForm stands for the form of the answer, whatever it is called.
const memberForm = "response_format"

// namesForm finds what services call the form of an answer: "This response_format type is
// unavailable now", "does not support response format `json_schema`", "JSON mode is not
// enabled", "invalid format", "The specified schema produces a constraint", "failed to parse
// grammar".
var namesForm = regexp.MustCompile(`(?i)response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]?outputs?|\btext\.format|output_(config|format)|guided|grammar|response[_ ]?mime[_ ]?type|\bschema\b|invalid format`)

// isForm reports whether a member of a request asks for a form.
func isForm(member string) bool {
	switch member {
	case memberForm, "text", "text.format", "output_config.format", "responseJsonSchema", "responseMimeType":
		return true
	}
	return strings.HasPrefix(member, memberForm+".")
}

// quotesRequest reports whether a message contains maxQuoted consecutive bytes of a text, a call or
// a result in req.
func quotesRequest(message string, req *chat.ModelRequest) bool {
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if quotesPart(message, &req.Messages[i].Parts[j]) {
				return true
			}
		}
	}
	return false
}

func quotesPart(message string, p *chat.Part) bool {
	return haveCommonText(message, p.Text) || p.Call != nil && haveCommonText(message, string(p.Call.Arguments)) ||
		p.Result != nil && haveCommonText(message, p.Result.Text)
}

// haveCommonText reports whether maxQuoted bytes in a row stand in both. A row of that length holds
// one of the blocks of half of it that message is cut into, so it is enough to look for
// these in text, and around them.
func haveCommonText(message, text string) bool {
	const block = maxQuoted / 2
	for at := 0; at+block <= len(message); at += block {
		for from := 0; ; {
			n := strings.Index(text[from:], message[at:at+block])
			if n < 0 {
				break
			}
			if from += n; commonLength(message, at, text, from) >= maxQuoted {
				return true
			}
			from++
		}
	}
	return false
}

// commonLength returns how many bytes are the same in a row around a[i] and b[j], at most
// 2*maxQuoted.
func commonLength(a string, i int, b string, j int) (n int) {
	for n < maxQuoted && i+n < len(a) && j+n < len(b) && a[i+n] == b[j+n] {
		n++
	}
	for back := 1; back <= maxQuoted && back <= i && back <= j && a[i-back] == b[j-back]; back++ {
		n++
	}
	return n
}
