package check

// The names that the external tests use.
var ErrUnknown = errUnknown
