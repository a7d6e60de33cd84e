package agent

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

const (
	// maxPreview is how many bytes of a tool's result go into the log, and
	// maxLoggedArguments how many of its arguments, if any do.
	maxPreview         = 512
	maxLooked          = 4 << 10 // of a result: hidden parts make it shorter
	maxLoggedArguments = 4 << 10
	// maxLoggedName is how many bytes of a name that the model made up go into it, and
	// maxLoggedNames how many names of arguments.
	maxLoggedName  = 128
	maxLoggedNames = 32
)

// logCall logs that a tool is called. Arguments are a user's words; without LogPayloads their names
// alone are logged.
func (t *turn) logCall(j *job) {
	e := t.log.Info()
	if !e.Enabled() {
		return
	}
	d := zerolog.Dict().Str("tool_name", loggedName(j.call.Name)).Str("server", j.event.Server).Str("call_id", loggedName(j.event.ID))
	if t.agent.cfg.LogPayloads {
		d.RawJSON("arguments", loggedArguments(j.call.Arguments))
	} else {
		d.Strs("argument_names", argumentNames(j.call.Arguments))
	}
	e.Dict("details", d).Msg("mcp_tool_called")
}

// logResult logs how a call ended and how long it took. A preview of the result
// needs LogPayloads.
func (t *turn) logResult(j *job) {
	e := t.log.Info()
	if !e.Enabled() {
		return
	}
	d := zerolog.Dict().Str("tool_name", loggedName(j.call.Name)).Str("call_id", loggedName(j.event.ID)).
		Bool("success", j.err == nil && !j.result.IsError).Int("result_length", len(j.result.Text))
	if j.result.Cached {
		d.Bool("cached", true)
	}
	if t.agent.cfg.LogPayloads {
		head, _ := chat.Truncate(j.result.Text, maxLooked)
		head, _ = chat.Truncate(redact.AllKinds.Payload(head), maxPreview)
		d.Str("result_preview", head)
	}
	e.Int64("duration_ms", j.elapsed.Milliseconds()).Dict("details", d).Msg("mcp_tool_result")
}

// loggedArguments returns arguments as an object for the log, without what looks personal or
// secret. Arguments that are too long or not JSON become the text of one member.
func loggedArguments(args jsontext.Value) jsontext.Value {
	clean := jsontext.Value(bytes.Clone(redact.AllKinds.JSON(args)))
	if len(clean) <= maxLoggedArguments && clean.Kind() == '{' && clean.Compact() == nil {
		return clean
	}
	text, _ := jsontext.AppendQuote([]byte(`{"text":`), chat.Clip(string(clean), maxLoggedArguments))
	return append(text, '}')
}

// loggedName cuts a name that a model made up: it may be as long as an answer.
func loggedName(name string) string { return chat.Clip(name, maxLoggedName) }

// argumentNames returns the first names of an object's members.
func argumentNames(args jsontext.Value) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(args))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	var names []string
	for dec.PeekKind() == '"' && len(names) < maxLoggedNames {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		names = append(names, loggedName(tok.String()))
		if dec.SkipValue() != nil {
			break
		}
	}
	return names
}
