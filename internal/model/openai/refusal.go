// This file reads errors of both protocols. The forms differ: OpenAI's object, a string, an array
// around it, pydantic's list, Google's status. The result has the kind of the failure, for a retry,
// a fallback and the error of the caller. It also has the refused member of our request, so that
// the next request omits it.
//
// A provider's text is kept for the log and is not shown to callers.

package openai

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// saysError reports whether the value of a member error is one: an object, a string, or an
// array that holds one.
func saysError(v jsontext.Value) bool {
	switch v.Kind() {
	case '{':
		return true
	case '"':
		return len(v) > len(`""`)
	case '[':
		return len(model.Elements(v)) > 0
	}
	return false
}

// readRefusal reads an error body, or the value of a member error. Whatever it holds, it
// is an error: members of a wrong type are left out. ours are the members of requests
// that may be refused, as Omit names them.
func readRefusal(status int, body jsontext.Value, ours []string) *model.Refusal {
	e := errorObject(body)
	if inner := passedOn(e); inner != nil {
		e = inner
	}
	typ, code := e.Get("type"), e.Get("code")
	r := &model.Refusal{
		Status:  status,
		Type:    cmp.Or(model.Word(model.Unquote(typ)), model.Word(model.Unquote(e.Get("status")))), // Google's name
		Code:    model.Word(scalarText(code)),
		Message: errorText(e),
	}
	if r.Status == 0 {
		r.Status = errorStatus(e)
	}
	r.Kind = kindOf(r)
	if r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity {
		if e == nil && len(body) <= maxPlain {
			r.Message = strings.TrimSpace(string(body))
		}
		r.Member, r.Guessed = refusedMember(e, r.Message, ours)
		r.Place = placeOf(e)
	}
	r.RetryAfter = max(model.WaitIn(r.Message), retryInfo(e.Get("details")))
	return r
}

// maxPlain is how long an error may be that is not JSON but a sentence, as DeepSeek's about
// members that it does not accept.
const maxPlain = 512

// passedOn returns e with the error of the provider behind OpenRouter, from metadata.raw. It
// replaces OpenRouter's own message, "Provider returned error". It returns nil without such an
// error.
func passedOn(e model.Object) model.Object {
	raw := model.Unquote(model.Members(e.Get("metadata")).Get("raw"))
	if raw == "" {
		return nil
	}
	said := e.Without("message", "metadata")
	inner := errorObject(jsontext.Value(raw))
	if inner == nil {
		said.Set("message", model.AppendString(nil, raw))
	}
	for _, m := range inner {
		if m.Name != "code" || e.Get("code") == nil {
			said.Set(m.Name, m.Value)
		}
	}
	return said
}

// errorObject finds the error in a body: {"error": …}, [{"error": …}], or the error itself. A text
// becomes the message.
//
// It returns nil if the body does not contain an error. The search goes down four levels at most.
func errorObject(v jsontext.Value) model.Object {
	for range 4 { // an array in an error in an array
		switch v.Kind() {
		case '[':
			list := model.Elements(v)
			if len(list) == 0 {
				return nil
			}
			v = list[0]
		case '"':
			return model.Object{{Name: "message", Value: v}}
		case '{':
			o := model.Members(v)
			inner := o.Get("error")
			if !saysError(inner) {
				return o
			}
			if inner.Kind() == '"' { // next to other members, as in those of Hugging Face's servers
				o = o.Without("error", "message")
				o.Set("message", inner)
				return o
			}
			v = inner
		default:
			return nil
		}
	}
	return nil
}

