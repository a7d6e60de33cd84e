package geminisim

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim/simtest"
)

// play runs a script's first response and returns what a client reads.
func play(t *testing.T, text string) (*http.Response, string) {
	t.Helper()
	_, url := serve(t, Config{Script: script(t, text)})
	return simtest.Post(t, url+streamPath, simtest.UserSays("hi"))
}

// event is a chunk as a script's directives write it.
func event(candidate, usage string) string {
	const ids = `"modelVersion": "gemini-flash-latest","responseId": "ID"`
	if usage != "" {
		usage = `"usageMetadata": ` + usage + `,`
	}
	return `data: {"candidates": [{` + candidate + `}],` + usage + ids + "}\r\n\r\n"
}

func saying(part string) string {
	return `"content": {"parts": [` + part + `],"role": "model"},"index": 0`
}

const plainUsage = `{"promptTokenCount": 10,"candidatesTokenCount": 5,"totalTokenCount": 15,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 10}],"serviceTier": "standard"}`

// Directives that send something, and the bytes that they send.
func TestDirectivesThatSend(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ script, want string }{
		{"text hello there", event(saying(`{"text": "hello there"}`), plainUsage)},
		{`text "a\n\"b\" "`, event(saying(`{"text": "a\n\"b\" "}`), plainUsage)},
		{"thought **Hm**", event(saying(`{"text": "**Hm**","thought": true}`), plainUsage)},
		{"fill 5", event(saying(`{"text": "xxxxx"}`), plainUsage)},
		{`parts [{"text":"a"},{"inlineData":{"mimeType":"x"}}]`, event(saying(`{"text": "a"},{"inlineData": {"mimeType": "x"}}`), plainUsage)},
		{`call add {"b":1,"a":2}`, event(saying(`{"functionCall": {"name": "add","args": {"b": 1,"a": 2},"id": "r001c001"},"thoughtSignature": "`+signWords(callKey(&functionCall{ID: "r001c001", Name: "add", Args: []byte(`{"a":2,"b":1}`)}))+`"}`), plainUsage)},
		{`call add {"a": "} {"} id=abc sig=QUJD`, event(saying(`{"functionCall": {"name": "add","args": {"a": "} {"},"id": "abc"},"thoughtSignature": "QUJD"}`), plainUsage)},
		{`call now id=none sig=none`, event(saying(`{"functionCall": {"name": "now"}}`), plainUsage)},
		{"call a sig=none\ncall b", event(saying(`{"functionCall": {"name": "a","id": "r001c001"}}`), plainUsage) + event(saying(`{"functionCall": {"name": "b","id": "r001c002"}}`), plainUsage)},
		{"finish MAX_TOKENS", event(`"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "MAX_TOKENS","index": 0`, plainUsage)},
		{"finish MALFORMED_FUNCTION_CALL Malformed call", event(`"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "MALFORMED_FUNCTION_CALL","index": 0,"finishMessage": "Malformed call"`, plainUsage)},
		{"usage 12 34 5\ntext a", event(saying(`{"text": "a"}`), `{"promptTokenCount": 12,"candidatesTokenCount": 34,"totalTokenCount": 51,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 12}],"thoughtsTokenCount": 5,"serviceTier": "standard"}`)},
		{"usage none\ntext a", event(saying(`{"text": "a"}`), "")},
		{`data {"promptFeedback": {"blockReason":"SAFETY"}}`, `data: {"promptFeedback": {"blockReason":"SAFETY"}}` + "\r\n\r\n"},
		{"data\n {\"a\":\n  [1,\n\t2]}", `data: {"a":[1,2]}` + "\r\n\r\n"},
		{`raw ": comment\r\n\xff"`, ": comment\r\n\xff"},
		{"repeat 3 text x", strings.Repeat(event(saying(`{"text": "x"}`), plainUsage), 3)},
		{`repeat 2 raw "ab"`, "abab"},
		{"# a comment\n\ntext a\n# another", event(saying(`{"text": "a"}`), plainUsage)},
		{"text a\nend\ntext b", event(saying(`{"text": "a"}`), plainUsage)},
		{"end", ""},
	} {
		resp, got := play(t, tc.script)
		want := strings.ReplaceAll(tc.want, `"ID"`, `"`+responseID(digest([]byte(simtest.UserSays("hi"))))+`"`)
		if diff := cmp.Diff(want, got); diff != "" || resp.StatusCode != 200 {
			t.Errorf("%s: %d (-want +got)\n%s", tc.script, resp.StatusCode, diff)
		}
	}
}

