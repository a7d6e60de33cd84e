//go:build !unix

package gateway

func descriptorLimit() int { return 0 }
