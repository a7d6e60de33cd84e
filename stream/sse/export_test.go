package sse

// The names that the external tests use.
var ErrTooLong = errTooLong
