//go:build !linux

package browser

import "syscall"

func diesWithUs() *syscall.SysProcAttr { return nil }