// errorStatus returns an error's own HTTP status, or 0.
func errorStatus(e model.Object) int {
	for _, name := range []string{"status_code", "code", "status"} {
		if n, err := strconv.Atoi(scalarText(e.Get(name))); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}

// errorText returns the text of an error. If it is not a string, as Mistral's, it returns the JSON.
func errorText(e model.Object) string {
	for _, name := range []string{"message", "detail", "error"} {
		switch v := e.Get(name); v.Kind() {
		case '"':
			return model.Unquote(v)
		case '{', '[':
			return string(v)
		}
	}
	return ""
}

// kinds maps codes and types of errors to kinds, whatever the status.
var kinds = map[string]model.Kind{
	"insufficient_quota":        model.KindQuota,
	"tool_use_failed":           model.KindMalformed, // Groq's, for a call that the model wrote
	"json_validate_failed":      model.KindMalformed,
	"content_filter":            model.KindBlocked,
	"invalid_api_key":           model.KindMisconfigured, // also as a 400
	"model_not_found":           model.KindMisconfigured,
	"exceed_context_size_error": model.KindOverflow, // llama.cpp's
}

// kindOf returns the meaning of the provider's words, beyond the status.
//
// The provider's code wins over the status, since several services reply 400 or 429 to other
// faults. A status of 0 means that the error came within a stream.
func kindOf(r *model.Refusal) model.Kind {
	if kind, ok := kindOfCode(r); ok {
		return kind
	}
	switch r.Status {
	case 0:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if tooLong.MatchString(r.Message) {
			return model.KindOverflow
		}
		return model.KindStatus
	default:
		return model.KindStatus
	}
	if r.Type+r.Code+r.Message == "" {
		return model.KindStatus // it may be something else than an error
	}
	return kindInStream(r)
}

// kindOfCode returns the kind for a code that counts with any status.
func kindOfCode(r *model.Refusal) (kind model.Kind, ok bool) {
	for _, word := range []string{r.Code, r.Type} {
		if kind, ok := kinds[word]; ok {
			return kind, true
		}
		if strings.HasPrefix(word, "context_length") {
			return model.KindOverflow, true
		}
	}
	return model.KindStatus, false
}

// kindInStream returns the kind of an error without a status.
func kindInStream(r *model.Refusal) model.Kind {
	for _, word := range []string{r.Code, r.Type} {
		switch {
		case strings.HasPrefix(word, "rate_limit"):
			return model.KindRateLimited
		case word == "authentication_error":
			return model.KindMisconfigured
		case word == "invalid_request_error" && tooLong.MatchString(r.Message):
			return model.KindOverflow
		case word == "invalid_request_error", word == "invalid_prompt":
			return model.KindRejected
		}
	}
	return model.KindServer
}

// tooLong matches the texts of providers without a code for a request that is too long.
var tooLong = regexp.MustCompile(`(?i)(maximum|exceeds?( the)?( available)?|model's) (model )?context|context (length|window|size) (is )?(exceeded|of)|prompt is too long|too many (input )?tokens`)

// retryInfo reads the google.rpc.RetryInfo among an error's details.
func retryInfo(details jsontext.Value) (wait time.Duration) {
	for _, v := range model.Elements(details) {
		wait = max(wait, model.ParseWait(model.Unquote(model.Members(v).Get("retryDelay"))))
	}
	return wait
}

// refusedMember returns the one of our members that an error names as refused, or "". guessed is
// true if the name stands in the text alone.
//
// It returns "" rather than guess: a member that is omitted by mistake is missing for as
// long as the process runs. Text is searched only if it says that something is not taken.
func refusedMember(e model.Object, text string, ours []string) (name string, guessed bool) {
	if param := model.Unquote(e.Get("param")); param != "" {
		name := memberOf(param, ours)
		if name != "" && isLimit(name) && !refuses.MatchString(text+" "+model.Unquote(e.Get("code"))) {
			return "", false // of its value only
		}
		return name, false
	}
	for _, v := range e {
		if name := inDetail(v.Value, ours, 0); name != "" {
			return name, false
		}
	}
	name = inText(text, ours)
	return name, name != ""
}

// inText returns which of our members a text names as one that is not taken, or "".
func inText(text string, ours []string) string {
	if !refuses.MatchString(text) {
		return ""
	}
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		if name := memberOf(m[1], ours); name != "" {
			return name
		}
	}
	for _, m := range bareName.FindAllString(text, -1) {
		if name := memberOf(m, ours); name != "" && m != "strict" {
			return name
		}
	}
	return ""
}

