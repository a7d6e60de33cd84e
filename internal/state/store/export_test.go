package store

// The names that the external tests use.
const DefaultTimeout = defaultTimeout

var (
	ErrScheme = errScheme
	Forms     = locationForms
)
