package modelsim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A whole answer says what the stream says, in each protocol and for a request without stream too.
func TestWholeAnswersSayWhatStreamsSay(t *testing.T) {
	t.Parallel()
	const plan = `text Two words; call f {"a":1}; tokens 12 34 5 6; reasoning content; thought Hm`
	for path, at := range map[string]struct {
		text, name, args, input, output []any
		argsText                        bool
	}{
		chatPath: {
			[]any{"choices", 0, "message", "content"}, []any{"choices", 0, "message", "tool_calls", 0, "function", "name"},
			[]any{"choices", 0, "message", "tool_calls", 0, "function", "arguments"}, []any{"usage", "prompt_tokens"}, []any{"usage", "completion_tokens"}, true,
		},
		responsesPath: {
			[]any{"output", 1, "content", 0, "text"}, []any{"output", 2, "name"}, []any{"output", 2, "arguments"},
			[]any{"usage", "input_tokens"}, []any{"usage", "output_tokens"}, true,
		},
		messagesPath: {
			[]any{"content", 1, "text"}, []any{"content", 2, "name"}, []any{"content", 2, "input"},
			[]any{"usage", "input_tokens"}, []any{"usage", "output_tokens"}, false,
		},
	} {
		for _, how := range []string{"whole", "no stream"} {
			_, url := serve(t, Config{})
			c := newClient(path, "s", "hi", todoTools(t))
			directives := plan
			if how == "whole" {
				directives += "; whole"
			} else {
				delete(c.body, "stream")
				delete(c.body, "stream_options")
			}
			resp, body := post(t, url+path, directives, c.body)
			answer := parse(t, body)
			args := dig(answer, at.args...)
			if at.argsText {
				args = any(parse(t, str(args)))
			}
			got := fmt.Sprint(dig(answer, at.text...), dig(answer, at.name...), args, dig(answer, at.input...), dig(answer, at.output...))
			want := fmt.Sprint("Two words", "f", any(m{"a": 1.0}), any(12.0), any(39.0))
			if path == messagesPath { // what a cache gave is counted apart
				want = fmt.Sprint("Two words", "f", any(m{"a": 1.0}), any(6.0), any(39.0))
			}
			if got != want || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %s: %s, want %s\n%s", path, how, got, want, body)
			}
		}
	}
}

// The ids of calls in the forms of real servers, in all protocols.
func TestIDsOfCalls(t *testing.T) {
	t.Parallel()
	const plan = `call f {"a":1}; call g; ids `
	for _, path := range []string{chatPath, responsesPath, messagesPath} {
		for form, fits := range map[string]func(a, b string) bool{
			"repeated": func(a, b string) bool { return a == b && a != "" },
			"nine":     func(a, b string) bool { return isNine(a) && isNine(b) && a != b },
			"odd":      func(a, b string) bool { return a == "functions.call:0" && b == "functions.call:1" },
		} {
			_, url := serve(t, Config{})
			c := newClient(path, "s", "hi", todoTools(t))
			h := c.next(t, url, plan+form)
			if len(h.calls) != 2 || !fits(h.calls[0].id, h.calls[1].id) {
				t.Errorf("%s %s: %d calls, %.40q", path, form, len(h.calls), fmt.Sprint(h.calls))
			}
		}
		_, url := serve(t, Config{})
		c := newClient(path, "s", "hi", todoTools(t))
		if _, body := post(t, url+path, plan+"long", c.body); !strings.Contains(body, strings.Repeat("i", 1<<20)) {
			t.Errorf("%s: no id of a megabyte", path)
		}
		one, two := c.next(t, url, plan[:len(plan)-5]), c.next(t, url, plan[:len(plan)-5])
		if diff := cmp.Diff(one.calls, two.calls, cmp.AllowUnexported(observedCall{})); diff != "" {
			t.Errorf("%s: the same request has other ids\n%s", path, diff)
		}
	}
}

// What is not a request of a protocol is answered before anything is looked at.
func TestRequestsOfNoProtocol(t *testing.T) {
	t.Parallel()
	s, url := serve(t, Config{})
	send := func(method, path string, body io.Reader) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("X-Modelsim") != "simulator" || resp.Header.Get("Server") != "modelsim" {
			t.Errorf("%s %s passes for a real answer: %v", method, path, resp.Header)
		}
		return resp.StatusCode, string(text)
	}
	if status, _ := send(http.MethodGet, chatPath, nil); status != http.StatusNotFound {
		t.Errorf("GET: %d", status)
	}
	if status, _ := send(http.MethodPost, "/v1/completions", nil); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
	if s.Calls() != 0 {
		t.Errorf("%d calls were counted", s.Calls())
	}
	if status, text := send(http.MethodPost, chatPath, strings.NewReader(`{"a":1,"a":2}`)); status != http.StatusBadRequest || !strings.Contains(text, "could not parse the JSON body") {
		t.Errorf("a name twice: %d %s", status, text)
	}
	if status, text := send(http.MethodPost, chatPath, bytes.NewReader(make([]byte, maxBody+1))); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, `"message":"The request could not be read."`) {
		t.Errorf("too large: %d %s", status, text)
	}
	if got, want := s.Failures(), []string{"request 1: We could not parse the JSON body of your request. (a rule of the simulator: no duplicate names, no invalid UTF-8)"}; cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

