package handlers_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No turn leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
