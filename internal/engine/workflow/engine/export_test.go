package engine

// The names that the external tests use.
var Restore = restorePaused
