package config

// The names that the external tests use.
var ErrTooLarge = errTooLarge
