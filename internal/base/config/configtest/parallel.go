package configtest

import (
	"flag"
	"strconv"
)

// Parallel lets n parallel tests of a package run at a time, unless -parallel says otherwise. It is
// for packages whose tests mostly wait: as many as there are cores would wait one after the other.
// A TestMain calls it before the tests run.
func Parallel(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
