package model

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Providers: the protocols that a Spec can be spoken in.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Gemini    = "gemini"
	Simulator = "simulator"
)

// APIs of OpenAI's protocol.
const (
	ChatAPI      = "chat"
	responsesAPI = "responses"
)

// Preset is the meaning of a provider's name in the configuration. Each package that speaks a
// protocol has one, and the wiring lists them; package model knows those that speak a protocol of
// another one.
type Preset struct {
	Name     string
	Protocol string   // equal to Name where the provider's package speaks it
	Endpoint string   // URL; empty if the provider works without one
	End      string   // end of the path of a request; empty if each call or the API sets it
	Keys     []string // variables of the key; the first that is set counts
}

// Ends of the paths of requests.
const (
	chatEnd      = "/chat/completions"
	responsesEnd = "/responses"
)

// withPresets returns all providers that a configuration can name, in the order for people. The
// given protocols come first, then the simulator, then other providers that speak one of these
// protocols.
func withPresets(protocols []Preset) []Preset {
	return append(slices.Clip(protocols),
		Preset{Simulator, Simulator, "", "", nil},
		Preset{"openrouter", OpenAI, "https://openrouter.ai/api/v1", "", []string{"OPENROUTER_API_KEY"}},
		Preset{"groq", OpenAI, "https://api.groq.com/openai/v1", "", []string{"GROQ_API_KEY"}},
		Preset{"mistral", OpenAI, "https://api.mistral.ai/v1", "", []string{"MISTRAL_API_KEY"}},
		Preset{"deepseek", OpenAI, "https://api.deepseek.com/v1", "", []string{"DEEPSEEK_API_KEY"}},
		Preset{"xai", OpenAI, "https://api.x.ai/v1", "", []string{"XAI_API_KEY"}},
		Preset{"ollama", OpenAI, "http://127.0.0.1:11434/v1", "", nil},
		Preset{"lmstudio", OpenAI, "http://127.0.0.1:1234/v1", "", nil},
		Preset{"llamacpp", OpenAI, "http://127.0.0.1:8080/v1", "", nil},
		Preset{"vllm", OpenAI, "http://127.0.0.1:8000/v1", "", nil},
	)
}

// presetOf returns the preset of a name that the schema knows.
func presetOf(all []Preset, name string) Preset {
	return all[slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })]
}

// providerNames returns the values of provider in the schema, as the items of a JSON array.
func providerNames(all []Preset) string {
	var names []string
	for _, p := range all {
		names = append(names, strconv.Quote(p.Name))
	}
	return strings.Join(names, ", ")
}

// apiOf returns the API of an endpoint of OpenAI's protocol, by the end of its path or by its host.
func apiOf(u *url.URL) string {
	path := strings.TrimRight(u.Path, "/")
	host := strings.ToLower(u.Hostname())
	switch {
	case strings.HasSuffix(path, chatEnd):
		return ChatAPI
	case strings.HasSuffix(path, responsesEnd):
		return responsesAPI
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		return responsesAPI
	}
	return ChatAPI
}

// requestURL returns the URL that requests go to: u, with /v1 if its path is empty and
// with end if it does not end so.
func requestURL(u url.URL, end string) string {
	path := strings.TrimRight(u.EscapedPath(), "/")
	if path == "" {
		path = "/v1"
	}
	if !strings.HasSuffix(path, end) {
		path += end
	}
	u.RawPath = path
	u.Path, _ = url.PathUnescape(path) // u was parsed: its path can be
	return u.String()
}

// sameOrigin reports whether a preset's key may go to b as well. Ports are compared as
// they are written.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// KeyOf returns the first variable of a provider's key, or "" if it has none.
func KeyOf(provider string, protocols []Preset) string {
	for _, p := range withPresets(protocols) {
		if p.Name == provider && len(p.Keys) > 0 {
			return p.Keys[0]
		}
	}
	return ""
}

// ProviderAt returns the provider of an endpoint, and whether its host is the provider's own. An
// unknown endpoint speaks OpenAI's protocol. Without an endpoint the name of the model decides.
func ProviderAt(endpoint, name string, protocols []Preset) (p Preset, home bool) {
	all := withPresets(protocols)
	switch {
	case endpoint == "" && strings.HasPrefix(name, "gemini"):
		return presetOf(all, Gemini), true
	case endpoint == "" && strings.HasPrefix(name, "claude"):
		return presetOf(all, Anthropic), true
	case endpoint == "":
		return presetOf(all, OpenAI), true
	}
	u, err := url.Parse(strings.Replace(endpoint, "//localhost:", "//127.0.0.1:", 1))
	if err != nil {
		return presetOf(all, OpenAI), false
	}
	for _, p := range all {
		at, err := url.Parse(p.Endpoint)
		if p.Endpoint == "" || err != nil || !sameOrigin(at, u) {
			continue
		}
		if p.Protocol != OpenAI && strings.Contains(u.Path, "/openai") { // it speaks that too
			break
		}
		return p, true
	}
	return presetOf(all, OpenAI), false
}
