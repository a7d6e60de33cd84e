package task_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/base/config/configtest"
)

func TestMain(m *testing.M) {
	configtest.Parallel(8)
	goleak.VerifyTestMain(m)
}
