package model

import "sluice/breaker"

// The names that the external tests use.
const (
	ClassBlocked  = classBlocked
	ClassOverflow = classOverflow
	ModeJSON      = modeJSON
	ModePrompt    = modePrompt
	ModeTool      = modeTool
)

var (
	ErrSilent  = errSilent
	Estimate   = estimateTokens
	FitNames   = fitNames
	ToolSchema = toolSchema
)

// VerdictOfNoSeam returns the verdict on an answer that does not continue a text.
func VerdictOfNoSeam() breaker.Verdict {
	c := &call{yieldErr: errNoSeam}
	return c.judgeEnding(errNoSeam).verdict
}
