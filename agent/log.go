package agent

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/chat"
)

// maxPreview is how many bytes of a tool's result go into the log, if any do.
const maxPreview = 512

func (t *turn) logCall(j *job) {
	e := t.log.Info()
	if !e.Enabled() {
		return
	}
	d := zerolog.Dict().Str("tool_name", j.call.Name).Str("server", j.told.Server).Str("call_id", j.told.ID)
	if t.agent.cfg.LogPayloads {
		d.Bytes("arguments", j.call.Arguments)
	} else {
		d.Strs("argument_names", argumentNames(j.call.Arguments))
	}
	e.Dict("details", d).Msg("mcp_tool_called")
}

func (t *turn) logResult(j *job) {
	e := t.log.Info()
	if !e.Enabled() {
		return
	}
	d := zerolog.Dict().Str("tool_name", j.call.Name).Str("call_id", j.told.ID).
		Bool("success", j.err == nil && !j.result.IsError).Int("result_length", len(j.result.Text))
	if t.agent.cfg.LogPayloads {
		head, _ := chat.Truncate(j.result.Text, maxPreview)
		d.Str("result_preview", head)
	}
	e.Int64("duration_ms", j.took.Milliseconds()).Dict("details", d).Msg("mcp_tool_result")
}

func argumentNames(args jsontext.Value) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(args))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	var names []string
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		names = append(names, tok.String())
		if dec.SkipValue() != nil {
			break
		}
	}
	return names
}
