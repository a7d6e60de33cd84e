//go:build unix

package process

import "syscall"

// plenty stands for a limit of descriptors that does not exist.
const plenty = 1 << 20

// descriptorLimit is how many files and connections this process may have open;
// 0: it cannot be found out.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	if n := int64(limit.Cur); n > 0 && n < plenty {
		return int(n)
	}
	return plenty
}
