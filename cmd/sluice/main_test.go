package main

import (
	"testing"

	"sluice/internal/app/gateway/gatewaytest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !gatewaytest.BeChild(main) {
		goleak.VerifyTestMain(m)
	}
}
