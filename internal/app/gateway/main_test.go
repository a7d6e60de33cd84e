package gateway_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/app/gateway/gatewaytest"
)

func TestMain(m *testing.M) {
	if !gatewaytest.BeChild(nil) {
		goleak.VerifyTestMain(m)
	}
}
