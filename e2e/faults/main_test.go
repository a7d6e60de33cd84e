package faults

import (
	"os"
	"testing"

	"sluice/e2e/process"
)

func TestMain(m *testing.M) {
	if beCrowdModel() { // this process is a model that a test has started
		return
	}
	os.Exit(process.Main(m))
}
