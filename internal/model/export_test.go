package model

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
