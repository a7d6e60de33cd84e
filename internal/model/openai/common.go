// This file has the members that both protocols write in the same way.

package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// appendInt appends n in decimal digits.
func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// scalarText returns a string, or a number as one; of anything else "".
func scalarText(v jsontext.Value) string {
	if v.Kind() == '0' {
		return string(v)
	}
	return model.Unquote(v)
}

// unsetMembers returns the members that extra does not set. Members of extra stay in requests even
// if a provider refuses them.
func unsetMembers(extra jsontext.Value, members []string) (free []string) {
	o := model.Members(extra)
	for _, name := range members {
		if !o.HasPath(name) {
			free = append(free, name)
		}
	}
	return free
}

// mostTools is how many tools a request may declare.
const mostTools = 128

// sizeHint is about the size of req's body, without tools.
//
// It saves the growth of the buffer; a wrong guess costs a copy and nothing else.
func sizeHint(req *chat.ModelRequest) int {
	n := 512 + len(req.System) + len(req.Form.Schema)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			n += 96 + len(p.Text) + len(p.Kept)
			if p.Call != nil {
				n += len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Text)
			}
		}
	}
	return n + n/8 // escapes
}

// The members that ask OpenAI's own cache.
const (
	cacheKey       = "prompt_cache_key"
	cacheRetention = "prompt_cache_retention"
)

// appendCache asks OpenAI to keep the beginning of a conversation. Its key makes the requests of
// one conversation meet at one machine: a key of their own would scatter them, and one for all
// would be too much for a machine. It is a hash, because it goes to the provider.
//
// With exact the provider writes marked prefixes alone, and refuses the retention.
func appendCache(b []byte, spec *model.Spec, openAI, exact bool, req *chat.ModelRequest, omit model.Omit) []byte {
	if exact {
		b = append(b, explicitOptions...)
	}
	if !openAI || spec.Cache == model.CacheOff {
		return b
	}
	if req.Of != nil && !omit.Has(cacheKey) {
		b = append(b, `,"prompt_cache_key":"`...)
		b = hex.AppendEncode(b, keyOf(req)[:16])
		b = append(b, '"')
	}
	if spec.Cache == model.CacheLong && !exact && !omit.Has(cacheRetention) {
		b = append(b, `,"prompt_cache_retention":"24h"`...)
	}
	return b
}

// keyOf returns the hash of tenant, owner and conversation. Without a conversation it hashes the
// agent.
func keyOf(req *chat.ModelRequest) []byte {
	kind, of := "conversation", req.Of.ConversationID
	if of == "" {
		kind, of = "agent", req.Agent
	}
	var b []byte
	for _, s := range []string{req.Of.Principal.Tenant, req.Of.Owner(), kind, of} {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':') // so that no two lists look the same
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// lowestLimit returns the lower of two limits of tokens. 0 turns a limit off.
func lowestLimit(a, b int) int {
	if a <= 0 || b <= 0 {
		return max(a, b, 0)
	}
	return min(a, b)
}

// appendTemperature appends the caller's temperature, or the model's own.
//
// NoTemperature is for models that refuse the member.
func appendTemperature(b []byte, spec *model.Spec, req *chat.ModelRequest, omit model.Omit) []byte {
	t := spec.Temperature
	if req.Temperature != nil {
		t = req.Temperature
	}
	if t == nil || spec.NoTemperature || omit.Has("temperature") {
		return b
	}
	return strconv.AppendFloat(append(b, `,"temperature":`...), *t, 'f', -1, 64)
}

// formName is the name of a form's schema, which both protocols demand.
func formName(name string) string {
	if name == "" {
		return "answer"
	}
	return model.FitName(name)
}
