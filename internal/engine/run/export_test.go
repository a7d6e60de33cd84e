package run

// The names that the external tests use.
const MaxPaused = maxPaused
