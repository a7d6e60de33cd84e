package tool

// Info describes a tool that is known, even while it cannot be called. It must not be changed.
type Info struct {
	Server      string
	Name        string  // as its server gives it
	Policy      *Policy // of its server
	Annotations Annotations
}
