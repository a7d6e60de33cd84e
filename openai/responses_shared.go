package openai

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// What both codecs of this package need.

// responsesLenient lets half a surrogate pass, which becomes U+FFFD: a delta may end
// inside a character. Of members of one name the last counts.
var responsesLenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// responsesString appends s as a JSON string. The error would tell of bytes that are
// not UTF-8 and were replaced.
func responsesString[S string | []byte | jsontext.Value](b []byte, s S) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// maxResponsesCallID is how long an id of a call may be that is taken over: it stands in
// events and goes back with each request. The longest seen have some 120 bytes.
const maxResponsesCallID = 256

// responsesNewID returns nine letters and digits, an id that every protocol takes.
func responsesNewID() string { return rand.Text()[:9] }

// responsesFit returns name with what the API does not take replaced.
func responsesFit(name string) string {
	if name == "" {
		return "_"
	}
	fitted := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-':
			return r
		}
		return '_'
	}, name)
	return fitted[:min(len(fitted), 64)]
}

// responsesParameters returns a tool's schema with the members that the API insists on.
func responsesParameters(schema jsontext.Value) jsontext.Value {
	const none = `{"type":"object","properties":{}}`
	if schema.Kind() != '{' || !schema.IsValid() {
		return jsontext.Value(none)
	}
	if responsesWord(responsesMember(schema, "type")) == "object" && responsesMember(schema, "properties").Kind() == '{' {
		return schema
	}
	patch := []byte(`{"type":"object"`)
	if responsesMember(schema, "properties").Kind() != '{' {
		patch = append(patch, `,"properties":{}`...)
	}
	return responsesMerge(nil, schema, append(patch, '}'))
}

// responsesPair is a member of an object.
type responsesPair struct {
	name  string
	value jsontext.Value
}

// responsesMembers returns the members of an object, in their order; nil for what is none.
func responsesMembers(object jsontext.Value) (list []responsesPair) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), responsesLenient)
	if d.PeekKind() != '{' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		s := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := d.InputOffset()
		list = append(list, responsesPair{s, object[end-int64(len(value)) : end]})
	}
	return list
}

// responsesMerge appends base with patch merged into it: objects member by member,
// anything else replaced, and null takes a member away (RFC 7396).
func responsesMerge(b []byte, base, patch jsontext.Value) []byte {
	if patch.Kind() != '{' {
		return append(b, patch...)
	}
	changes := responsesMembers(patch)
	start := len(b)
	b = append(b, '{')
	put := func(name string, base, patch jsontext.Value) {
		if patch.Kind() == 'n' {
			return
		}
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(responsesString(b, name), ':')
		if patch == nil {
			b = append(b, base...)
		} else {
			b = responsesMerge(b, base, patch)
		}
	}
	done := make([]bool, len(changes))
	for _, m := range responsesMembers(base) {
		var change jsontext.Value
		for i := range changes {
			if changes[i].name == m.name {
				change, done[i] = changes[i].value, true
			}
		}
		put(m.name, m.value, change)
	}
	for i := range changes {
		if !done[i] {
			put(changes[i].name, nil, changes[i].value)
		}
	}
	return append(b, '}')
}

// maxResponsesStrict is how deep a schema may be nested that is asked for strictly: the
// API's own limit is 10 levels of objects.
const maxResponsesStrict = 10

// responsesStrict says whether a schema is within what the API enforces: each object
// closed and all its members required, and no keyword beyond those that it lists
// (https://platform.openai.com/docs/guides/structured-outputs).
func responsesStrict(schema jsontext.Value, depth int) bool {
	if schema.Kind() != '{' || depth > 2*maxResponsesStrict {
		return false
	}
	var properties, required, additional jsontext.Value
	kind := ""
	for _, m := range responsesMembers(schema) {
		switch m.name {
		case "type":
			kind = responsesWord(m.value)
		case "properties":
			properties = m.value
		case "required":
			required = m.value
		case "additionalProperties":
			additional = m.value
		case "items":
			if !responsesStrict(m.value, depth+1) {
				return false
			}
		case "anyOf":
			if depth == 1 {
				return false // not at the root
			}
			for _, branch := range responsesElements(m.value) {
				if !responsesStrict(branch, depth+1) {
					return false
				}
			}
		case "title", "description", "enum", "const", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
		default:
			return false
		}
	}
	if kind != "object" && properties == nil {
		return depth > 1
	}
	if additional.Kind() != 'f' {
		return false
	}
	needed := map[string]bool{}
	for _, name := range responsesElements(required) {
		needed[responsesWord(name)] = true
	}
	for _, m := range responsesMembers(properties) {
		if !needed[m.name] || !responsesStrict(m.value, depth+1) {
			return false
		}
	}
	return true
}

// responsesMember returns the value of the named member of an object, or nil.
func responsesMember(object jsontext.Value, name string) jsontext.Value {
	for _, m := range responsesMembers(object) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// responsesRefusal reads an error: an object with the members of one, or with one in its
// member error, or an array with such an object.
func responsesRefusal(status int, header http.Header, body []byte, ours []string) *model.Refusal {
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
		r.Member = responsesNamed(responsesWord(responsesMember(v, "param")), ours)
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

// responsesNamed returns which of ours a param begins with or, for strict, ends in.
func responsesNamed(param string, ours []string) string {
	if strings.HasSuffix(param, ".strict") {
		param = "strict"
	}
	for _, name := range ours {
		if param == name || strings.HasPrefix(param, name+".") || strings.HasPrefix(param, name+"[") {
			return name
		}
	}
	return ""
}

// responsesHas says whether the object extra sets the member, a path with dots.
func responsesHas(extra jsontext.Value, member string) bool {
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
