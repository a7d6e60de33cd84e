// Package openai has the codecs of the two protocols that OpenAI began and that many
// services and servers speak: Chat Completions, each of them with quirks of its own,
// and Responses.
//
// Chat Completions is less a protocol than a family: servers differ in where
// thoughts stand, whether calls have an index or an id, where usage comes, and
// how an answer ends. The reader takes all of these forms at the same time and
// asks for no configuration; what differs in requests follows from the host, or
// from the preset that a configuration names. Members that a server refuses are
// learned by the frame, and left out from then on.
//
// Responses has one form, with items that have ids. Reasoning comes encrypted
// and goes back unchanged.
//
// Both codecs are safe for concurrent use; an answer belongs to its call.
package openai

import (
	"fmt"
	"net/url"
	"strings"

	"sluice/internal/model"
)

// Preset returns the protocol's name in the configuration, its endpoint and the variable of its
// key.
func Preset() model.Preset {
	return model.Preset{Name: model.OpenAI, Protocol: model.OpenAI, Endpoint: "https://api.openai.com/v1", Keys: []string{"OPENAI_API_KEY"}}
}

// New returns the Model that spec configures. An error is about spec and holds no
// secret.
func New(spec model.Spec, opts model.Options) (*model.Model, error) {
	codec, err := newCodec(spec, opts.ToolLeftOut(spec.Key))
	if err != nil {
		return nil, err
	}
	return model.New(spec, model.Bearer(), codec, opts)
}

// newCodec returns the codec of a configured model. leftOut, if not nil, is called with each tool
// that is left out because of its schema.
func newCodec(spec model.Spec, leftOut func(name, reason string)) (model.Codec, error) {
	if spec.Thinking.Tokens > 0 {
		return nil, fmt.Errorf("models.%s.thinking: a number of tokens is not known to provider openai", spec.Key)
	}
	switch spec.API {
	case "chat", "":
		return newChat(spec, leftOut), nil
	case "responses":
		return newResponses(spec, leftOut), nil
	}
	return nil, fmt.Errorf("models.%s.api: unknown protocol", spec.Key)
}

// host says which service an endpoint belongs to, as far as it matters.
//
// Mostly one is set or none. For a self-hosted server that speaks the protocol all fields are
// false.
type host struct {
	openAI, azure, deepSeek, mistral, gemini bool
}

// hostOf identifies a server by its host's name, or by the preset: several take or want other
// members than OpenAI's own.
//
// A path or a port does not matter. A name is compared as a whole domain: notopenai.com is
// not OpenAI.
func hostOf(spec *model.Spec) host {
	u, err := url.Parse(spec.Endpoint)
	if err != nil {
		u = &url.URL{}
	}
	name := strings.ToLower(u.Hostname())
	at := func(domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
	return host{
		openAI:   at("api.openai.com"),
		azure:    at("openai.azure.com"),
		deepSeek: spec.Preset == "deepseek" || at("deepseek.com"),
		mistral:  spec.Preset == "mistral" || at("mistral.ai"),
		gemini:   at("generativelanguage.googleapis.com"),
	}
}
