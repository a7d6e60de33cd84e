package gateway

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wireReply is what the client got.
type wireReply struct {
	status int
	header http.Header
	body   string
	closed bool // after it the connection was closed
	calls  int  // of Gemini, for this request
}

func readReply(t *testing.T, resp *http.Response) wireReply {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the reply broke off: %v", err)
	}
	return wireReply{status: resp.StatusCode, header: resp.Header, body: string(body), closed: resp.Close}
}

// text returns the reply as a transcript shows it.
func (r wireReply) text() string {
	if r.status == http.StatusOK {
		return r.withoutJitter()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", r.status, http.StatusText(r.status))
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.header[name], ", "))
		}
	}
	if r.closed { // net/http takes the header out
		b.WriteString("Connection: close\n")
	}
	if r.body != "" {
		fmt.Fprintf(&b, "\n%s\n", r.body)
	}
	return b.String()
}

var (
	modelCalls = regexp.MustCompile(`"model_ms":\[([0-9,]*)\]`)
	routeCalls = regexp.MustCompile(`"attempts":(\d+),"duration_ms"`)
	jittered   = regexp.MustCompile(`"(total_ms|first_delta_ms|execution_time_ms)":\d+|"(model_ms)":\[[0-9,]*\]`)
)

// withoutJitter returns the body. When a model call was tried again, after a
// random pause, the times that hold the pause are replaced.
func (r wireReply) withoutJitter() string {
	m := modelCalls.FindStringSubmatch(r.body)
	if m == nil {
		return r.body
	}
	told := len(strings.FieldsFunc(m[1], func(c rune) bool { return c == ',' }))
	if routed := routeCalls.FindStringSubmatch(r.body); routed != nil {
		n, _ := strconv.Atoi(routed[1])
		told += n
	}
	if r.calls <= told {
		return r.body
	}
	return jittered.ReplaceAllString(r.body, `"$1$2":"random"`)
}
