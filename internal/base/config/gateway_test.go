package config_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// A turn's model call goes through the proxy of the environment, which the log reports without
// what is secret in its URL.
func TestModelIsAskedThroughTheProxy(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env()
	proxy, err := url.Parse(env["GEMINI_BASE_URL"]) // the fake answers for any host
	if err != nil {
		t.Fatal(err)
	}
	host := proxy.Host
	proxy.User = url.UserPassword("user", "opensesame")
	env["GEMINI_BASE_URL"], env["HTTP_PROXY"], env["NO_PROXY"] = "http://gemini.test", proxy.String(), "inner.test"
	r := wholetest.Listen(t, env)
	gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	lines := r.Log.All("proxy")
	want := map[string]any{"http": host, "https": "", "except": "inner.test"}
	if len(lines) != 1 || !cmp.Equal(lines[0].Fields["details"], any(want)) {
		t.Errorf("logged %+v", lines)
	}
	if strings.Contains(r.Log.String(), "opensesame") {
		t.Error("the proxy's password is in the log")
	}
}
