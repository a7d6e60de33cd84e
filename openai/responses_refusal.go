package openai

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// Refuse reads the body of a reply whose status is not 2xx.
func (c *responsesCodec) Refuse(status int, header http.Header, body []byte) *model.Refusal {
	r := responsesRefusal(status, header, body)
	if responsesHas(c.spec.Extra, r.Member) {
		r.Member = "" // what extra sets is the operator's wish
	}
	return r
}

// responsesRefusal reads an error: an object with the members of one, or with one in its
// member error, or an array with such an object.
func responsesRefusal(status int, header http.Header, body []byte) *model.Refusal {
	r := &model.Refusal{Status: status, NoRetry: header.Get("X-Should-Retry") == "false"}
	v := jsontext.Value(body)
	if list := responsesElements(v); len(list) > 0 {
		v = list[0]
	}
	if e := responsesMember(v, "error"); e.Kind() == '{' || e.Kind() == '"' {
		v = e
	}
	if v.Kind() == '"' {
		r.Message = responsesWord(v)
		return r
	}
	code := responsesWord(responsesMember(v, "code"))
	r.Type, r.Code = model.Word(responsesWord(responsesMember(v, "type"))), model.Word(code)
	r.Message = responsesWord(responsesMember(v, "message"))
	if n, err := strconv.Atoi(code); err == nil && r.Status == 0 && n >= 400 && n < 600 {
		r.Status = n
	}
	r.Kind = responsesRefusalKind(r.Code)
	if r.Kind == model.KindStatus {
		r.Kind = responsesRefusalKind(r.Type)
	}
	if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity {
		r.Member = responsesNamed(responsesWord(responsesMember(v, "param")))
	}
	return r
}

func responsesRefusalKind(word string) model.Kind {
	switch word {
	case "insufficient_quota":
		return model.KindQuota
	case "content_filter":
		return model.KindBlocked
	case "tool_use_failed":
		return model.KindMalformed
	case "authentication_error", "invalid_api_key", "model_not_found":
		return model.KindMisconfigured
	case "invalid_request_error", "invalid_prompt":
		return model.KindRejected
	case "server_error":
		return model.KindServer
	}
	switch {
	case strings.HasPrefix(word, "rate_limit"):
		return model.KindRateLimited
	case strings.HasPrefix(word, "context_length"):
		return model.KindOverflow
	}
	return model.KindStatus
}

// responsesNamed returns the member of ours that an error's param names, "" if it is
// none that can stay away.
func responsesNamed(param string) string {
	for _, m := range []string{"reasoning.effort", "reasoning.summary", "reasoning", "include", "temperature", "tool_choice", "text.format"} {
		if param == m || strings.HasPrefix(param, m+".") || strings.HasPrefix(param, m+"[") {
			return m
		}
	}
	if param == "strict" || strings.HasSuffix(param, ".strict") {
		return "strict"
	}
	return ""
}

// responsesHas says whether the object extra sets the member, a path with dots.
func responsesHas(extra jsontext.Value, member string) bool {
	if member == "" {
		return false
	}
	for name := range strings.SplitSeq(member, ".") {
		members := responsesMembers(extra)
		i := slices.IndexFunc(members, func(m responsesPair) bool { return m.name == name })
		if i < 0 {
			return false
		}
		extra = members[i].value
	}
	return true
}

// responsesWord returns what v says, if it is a string or a number, else "".
func responsesWord(v jsontext.Value) string {
	switch v.Kind() {
	case '0':
		return string(v)
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v)
		return string(b)
	}
	return ""
}

// responsesElements returns the elements of an array, nil for what is none.
func responsesElements(v jsontext.Value) (list []jsontext.Value) {
	if v.Kind() == '[' {
		_ = json.Unmarshal(v, &list, responsesLenient)
	}
	return list
}
