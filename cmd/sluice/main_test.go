package main

import (
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !gatewaytest.BeChild(main) {
		testnet.Parallel(6)
		goleak.VerifyTestMain(m)
	}
}
