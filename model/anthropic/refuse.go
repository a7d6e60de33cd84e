package anthropic

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// errorKind is what the API's types of errors mean, and the status that each comes
// with (docs.claude.com, "Errors"). In a stream there is only the type.
func errorKind(typ string) (model.Kind, int) {
	switch typ {
	case "invalid_request_error":
		return model.KindRejected, http.StatusBadRequest
	case "authentication_error":
		return model.KindMisconfigured, http.StatusUnauthorized
	case "billing_error":
		return model.KindQuota, http.StatusPaymentRequired
	case "permission_error":
		return model.KindMisconfigured, http.StatusForbidden
	case "not_found_error":
		return model.KindMisconfigured, http.StatusNotFound
	case "request_too_large":
		return model.KindOverflow, http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return model.KindRateLimited, http.StatusTooManyRequests
	case "timeout_error":
		return model.KindServer, http.StatusGatewayTimeout
	case "overloaded_error":
		return model.KindServer, statusOverloaded
	case "api_error":
		return model.KindServer, http.StatusInternalServerError
	}
	return model.KindStatus, 0
}

// statusOverloaded is the API's own.
const statusOverloaded = 529

// Refuse reads an error. With a status, the status counts, except for what only the message
// says.
func (c *codec) Refuse(status int, header http.Header, body []byte) *model.Refusal {
	typ, code, message := errorOf(body)
	r := &model.Refusal{Status: status, Type: model.Word(typ), Code: model.Word(code), Message: message, NoRetry: header.Get("X-Should-Retry") == "false"}
	kind, usual := errorKind(typ)
	switch {
	case status == 0:
		r.Kind, r.Status = kind, usual
		if kind == model.KindStatus && (typ+code+message != "" || jsontext.Value(body).Kind() != '{') { // else it may be no error at all
			r.Kind = model.KindServer
		}
	case status == usual:
		r.Kind = kind
	}
	r.Kind = kindOfMessage(r, message)
	if (r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity) && status != 0 && r.Kind != model.KindOverflow {
		r.Member = c.memberIn(message)
		r.Guessed = r.Member != ""
	}
	return r
}

// errorOf reads what the body says: an object with an error, which is an object or a
// text, or nothing that can be read.
func errorOf(body []byte) (typ, code, message string) {
	var outer struct {
		Error   jsontext.Value `json:"error"`
		Type    jsontext.Value `json:"type"`
		Message jsontext.Value `json:"message"`
	}
	_ = json.Unmarshal(body, &outer, model.Tolerant())
	switch outer.Error.Kind() {
	case '{':
		var e struct {
			Type    jsontext.Value `json:"type"`
			Code    jsontext.Value `json:"code"`
			Message jsontext.Value `json:"message"`
		}
		_ = json.Unmarshal(outer.Error, &e, model.Tolerant())
		return model.Unquote(e.Type), model.Unquote(e.Code), model.Unquote(e.Message)
	case '"':
		return "", "", model.Unquote(outer.Error)
	}
	return model.Unquote(outer.Type), "", model.Unquote(outer.Message)
}

// kindOfMessage returns what r means, where several faults share a type and the
// message alone says which it is.
func kindOfMessage(r *model.Refusal, message string) model.Kind {
	text := strings.ToLower(message)
	switch {
	case r.Status == http.StatusRequestEntityTooLarge:
		return model.KindOverflow
	case r.Status != http.StatusBadRequest:
		return r.Kind
	case strings.Contains(text, "prompt is too long"), strings.Contains(text, "exceed context limit"), strings.Contains(text, "context window"):
		return model.KindOverflow
	case strings.Contains(text, "credit balance"), strings.Contains(text, "usage limits"):
		return model.KindQuota
	case strings.Contains(text, "content filtering policy"):
		return model.KindBlocked
	}
	return r.Kind
}

// memberIn returns the member of ours that the message says the API does not take, or
// "". Messages about the conversation name members that are not ours; so does the
// advice that follows a fault, which is why thinking is looked for first.
func (c *codec) memberIn(message string) string {
	text := strings.ToLower(message)
	if strings.Contains(text, memberCacheControl) && !c.sets(memberCacheControl) {
		return memberCacheControl
	}
	for _, place := range []string{"messages", "tools", "system"} {
		if strings.HasPrefix(strings.TrimLeft(text, "`\"'"), place) {
			return ""
		}
	}
	for _, m := range []struct{ word, member string }{
		{"output_config.format", memberFormat},
		{"output_format", memberFormat},
		{"temperature", memberTemperature},
		{"thinking", memberThinking},
		{"tool_choice", memberToolChoice},
		{"effort", memberEffort},
		{"output_config", memberFormat},
	} {
		if mentions(text, m.word) && !c.sets(m.member) {
			return m.member
		}
	}
	return ""
}

// mentions says whether word stands in text as a word of its own, or as part of a path.
func mentions(text, word string) bool {
	return regexp.MustCompile(`(^|[^a-z_])` + regexp.QuoteMeta(word) + `($|[^a-z_])`).MatchString(text)
}

// sets says whether the configuration gave that member: it is not left out because it was
// refused.
func (c *codec) sets(member string) bool { return c.extra.HasPath(member) }