// isLimit reports whether a member carries a number that can be wrong by itself.
func isLimit(name string) bool { return name == "max_tokens" || name == "max_completion_tokens" }

var (
	// refuses finds that something is not taken at all.
	refuses = regexp.MustCompile(`(?i)unsupported|not? (\w+ )?support|unknown|unrecogni[sz]ed|not permitted|not allowed|forbidden|unexpected|unavailable|cannot find field|deprecated|not available`)
	// quotedName finds a name in quotes, such as Unknown name "stream_options".
	quotedName = regexp.MustCompile("[\"'`]([A-Za-z_][A-Za-z0-9_.\\[\\]]*)[\"'`]")
	// bareName finds a name that stands for itself.
	bareName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*[A-Za-z0-9_]`)
)

// memberOf returns the one of ours that a path is, begins with or, for strict, ends in.
func memberOf(path string, ours []string) string {
	path = strings.TrimPrefix(path, "body.")
	if path == "strict" || strings.HasSuffix(path, ".strict") {
		path = "strict"
	}
	if i := strings.LastIndex(path, "."+cacheMark); i >= 0 { // it stands deep in a message
		path = path[i+1:]
	}
	name := beginsWith(path, ours)
	if head, _, _ := strings.Cut(path, "."); name == "" && (head == "reasoningEffort" || head == "reasoning") {
		return beginsWith("reasoning_effort", ours) // xAI's and others' words for it
	}
	return name
}

// beginsWith returns the one of ours that path is or begins with. If one of ours begins
// another, the longer one must stand first.
func beginsWith(path string, ours []string) string {
	for _, name := range ours {
		if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return name
		}
	}
	return ""
}

// maxDetailDepth bounds the search in an error for the reports of validators.
const maxDetailDepth = 6

// inDetail finds what pydantic's validator reports, in Mistral's and vLLM's errors: an
// "extra_forbidden" with its place, such as ["body", "stream_options"]. The form of the
// answer has values that a provider may not take.
//
// v may be any value of the error: the report stands in different places.
func inDetail(v jsontext.Value, ours []string, depth int) string {
	if depth > maxDetailDepth {
		return ""
	}
	for _, el := range model.Elements(v) {
		if name := inDetail(el, ours, depth+1); name != "" {
			return name
		}
	}
	o := model.Members(v)
	if name, found := inReport(o, ours); found {
		return name
	}
	for _, m := range o {
		if name := inDetail(m.Value, ours, depth+1); name != "" {
			return name
		}
	}
	return ""
}

// placeOf returns the place in the request that an error is about: param, or the loc of a validator's
// report.
func placeOf(e model.Object) string {
	if param := model.Unquote(e.Get("param")); param != "" {
		return param
	}
	return locIn(e.JSON(), 0)
}

// locIn returns the first loc in v, its parts joined with points, or "".
func locIn(v jsontext.Value, depth int) string {
	if depth > maxDetailDepth {
		return ""
	}
	for _, el := range model.Elements(v) {
		if loc := locIn(el, depth+1); loc != "" {
			return loc
		}
	}
	for _, m := range model.Members(v) {
		if parts := model.Elements(m.Value); m.Name == "loc" && len(parts) > 0 {
			return joinLoc(parts)
		}
		if loc := locIn(m.Value, depth+1); loc != "" {
			return loc
		}
	}
	return ""
}

// joinLoc returns the parts of a loc, texts and numbers, with points between them.
func joinLoc(parts []jsontext.Value) string {
	var b []byte
	for i, part := range parts {
		if i > 0 {
			b = append(b, '.')
		}
		b = append(b, bytes.Trim(part, `"`)...)
	}
	return string(b)
}

// inReport returns the member in a report of the validator. found is false if o does not report a
// refused member.
func inReport(o model.Object, ours []string) (name string, found bool) {
	loc := model.Strings(o.Get("loc"))
	if len(loc) == 0 {
		return "", false
	}
	name = memberOf(strings.TrimPrefix(strings.Join(loc, "."), "body."), ours)
	return name, model.Unquote(o.Get("type")) == "extra_forbidden" || name == "response_format" || name == "text.format"
}
