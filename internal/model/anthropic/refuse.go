package anthropic

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// errorKinds holds the meaning of the API's error types, and the status of each (docs.claude.com,
// "Errors"). In a stream there is only the type.
var errorKinds = map[string]struct {
	kind   model.Kind
	status int
}{
	"invalid_request_error": {model.KindRejected, http.StatusBadRequest},
	"authentication_error":  {model.KindMisconfigured, http.StatusUnauthorized},
	"billing_error":         {model.KindQuota, http.StatusPaymentRequired},
	"permission_error":      {model.KindMisconfigured, http.StatusForbidden},
	"not_found_error":       {model.KindMisconfigured, http.StatusNotFound},
	"request_too_large":     {model.KindOverflow, http.StatusRequestEntityTooLarge},
	"rate_limit_error":      {model.KindRateLimited, http.StatusTooManyRequests},
	"timeout_error":         {model.KindServer, http.StatusGatewayTimeout},
	"overloaded_error":      {model.KindServer, statusOverloaded},
	"api_error":             {model.KindServer, http.StatusInternalServerError},
}

// statusOverloaded is the API's own.
const statusOverloaded = 529

// Refuse reads an error. A status counts, except for faults that only the message names.
func (c *codec) Refuse(status int, header http.Header, body []byte) *model.Refusal {
	typ, code, message := errorOf(body)
	r := &model.Refusal{Status: status, Type: model.Word(typ), Code: model.Word(code), Message: message, NoRetry: header.Get("X-Should-Retry") == "false"}
	usual := errorKinds[typ] // KindStatus if the type is not known
	switch {
	case status == 0:
		r.Kind, r.Status = usual.kind, usual.status
		if r.Kind == model.KindStatus && !isSilent(typ+code+message, body) {
			r.Kind = model.KindServer
		}
	case status == usual.status:
		r.Kind = usual.kind
	}
	r.Kind = kindOfMessage(r, message)
	if isBadRequest(status) && r.Kind != model.KindOverflow {
		r.Member = c.memberIn(message)
		r.Guessed = r.Member != ""
	}
	return r
}

// errorOf reads an error body. Its member error is an object or a text. It returns empty texts for
// an unreadable body.
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

// kindOfMessage returns the kind of r. The message decides for faults that share a type.
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

// isSilent reports whether an object without the words of an error may be something else than an
// error.
func isSilent(words string, body jsontext.Value) bool { return words == "" && body.Kind() == '{' }

// isBadRequest reports whether a status refuses a request for its content.
func isBadRequest(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// memberIn returns the one of our members that the API does not take, by its message, or "".
// Messages about the conversation name other members than ours, and so does the advice behind a
// fault. Therefore thinking is looked for first.
func (c *codec) memberIn(message string) string {
	text := strings.ToLower(message)
	if strings.Contains(text, memberCacheControl) && !c.isConfigured(memberCacheControl) {
		return memberCacheControl
	}
	if isOfConversation(text) {
		return ""
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
		if mentionsWord(text, m.word) && !c.isConfigured(m.member) {
			return m.member
		}
	}
	return ""
}

// isOfConversation reports whether a message names a place in the conversation.
func isOfConversation(text string) bool {
	for _, place := range []string{"messages", "tools", "system"} {
		if strings.HasPrefix(strings.TrimLeft(text, "`\"'"), place) {
			return true
		}
	}
	return false
}

// mentionsWord reports whether word stands in text as a word of its own, or as part of a path.
func mentionsWord(text, word string) bool {
	return regexp.MustCompile(`(^|[^a-z_])` + regexp.QuoteMeta(word) + `($|[^a-z_])`).MatchString(text)
}

// isConfigured reports whether the configuration gave that member: it is not left out because it was
// refused.
func (c *codec) isConfigured(member string) bool { return c.extra.HasPath(member) }
