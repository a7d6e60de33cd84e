package fault

import "syscall"

// shortageErrors returns the errors of the system that mean a shortage of our own. The
// constants of package syscall that have the names of Unix are never returned by
// Windows. The numbers are those of winerror.h.
func shortageErrors() [9]syscall.Errno {
	return [...]syscall.Errno{
		4,     // ERROR_TOO_MANY_OPEN_FILES
		8,     // ERROR_NOT_ENOUGH_MEMORY
		14,    // ERROR_OUTOFMEMORY
		1450,  // ERROR_NO_SYSTEM_RESOURCES
		1455,  // ERROR_COMMITMENT_LIMIT
		1816,  // ERROR_NOT_ENOUGH_QUOTA
		10024, // WSAEMFILE
		10049, // WSAEADDRNOTAVAIL
		10055, // WSAENOBUFS
	}
}
