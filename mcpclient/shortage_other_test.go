//go:build !unix

package mcpclient

func shortMain() {} // there is no RLIMIT_NOFILE
