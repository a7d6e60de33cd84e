package chat

// The names that the external tests use.
var MadeCallID = madeCallID
