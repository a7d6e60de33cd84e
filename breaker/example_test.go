package breaker_test

import (
	"context"
	"errors"
	"fmt"

	"sluice/breaker"
)

// A caller asks before each call, and reports how the call ended.
func ExampleBreaker_Allow() {
	b := breaker.New(breaker.Config{Service: "search", Failures: 2})
	for range 2 {
		done, err := b.Allow(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		done(breaker.Failure, errors.New("connection refused"))
	}
	_, err := b.Allow(context.Background())
	fmt.Println(err)
	// Output: circuit breaker of search is open
}
