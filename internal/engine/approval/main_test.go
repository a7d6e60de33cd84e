package approval_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/base/config/configtest"
)

func TestMain(m *testing.M) {
	configtest.Parallel(6)
	goleak.VerifyTestMain(m)
}
