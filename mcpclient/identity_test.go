package mcpclient

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// received is what a server receives about whom a call is for.
type received struct {
	Meta         map[string]any
	Tenant, User []string // headers
}

// A server receives for whom a tool is called if it is configured so, and only then.
func TestIdentity(t *testing.T) {
	t.Parallel()
	ann := chat.Caller{Tenant: "acme", User: "Änn 100%", Key: "x"}
	for name, tt := range map[string]struct {
		identity bool
		who      chat.Caller
		want     received
	}{
		"told": {true, ann, received{map[string]any{"sluice/tenant": "acme", "sluice/user": "Änn 100%"},
			[]string{"acme"}, []string{"%C3%84nn%20100%25"}}},
		"a user without tenant": {true, chat.Caller{User: "ann"}, received{map[string]any{"sluice/user": "ann"}, nil, []string{"ann"}}},
		"nobody":                {true, chat.Caller{}, received{}},
		"not told":              {false, ann, received{nil, nil, []string{"configured"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			var got received
			f.onAny = func(_ http.ResponseWriter, r *http.Request, req fakeRequest) bool {
				if req.Method != "tools/call" {
					if tt.identity && r.Header.Get("X-Sluice-User") != "configured" {
						t.Errorf("%s names a user", req.Method)
					}
					return false
				}
				got = received{nil, r.Header["X-Sluice-Tenant"], r.Header["X-Sluice-User"]}
				return false
			}
			server := serve(t, f)
			cfg := over(server)
			cfg.Servers[0].Identity = tt.identity
			cfg.Servers[0].Headers = map[string]string{"X-Sluice-User": "configured"}
			cfg.Transport = recording(func(body []byte) {
				var req struct {
					Method string
					Params struct {
						Meta map[string]any `json:"_meta"`
					}
				}
				if json.Unmarshal(body, &req) == nil && req.Method == "tools/call" {
					delete(req.Params.Meta, "progressToken")
					if len(req.Params.Meta) > 0 {
						got.Meta = req.Params.Meta
					}
				}
			})
			if _, err := call(chat.WithTurn(t.Context(), chat.Turn{Caller: tt.who}), newClient(t, cfg), "read"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// recording is a transport that shows the body of each reply that came, after what was
// sent: the fake has noted its headers by then.
type recording func(body []byte)

func (see recording) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	see(sent)
	return resp, err
}

// Results of a tool that may change something are not kept, whatever the configuration
// says; the log says so once.
func TestCacheOfAChangingToolIsRefused(t *testing.T) {
	t.Parallel()
	var log logBuffer
	cfg := over(serve(t, newFake()))
	cfg.Log = log.logger()
	cfg.Servers[0].Policy = tool.Policy{Cache: map[string]time.Duration{"read": time.Minute, "write": time.Minute, "gone": time.Minute}}
	c := newClient(t, cfg)
	c.Tools(t.Context())
	text := log.String()
	if strings.Count(text, "tool_cache_refused") != 1 || !strings.Contains(text, `"tool_name":"write"},"message":"tool_cache_refused"`) {
		t.Errorf("log:\n%s", text)
	}
	if !strings.Contains(text, `"key":"cache","tool_name":"gone"`) {
		t.Errorf("no word of the tool that is not there:\n%s", text)
	}
	if k := c.KnownTool("read"); k == nil || k.Name != "read" || !k.Annotations.ReadOnly || k.Policy.Cache["read"] != time.Minute {
		t.Errorf("known: %+v", k)
	}
	if k := c.Select([]string{"other"}).KnownTool("read"); k != nil {
		t.Errorf("known although it is not selected: %+v", k)
	}
}
