package tool

// Info is what is known of a tool, whether it can be called now or not. It must not be
// changed.
type Info struct {
	Server      string
	Name        string  // as its server gives it
	Policy      *Policy // of its server
	Annotations Annotations
}
