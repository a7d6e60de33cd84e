package model

import (
	"net/url"
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
	protocol string
	endpoint string
	keys     []string // variables of the key; the first that is set counts
}

// presetOf returns the preset of a name that the schema knows.
func presetOf(name string) preset {
	switch name {
	case OpenAI:
		return preset{OpenAI, "https://api.openai.com/v1", []string{"OPENAI_API_KEY"}}
	case "openrouter":
		return preset{OpenAI, "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}}
	case "groq":
		return preset{OpenAI, "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}}
	case "mistral":
		return preset{OpenAI, "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}}
	case "deepseek":
		return preset{OpenAI, "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}}
	case "xai":
		return preset{OpenAI, "https://api.x.ai/v1", []string{"XAI_API_KEY"}}
	case "ollama":
		return preset{OpenAI, "http://127.0.0.1:11434/v1", nil}
	case "lmstudio":
		return preset{OpenAI, "http://127.0.0.1:1234/v1", nil}
	case "llamacpp":
		return preset{OpenAI, "http://127.0.0.1:8080/v1", nil}
	case "vllm":
		return preset{OpenAI, "http://127.0.0.1:8000/v1", nil}
	case Anthropic:
		return preset{Anthropic, "https://api.anthropic.com/v1", []string{"ANTHROPIC_API_KEY"}}
	case Gemini:
		return preset{Gemini, "https://generativelanguage.googleapis.com", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}
	}
	return preset{protocol: Simulator}
}

// pathEnds are what the paths of each API end with.
const (
	chatEnd      = "/chat/completions"
	responsesEnd = "/responses"
	messagesEnd  = "/messages"
)

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

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}
