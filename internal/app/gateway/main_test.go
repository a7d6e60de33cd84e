package gateway_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/config/configtest"
)

func TestMain(m *testing.M) {
	if !gatewaytest.BeChild(nil) {
		configtest.Parallel(6)
		goleak.VerifyTestMain(m)
	}
}
