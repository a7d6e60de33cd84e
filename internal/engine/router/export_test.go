package router

// The names that the external tests use.
const StickyHold = stickyHold
