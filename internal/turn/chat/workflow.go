package chat

import (
	"math"
	"strings"
)

// Limits of a request's fields about a run.
const (
	maxWorkflow      = 64
	maxKind          = 32
	maxRetentionDays = 3650
)

// UnknownWorkflow is the fault of a request for a workflow that does not exist.
func UnknownWorkflow() *FieldError {
	return &FieldError{Code: CodeUnknownValue, Message: "names no workflow; GET /workflows lists them"}
}

// checkWorkflow accepts texts of the form of a workflow's name. It does not check that the workflow
// exists.
func checkWorkflow(s string) (string, *FieldError) {
	if s == "" || len(s) > maxWorkflow || s[0] < 'a' || s[0] > 'z' || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", UnknownWorkflow()
	}
	return s, nil
}

// checkKind accepts a short word.
func checkKind(s string) (string, *FieldError) {
	if s == "" || len(s) > maxKind || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return "", &FieldError{Code: CodeInvalidFormat, Message: "must be 1 to 32 of a-z 0-9 _ -"}
	}
	return s, nil
}

// checkRetentionDays accepts a whole number of days.
func checkRetentionDays(n float64) (*int, *FieldError) {
	if n != math.Trunc(n) || n < 0 || n > maxRetentionDays {
		return nil, &FieldError{Code: CodeInvalidFormat, Message: "must be a whole number from 0 to 3650"}
	}
	days := int(n)
	return &days, nil
}
