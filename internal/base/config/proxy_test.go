package config_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/base/config"
)

func loadProxy(t *testing.T, env map[string]string) (config.Config, error) {
	t.Helper()
	return new(config.Loader).Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	both := map[string]string{"HTTPS_PROXY": "http://user:opensesame@proxy.test:3128", "http_proxy": "plain.test:8080", "NO_PROXY": "inner.test,10.0.0.0/8"}
	for target, want := range map[string]string{
		"https://api.test/v1": "http://user:opensesame@proxy.test:3128", "http://api.test/v1": "http://plain.test:8080",
		"https://inner.test/x": "", "https://a.inner.test/x": "", "http://10.1.2.3/x": "",
		"http://127.0.0.1:8080/x": "", "http://localhost/x": "", "https://[::1]:8443/x": "",
	} {
		cfg, err := loadProxy(t, both)
		if err != nil {
			t.Fatal(err)
		}
		got, err := cfg.Proxy.Func()(httptest.NewRequest(http.MethodPost, target, nil))
		if err != nil {
			t.Fatal(err)
		}
		if s := ""; got != nil && got.String() != want || got == nil && s != want {
			t.Errorf("%s goes through %v, want %q", target, got, want)
		}
	}
}

func TestProxyIsASecret(t *testing.T) {
	t.Parallel()
	cfg, err := loadProxy(t, map[string]string{"HTTPS_PROXY": "http://user:opensesame@proxy.test:3128"})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%v %+v", cfg.Proxy, cfg); strings.Contains(s, "opensesame") {
		t.Errorf("printed: %s", s)
	}
	if over, overTLS := cfg.Proxy.Hosts(); over != "" || overTLS != "proxy.test:3128" {
		t.Errorf("hosts %q, %q", over, overTLS)
	}
	if !strings.Contains(strings.Join(cfg.Secrets(), " "), "opensesame") {
		t.Error("the password is not kept out of the log")
	}
	_, err = loadProxy(t, map[string]string{"HTTPS_PROXY": "http://user:opensesame@:%zz"})
	if err == nil || strings.Contains(err.Error(), "opensesame") {
		t.Errorf("error = %v", err)
	}
}

// Without the variables there is no function, and a client of a CGI program cannot set one.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{{}, {"NO_PROXY": "*"}, {"HTTP_PROXY": "http://proxy.test", "REQUEST_METHOD": "GET"}} {
		cfg, err := loadProxy(t, env)
		if err != nil || cfg.Proxy.Func() != nil {
			t.Errorf("%v: %v, %v", env, cfg.Proxy, err)
		}
	}
}