// What is kept has bounds, and is the caller's own copy.
func TestWhatAServerKeeps(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	send := func(body string) {
		req := httptest.NewRequest(http.MethodPost, chatPath, strings.NewReader(body))
		req.Header.Set("X-Test", "1")
		s.ServeHTTP(httptest.NewRecorder(), req)
	}
	for range keptFailure + 1 {
		send("{")
	}
	for range keptCalls {
		send(`{"model":"m","messages":[` + hi + `]}`)
	}
	if s.Calls() != keptFailure+1+keptCalls || len(s.Requests()) != keptCalls || len(s.Failures()) != keptFailure {
		t.Errorf("%d calls, %d requests, %d failures", s.Calls(), len(s.Requests()), len(s.Failures()))
	}
	first := s.Requests()[0]
	if first.Path != chatPath || string(first.Body) != "{" || first.Header.Get("X-Test") != "1" {
		t.Errorf("kept %+v", first)
	}
	s.Requests()[0].Path, s.Failures()[0] = "x", "x"
	if s.Requests()[0].Path == "x" || s.Failures()[0] == "x" {
		t.Error("the caller changed what the server keeps")
	}
}

// Directives of a request come after those of the script, and win.
func TestDirectivesOfTheRequestWin(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Script: script(t, "text a\nfinish length\nloop")})
	c := newClient(chatPath, "s", "hi", todoTools(t))
	if h := c.next(t, url, ""); h.text != "a" || h.finish != "length" {
		t.Errorf("the script alone: %+v", h)
	}
	if h := c.next(t, url, "text b; finish stop"); h.text != "ab" || h.finish != "stop" {
		t.Errorf("with the request's: %+v", h)
	}
	resp, body := post(t, url+chatPath, "speak", c.body)
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `unknown directive \"speak\"`) {
		t.Errorf("a directive that is none: %d %s", resp.StatusCode, body)
	}
}

// Pauses stand before the first event and between two, never before a refusal.
func TestPauses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, directives string
		cfg              Config
		want             time.Duration
	}{
		{"none", "text a", Config{}, 0},
		{"of the server", "text a", Config{FirstDelay: 5 * time.Second, Pace: time.Second}, 8 * time.Second},
		{"of the request", "text a; first 7s; pace 2s", Config{FirstDelay: time.Second}, 13 * time.Second},
		{"a whole answer has no pace", "text a; whole", Config{FirstDelay: 5 * time.Second, Pace: time.Second}, 5 * time.Second},
		{"an error is at once", "error 503", Config{FirstDelay: 5 * time.Second}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := httptest.NewRequest(http.MethodPost, chatPath, bytes.NewReader(encodeJSON(newClient(chatPath, "s", "hi", todoTools(t)).body)))
				req.Header.Set(directivesHeader, tt.directives)
				begin := time.Now()
				New(tt.cfg).ServeHTTP(httptest.NewRecorder(), req)
				if got := time.Since(begin); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

// Nobody is waited for who has left: an answer ends in the pause at hand.
func TestClientThatLeavesInAPause(t *testing.T) {
	t.Parallel()
	for directives, events := range map[string]int{"text a; first 5s": 0, "text a; pace 2s": 2, "text a; first 5s; whole": 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
			defer leave()
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, chatPath, bytes.NewReader(encodeJSON(newClient(chatPath, "s", "hi", todoTools(t)).body)))
			req.Header.Set(directivesHeader, directives)
			w, begin := httptest.NewRecorder(), time.Now()
			New(Config{}).ServeHTTP(w, req)
			if got, n := time.Since(begin), strings.Count(w.Body.String(), "data:"); got != 3*time.Second || n != events || events == 0 && w.Body.Len() > 0 {
				t.Errorf("%s: %d events in %v: %s", directives, n, got, w.Body)
			}
		})
	}
}

// Each status has its type, in the words of both vendors.
func TestTypesOfErrors(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	for status, want := range map[int][2]string{
		400: {"invalid_request_error", "invalid_request_error"}, 401: {"authentication_error", "authentication_error"}, 403: {"permission_error", "permission_error"},
		404: {"not_found_error", "not_found_error"}, 413: {"invalid_request_error", "invalid_request_error"}, 429: {"rate_limit_error", "rate_limit_error"},
		500: {"server_error", "api_error"}, 503: {"server_error", "api_error"}, 529: {"overloaded_error", "overloaded_error"},
	} {
		for i, path := range []string{chatPath, messagesPath} {
			resp, body := post(t, url+path, fmt.Sprint("error ", status, " Slow down"), m{})
			e := dig(parse(t, body), "error")
			if resp.StatusCode != status || str(dig(e, "type")) != want[i] || str(dig(e, "message")) != "Slow down" {
				t.Errorf("%s %d: %d %s", path, status, resp.StatusCode, body)
			}
		}
	}
	resp, body := post(t, url+chatPath, "error 418", m{})
	if resp.StatusCode != 418 || str(dig(parse(t, body), "error", "message")) != "I'm a teapot" || resp.Header.Get("X-Request-Id") != "req_modelsim" {
		t.Errorf("an error without a message: %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

// Two servers of one name take what the other signed; keys are looked for where a protocol has them.
func TestNamesAndKeys(t *testing.T) {
	t.Parallel()
	_, one := serve(t, Config{Name: "a"})
	_, other := serve(t, Config{Name: "a"})
	c := newClient(messagesPath, "s", "hi", todoTools(t))
	h := c.next(t, one, `thought Hm; call create_todo {"title":"a"}`)
	c.reply(h, "done")
	if got := c.next(t, other, "text fine"); got.text != "fine" {
		t.Errorf("said %+v", got)
	}
	s, locked := serve(t, Config{RequireKey: "k"})
	for header, value := range map[string]string{"Authorization": "Bearer k", "Api-Key": "k"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, locked+chatPath, strings.NewReader(`{"model":"m","messages":[`+hi+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", header, resp.StatusCode)
		}
	}
	resp, body := post(t, locked+chatPath, "", m{"model": "m"})
	if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, `"code":"invalid_api_key"`) || len(s.Failures()) != 1 {
		t.Errorf("without a key: %d %s, %v", resp.StatusCode, body, s.Failures())
	}
}
