package task_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/base/testnet"
)

func TestMain(m *testing.M) {
	testnet.Parallel(8)
	goleak.VerifyTestMain(m)
}
