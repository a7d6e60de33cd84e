package check_test

import (
	"fmt"

	"sluice/internal/quality/check"
)

// A Check is compiled once from its name and arguments. It judges many answers.
func ExampleCheck() {
	short, err := check.Compile("max_length", []byte(`{"words":4}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, answer := range []string{"Open until six.", "The museum is open until six in the evening."} {
		fmt.Println(short.Run(&check.Input{Text: answer}).Passed)
	}
	// Output:
	// true
	// false
}
