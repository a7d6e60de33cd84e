package wholetest

import (
	"encoding/json"
	"net/http"
)

// judgeProblem judges a reply other than a stream.
func (j *judgement) judgeProblem(r WireReply) {
	var p struct {
		Type, Title, Detail string
		Status              int
		ErrorType           string           `json:"error_type"`
		RequestID           string           `json:"request_id"`
		Errors              []map[string]any `json:"errors"`
	}
	err := json.Unmarshal([]byte(r.Body), &p)
	j.must(err == nil, "no JSON: %v", err)
	j.must(r.Header.Get("Content-Type") == "application/problem+json", "Content-Type %q", r.Header.Get("Content-Type"))
	j.must(p.Type == "about:blank" && p.Title == http.StatusText(r.Status) && p.Status == r.Status && p.Detail != "", "problem %+v", p)
	j.must(p.RequestID == RequestID, "request_id %q", p.RequestID)
	want := map[int]string{
		422: "validation_error", 413: "payload_too_large", 415: "unsupported_media_type", 405: "method_not_allowed",
		404: "not_found", 403: "origin_refused", 409: "duplicate_request", 408: "request_timeout",
	}
	j.must(p.ErrorType == want[r.Status], "error_type %q with status %d", p.ErrorType, r.Status)
	j.must((len(p.Errors) > 0) == (r.Status == 422), "%d faulty fields with status %d", len(p.Errors), r.Status)
	for _, e := range p.Errors {
		j.must(len(e) == 3 && e["field"] != nil && e["code"] != nil && e["message"] != nil, "a faulty field is told as %v", e)
	}
	j.must((r.Header.Get("Allow") != "") == (r.Status == http.StatusMethodNotAllowed), "Allow: %q", r.Header.Get("Allow"))
	j.must(r.Calls == 0, "Gemini was asked before the request was refused")
}
