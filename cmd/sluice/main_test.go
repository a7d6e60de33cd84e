package main

import (
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/config/configtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !gatewaytest.BeChild(main) {
		configtest.Parallel(6)
		goleak.VerifyTestMain(m)
	}
}
