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
	ResponsesAPI = "responses"
)

// preset is what a provider's name in the configuration stands for.
type preset struct {
	name     string
	protocol string
	endpoint string   // empty: there is none to choose
	end      string   // what the path of a request ends with; empty: it is that of each call, or of the API
	keys     []string // variables of the key; the first that is set counts
}

// What the paths of requests end with.
const (
	chatEnd      = "/chat/completions"
	responsesEnd = "/responses"
	messagesEnd  = "/messages"
)

// presets are all providers that a configuration can name, in the order in which they are
// listed for people. A preset of a protocol that is spoken already is a line here; so is the
// first one of a new protocol, beside the line that opens its models in internal/gateway.
func presets() []preset {
	return []preset{
		{Gemini, Gemini, "https://generativelanguage.googleapis.com", "", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{OpenAI, OpenAI, "https://api.openai.com/v1", "", []string{"OPENAI_API_KEY"}},
		{Anthropic, Anthropic, "https://api.anthropic.com/v1", messagesEnd, []string{"ANTHROPIC_API_KEY"}},
		{Simulator, Simulator, "", "", nil},
		{"openrouter", OpenAI, "https://openrouter.ai/api/v1", "", []string{"OPENROUTER_API_KEY"}},
		{"groq", OpenAI, "https://api.groq.com/openai/v1", "", []string{"GROQ_API_KEY"}},
		{"mistral", OpenAI, "https://api.mistral.ai/v1", "", []string{"MISTRAL_API_KEY"}},
		{"deepseek", OpenAI, "https://api.deepseek.com/v1", "", []string{"DEEPSEEK_API_KEY"}},
		{"xai", OpenAI, "https://api.x.ai/v1", "", []string{"XAI_API_KEY"}},
		{"ollama", OpenAI, "http://127.0.0.1:11434/v1", "", nil},
		{"lmstudio", OpenAI, "http://127.0.0.1:1234/v1", "", nil},
		{"llamacpp", OpenAI, "http://127.0.0.1:8080/v1", "", nil},
		{"vllm", OpenAI, "http://127.0.0.1:8000/v1", "", nil},
	}
}

// presetOf returns the preset of a name that the schema knows.
func presetOf(name string) preset {
	all := presets()
	return all[slices.IndexFunc(all, func(p preset) bool { return p.name == name })]
}

// providerNames returns what the schema takes as provider, as the items of a JSON array.
func providerNames() string {
	var names []string
	for _, p := range presets() {
		names = append(names, strconv.Quote(p.name))
	}
	return strings.Join(names, ", ")
}

// apiOf returns the API that an endpoint of OpenAI's protocol speaks if nothing else
// says: what its path ends with, else what its host is known for.
func apiOf(u *url.URL) string {
	path := strings.TrimRight(u.Path, "/")
	host := strings.ToLower(u.Hostname())
	switch {
	case strings.HasSuffix(path, chatEnd):
		return ChatAPI
	case strings.HasSuffix(path, responsesEnd):
		return ResponsesAPI
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		return ResponsesAPI
	}
	return ChatAPI
}

// completed returns the URL that requests go to: u, with /v1 if its path is empty and
// with end if it does not end so.
func completed(u url.URL, end string) string {
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

// sameOrigin says whether a preset's key may go to b as well. Ports are compared as
// they are written.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}