// Directives for replies that are no stream.
func TestDirectivesThatReply(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script string
		status int
		header map[string]string
		body   string
	}{
		{"status 503", 503, nil, ""},
		{"status 204", 204, nil, ""},
		{"status 503\nheader Retry-After: 3\nbody busy", 503, map[string]string{"Retry-After": "3", "Content-Type": "text/plain; charset=utf-8"}, "busy"},
		{`body "a\tb"`, 200, nil, "a\tb"},
		{"status 500\nbody <html>oops</html>", 500, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<html>oops</html>"},
		{"status 400\nbody {\"error\":{}}", 400, map[string]string{"Content-Type": "application/json; charset=UTF-8"}, `{"error":{}}`},
		{"header Content-Type: text/x\ntext a\nend", 200, map[string]string{"Content-Type": "text/x"}, ""},
		{"error 503", 503, map[string]string{"Content-Type": "application/json; charset=UTF-8"}, "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"Service Unavailable\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n"},
		{"error 429 retry=27s Slow down", 429, nil, "{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"Slow down\",\n    \"status\": \"RESOURCE_EXHAUSTED\",\n    \"details\": [\n      {\n        \"@type\": \"type.googleapis.com/google.rpc.RetryInfo\",\n        \"retryDelay\": \"27s\"\n      }\n    ]\n  }\n}\n"},
		{"redirect 307 http://192.0.2.1/x", 307, map[string]string{"Location": "http://192.0.2.1/x"}, ""},
	} {
		_, url := serve(t, Config{Script: script(t, tc.script)})
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Post(url+streamPath, "application/json", strings.NewReader(simtest.UserSays("hi")))
		if err != nil {
			t.Errorf("%s: %v", tc.script, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tc.status {
			t.Errorf("%s: status %d, %v", tc.script, resp.StatusCode, err)
		}
		for name, want := range tc.header {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", tc.script, name, got, want)
			}
		}
		if diff := cmp.Diff(tc.body, string(body)); tc.body != "" && diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.script, diff)
		}
	}
}

// read plays a script and returns what arrived, and how the reading ended.
func read(t *testing.T, text string) (string, error) {
	t.Helper()
	_, url := serve(t, Config{Script: script(t, text)})
	resp, err := http.Post(url+streamPath, "application/json", strings.NewReader(simtest.UserSays("hi")))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestCut(t *testing.T) {
	t.Parallel()
	got, err := read(t, "text a\nraw \"data: {\"\ncut\ntext b")
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasSuffix(got, "\r\n\r\ndata: {") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read(t, "cut"); !errors.Is(err, io.EOF) {
		t.Errorf("cut before anything: %v", err)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	_, err := read(t, "text a\nreset")
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
}

// A stall sends all it has, and ends when the client leaves.
func TestStallAndHang(t *testing.T) {
	t.Parallel()
	s, url := serve(t, Config{Script: script(t, "text a\nstall\n---\nhang")})
	ctx, cancel := context.WithCancel(t.Context())
	post := func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+streamPath, strings.NewReader(simtest.UserSays("hi")))
		if err != nil {
			return nil, err
		}
		return http.DefaultClient.Do(req)
	}
	resp, err := post()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("after the stall: %v", err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() {
		_, err := post()
		hung <- err
	}()
	testnet.Eventually(t, "the second call is there", func() bool { return s.Calls() == 2 })
	cancel()
	if err := <-hung; !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v", err)
	}
}

// Split writes small pieces, each flushed: over HTTP/1.1 a chunk of its own.
func TestSplit(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Script: script(t, "text start\nsplit 3\nraw \"abcdefgh\"\nsplit 0\nraw \"12345678\"")})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := simtest.UserSays("hi")
	if _, err := io.WriteString(conn, "POST "+streamPath+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if want := "3\r\nabc\r\n3\r\ndef\r\n2\r\ngh\r\n8\r\n12345678\r\n0\r\n\r\n"; !strings.HasSuffix(string(got), want) {
		t.Errorf("%q does not end in %q", got, want)
	}
}

func itoa(n int) string { return strings.TrimSpace(simtest.Quote(n)) }

func TestResponsesInOrder(t *testing.T) {
	t.Parallel()
	s, url := serve(t, Config{Script: script(t, "text one\nfinish STOP\n---\ntext two\nfinish STOP\n---\n")})
	for _, want := range []string{"one", "two"} {
		if _, body := simtest.Post(t, url+streamPath, simtest.UserSays("hi")); gather(t, body).text != want {
			t.Errorf("%s, want %q", body, want)
		}
	}
	resp, body := simtest.Post(t, url+streamPath, simtest.UserSays("hi"))
	if resp.StatusCode != 500 || !strings.Contains(body, "The script is used up: this is request 3, and it holds 2 responses.") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if got := s.Failures(); len(got) != 1 || !strings.Contains(got[0], "used up") {
		t.Errorf("failures %q", got)
	}

	_, url = serve(t, Config{Script: script(t, "loop\ntext one\n---\ntext two")})
	for _, want := range []string{"one", "two", "two", "two"} {
		if _, body := simtest.Post(t, url+streamPath, simtest.UserSays("hi")); gather(t, body).text != want {
			t.Errorf("loop: %s, want %q", body, want)
		}
	}
}

