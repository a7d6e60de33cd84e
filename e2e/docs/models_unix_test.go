//go:build unix

package docs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/sim/offline"
)

// providers stand for the services that docs/connect-a-model.md names, under their own names and
// over TLS: a gateway gets to them through a proxy.
type providers struct {
	gemini *geminisim.Server
	others *modelsim.Server

	mu    sync.Mutex    // guards asked
	asked []http.Header // of each request, with its host and path
}

// The headers that providers add to those of a request.
const hostOf, pathOf = "The-Host", "The-Path"

func (p *providers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := r.Header.Clone()
	h.Set(hostOf, r.Host)
	h.Set(pathOf, r.URL.Path)
	p.mu.Lock()
	p.asked = append(p.asked, h)
	p.mu.Unlock()
	if r.Host == "generativelanguage.googleapis.com" {
		p.gemini.ServeHTTP(w, r)
		return
	}
	// OpenRouter and Azure have their protocol below a folder.
	u := *r.URL
	_, below, _ := strings.Cut(u.Path, "/v1/")
	u.Path = "/v1/" + below
	r.URL = &u
	p.others.ServeHTTP(w, r)
}

// serve returns the environment of a gateway that gets to the providers, and their address for one
// that asks them without a proxy.
func (p *providers) serve(t *testing.T) (env []string, plain string) {
	t.Helper()
	pair, authority := certificate(t, "generativelanguage.googleapis.com", "api.openai.com", "api.anthropic.com", "openrouter.ai", "house.openai.azure.com", "models.example.com")
	services := httptest.NewUnstartedServer(p)
	services.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	services.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusBadRequest)
			return
		}
		tunnel(w, services.Listener.Addr().String())
	}))
	local := httptest.NewServer(p)
	for _, s := range []*httptest.Server{services, proxy, local} {
		t.Cleanup(s.Close)
	}
	env = []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + authority, "AZURE_OPENAI_RESOURCE=house", "AZURE_OPENAI_DEPLOYMENT=deployed"}
	for _, name := range []string{"GEMINI", "OPENAI", "ANTHROPIC", "OPENROUTER", "AZURE_OPENAI", "EXAMPLE"} {
		env = append(env, name+"_API_KEY="+keyOf(name))
	}
	return env, local.URL
}

func keyOf(name string) string { return "not-a-real-key-of-" + strings.ToLower(name) }

// tunnel joins the client of a CONNECT with an address.
func tunnel(w http.ResponseWriter, addr string) {
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// certificate returns one for some hosts, and the path of a file with who vouches for it: itself.
func certificate(t *testing.T, hosts ...string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// Each block of the page that names a provider runs a turn with a tool as it stands: its protocol
// is spoken at the provider's address, with the key where the provider looks for it.
func TestEachModelConnects(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	tests := map[string]struct{ host, path, header, key string }{
		"Gemini":        {"generativelanguage.googleapis.com", "/v1beta/models/gemini-flash-latest:streamGenerateContent", "X-Goog-Api-Key", keyOf("gemini")},
		"OpenAI":        {"api.openai.com", "/v1/responses", "Authorization", "Bearer " + keyOf("openai")},
		"Anthropic":     {"api.anthropic.com", "/v1/messages", "X-Api-Key", keyOf("anthropic")},
		"Ollama":        {"", "/v1/chat/completions", "Authorization", ""},
		"vLLM":          {"", "/v1/chat/completions", "Authorization", ""},
		"LM Studio":     {"", "/v1/chat/completions", "Authorization", ""},
		"OpenRouter":    {"openrouter.ai", "/api/v1/chat/completions", "Authorization", "Bearer " + keyOf("openrouter")},
		"Azure":         {"house.openai.azure.com", "/openai/v1/responses", "Api-Key", keyOf("azure_openai")},
		"Other servers": {"models.example.com", "/v1/chat/completions", "Authorization", "Bearer " + keyOf("example")},
		"Fallback":      {"api.openai.com", "/v1/responses", "Authorization", "Bearer " + keyOf("openai")},
	}
	page := slices.DeleteFunc(readPage(t, "docs/connect-a-model.md"), func(b block) bool { return b.lang != "yaml" })
	if len(page) != len(tests) {
		t.Errorf("%d blocks, want %d", len(page), len(tests))
	}
	for _, b := range page {
		t.Run(b.heading, func(t *testing.T) {
			t.Parallel()
			want, ok := tests[b.heading]
			if !ok {
				t.Fatal("nobody says what it is to do")
			}
			p := &providers{gemini: geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles()}),
				others: modelsim.New(modelsim.Config{Model: offline.Model{}, Roles: offline.Roles()})}
			term := newTerminal(t)
			env, plain := p.serve(t)
			at, err := url.Parse(plain)
			if err != nil {
				t.Fatal(err)
			}
			if want.host == "" {
				want.host = at.Host
			}
			term.env = append(term.env, env...)
			text := addressed.ReplaceAllString(b.text, at.Host)
			if err := os.WriteFile(filepath.Join(term.dir, "sluice.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			output, code, err := term.run(t.Context(), `sluice ask --config sluice.yaml "what is on my list?"`)
			if err != nil || code != 0 || !strings.Contains(output, "You have no open todos.") {
				t.Errorf("exit code %d, %v\n%s", code, err, output)
			}
			p.check(t, want.host, want.path, want.header, want.key)
		})
	}
}

// check compares what the providers were asked with what is wanted of each request.
func (p *providers) check(t *testing.T, host, path, header, key string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) < 2 {
		t.Errorf("%d requests, want one before the call of the tool and one after it", len(p.asked))
	}
	for _, h := range p.asked {
		if h.Get(hostOf) != host || h.Get(pathOf) != path || h.Get(header) != key {
			t.Errorf("asked %s%s with %s: %q", h.Get(hostOf), h.Get(pathOf), header, h.Get(header))
		}
	}
	for _, failure := range append(p.gemini.Failures(), p.others.Failures()...) {
		t.Error(failure)
	}
}
