package recording

// The names that the external tests use.
const DefaultMax = defaultMax
