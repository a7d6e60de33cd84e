package model_test

import (
	"io"
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/process"
)

// The log of all tests has the gateway's form, which zerolog has for a whole process only.
func TestMain(m *testing.M) {
	process.NewLogger(io.Discard, "info")
	if !gatewaytest.BeChild(nil) {
		goleak.VerifyTestMain(m)
	}
}
