package engine_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/base/testnet"
)

func TestMain(m *testing.M) {
	testnet.Parallel(6)
	goleak.VerifyTestMain(m)
}
