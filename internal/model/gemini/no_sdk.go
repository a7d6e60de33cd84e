//go:build nosdk

package gemini

import "errors"

// openSDK returns the error of a program without the driver.
func openSDK() (driver, error) {
	return nil, errors.New("gemini: this program was built with the tag nosdk, and so without the driver sdk: " +
		"set GEMINI_DRIVER, or the driver of the model, to rest, or use a program built without the tag")
}