func TestScriptedUnaryAndArray(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{Script: script(t, "loop\nthought Hm\ntext a\ntext b\nparts [{\"x\":1}]\nfinish STOP")})
	_, body := simtest.Post(t, url+"/v1beta/models/m:generateContent", simtest.UserSays("hi"))
	for _, want := range []string{`"text": "Hm"`, `"text": "ab"`, `"x": 1`, `"finishReason": "STOP"`, `"modelVersion": "m"`} {
		if strings.Count(body, want) != 1 {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	_, body = simtest.Post(t, url+"/v1beta/models/m:streamGenerateContent", simtest.UserSays("hi"))
	if strings.Count(body, "\n,\r\n{") != 4 || !strings.HasSuffix(body, "}\n]\n") {
		t.Errorf("%q", body)
	}
}

// A scripted server is strict, with the signatures that the script issued, until
// the script says that it is lenient.
func TestScriptIsStrict(t *testing.T) {
	t.Parallel()
	hi := simtest.Text("user", "hi")
	step := func(part string) string {
		return simtest.Request(hi, simtest.ModelTurn(part), simtest.UserTurn(`{"functionResponse":{"name":"add","response":{}}}`))
	}
	withSig := `{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"QUJD"}`
	without := `{"functionCall":{"name":"add","args":{"a":1}}}`
	for _, tc := range []struct {
		issue, part, want string
	}{
		{`call add {"a":1} id=none sig=QUJD`, withSig, ""},
		{`call add {"a":1} id=none sig=QUJD`, without, "missing a thought_signature"},
		{`parts [` + withSig + `]`, withSig, ""},
		{`parts [` + withSig + `]`, without, "missing a thought_signature"},
		{`data {"candidates":[{"content":{"parts":[` + withSig + `]}}]}`, withSig, ""},
		{`data {"candidates":[{"content":{"parts":[` + without + `]}}]}`, without, ""},
		{`data {"candidates":[{"content":{"parts":[` + without + `]}}]}`, withSig, "Corrupted"},
		{`call add {"a":1} id=none sig=none`, without, ""},
		{`call add {"a":1} id=none`, signed("add", "", `{"a":1}`), ""},
		{`call add {"a":1} id=none`, without, "missing a thought_signature"},
		{"lenient\n" + `call add {"a":1} id=none`, without, ""},
	} {
		s, url := serve(t, Config{Script: script(t, tc.issue+"\n---\ntext ok")})
		simtest.Post(t, url+streamPath, `{"contents":[`+hi+`]}`)
		resp, body := simtest.Post(t, url+streamPath, step(tc.part))
		failures := strings.Join(s.Failures(), "\n")
		if ok := resp.StatusCode == 200 && failures == ""; ok != (tc.want == "") || !strings.Contains(body, tc.want) || !strings.Contains(failures, tc.want) {
			t.Errorf("%s, then %s: %d %s, failures %q", tc.issue, tc.part, resp.StatusCode, body, failures)
		}
	}
}

func TestExpectations(t *testing.T) {
	t.Parallel()
	body := simtest.UserSays("say “hi”")
	for _, tc := range []struct{ directive, want string }{
		{"expect /contents/0/role user", ""},
		{`expect /contents/0/role "user"`, ""},
		{"expect /contents/0/role model", `/contents/0/role is "user", want "model"`},
		{"expect /contents/-/parts/-/text say “hi”", ""},
		{`expect /contents/0 {"parts": [{"text": "say “hi”"}], "role": "user"}`, ""},
		{"expect /contents/1/role user", "/contents/1/role is missing"},
		{"expect /tools/0/functionDeclarations/0/name/x 1", "is missing"},
		{"expect-absent /generationConfig", ""},
		{"expect-absent /contents/0", "want it absent"},
		{"expect-contains /systemInstruction/parts/0/text Europe/Berlin", ""},
		{"expect-contains /systemInstruction/parts/0/text Paris", `does not contain "Paris"`},
		{`expect-contains /contents/0/parts "hi"`, ""},
		{"expect-count /contents 1", ""},
		{"expect-count /contents 2", "/contents has 1 members"},
		{"expect-count /contents/0/role 1", "has -1 members"},
		{"expect-header X-Request-ID req_1", ""},
		{"expect-header X-Request-ID req_2", "the header X-Request-Id is not what was expected"},
	} {
		s, url := serve(t, Config{Script: script(t, "# line 1\n"+tc.directive+"\ntext ok")})
		req, err := http.NewRequest(http.MethodPost, url+streamPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-ID", "req_1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		failures := s.Failures()
		if tc.want == "" && (resp.StatusCode != 200 || failures != nil) {
			t.Errorf("%s: %d %q", tc.directive, resp.StatusCode, failures)
		}
		if tc.want != "" && (resp.StatusCode != 400 || len(failures) != 1 || !strings.Contains(failures[0], tc.want) || !strings.Contains(failures[0], "script line 2:")) {
			t.Errorf("%s: %d %q, want %q", tc.directive, resp.StatusCode, failures, tc.want)
		}
	}
}
