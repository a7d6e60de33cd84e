package model

// The names that the external tests use.
const (
	ClassBlocked  = classBlocked
	ClassOverflow = classOverflow
)

var (
	ErrSilent  = errSilent
	Estimate   = estimate
	FitNames   = fitNames
	ToolSchema = toolSchema
)
