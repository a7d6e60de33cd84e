package gateway_test

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// behindPrefix serves as a proxy that takes a prefix away, and returns its address with the
// prefix. Whether it hands the host on, keepsHost says.
func behindPrefix(t *testing.T, base string, keepsHost bool) string {
	t.Helper()
	const prefix = "/assistant"
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	// A transport of its own: a server of another test that ends closes connections of the shared one.
	proxy := &httputil.ReverseProxy{Transport: gatewaytest.NewClient(t).Transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if keepsHost {
			r.Out.Host = r.In.Host
		}
	}}
	return gatewaytest.ServeHandler(t, http.StripPrefix(prefix, proxy)) + prefix
}

// Every front end's protocol works below a prefix that a proxy takes away: clients make all
// addresses of the one that they are given, and no reply names another. A page of the proxy's
// own host is no foreign one, if the proxy hands the host on.
func TestFrontEndsBehindAPrefix(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, map[string]string{"SLUICE_STORE": "memory"})
	at := behindPrefix(t, r.Base, true)
	own := at[:strings.LastIndex(at, "/")]
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodPost, "/chat/stream", `{"input":"Show my todos"}`, http.StatusOK, "event: done\n"},
		{http.MethodPost, "/api/chat", `{"id":"c","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"Show my todos"}]}]}`, http.StatusOK, "data: [DONE]\n"},
		{http.MethodGet, "/api/chat/c/stream", "", http.StatusNoContent, ""},
		{http.MethodDelete, "/api/chat/c/stream", "", http.StatusNoContent, ""},
		{http.MethodPost, "/agui", `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Show my todos"}]}`, http.StatusOK, `"type":"RUN_FINISHED"`},
		{http.MethodPost, "/v1/chat/completions", `{"model":"sluice","messages":[{"role":"user","content":"Show my todos"}]}`, http.StatusOK, `"finish_reason":"stop"`},
		{http.MethodPost, "/v1/responses", `{"model":"sluice","input":"Show my todos"}`, http.StatusOK, `"status":"completed"`},
		{http.MethodGet, "/v1/responses/resp_none", "", http.StatusNotFound, `"error":{`},
		{http.MethodGet, "/v1/models/sluice", "", http.StatusOK, `"id":"sluice"`},
		{http.MethodGet, "/v1/models/sluice%2Fnobody", "", http.StatusNotFound, `"code":"model_not_found"`},
		{http.MethodGet, "/v1/elsewhere", "", http.StatusNotFound, `"type":"invalid_request_error"`},
		{http.MethodPost, "/chatkit", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"Show my todos"}],"attachments":[],"inference_options":{}}}}`, http.StatusOK, `"type":"thread.item.done"`},
	} {
		status, got := sendFrom(t, own, tt.method, at+tt.path, tt.body)
		if status != tt.status || !strings.Contains(got, tt.want) || strings.Contains(got, r.Base) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, got)
		}
	}
	if _, got := sendFrom(t, "https://elsewhere.example", http.MethodPost, at+"/agui", `{}`); !strings.Contains(got, `"error_type":"origin_refused"`) {
		t.Errorf("a foreign page got %s", got)
	}
	hidden := behindPrefix(t, r.Base, false)
	if _, got := sendFrom(t, hidden[:strings.LastIndex(hidden, "/")], http.MethodPost, hidden+"/agui", `{}`); !strings.Contains(got, `"error_type":"origin_refused"`) {
		t.Errorf("a page whose host is not handed on got %s", got)
	}
}

// sendFrom sends a request as a page of an origin.
func sendFrom(t *testing.T, origin, method, url, body string) (status int, reply string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", origin)
	resp, err := gatewaytest.NewClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
