package loadtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Why a server's process is not known.
var (
	errNotLocal  = errors.New("not on this machine's loopback interface")
	errNotFound  = errors.New("its process is not visible to us")
	errAmbiguous = errors.New("several processes listen there; choose one with --pid")
	errGone      = errors.New("there is no such process, or not any more")
)

// serverOf finds the process that listens where base points to, if that is on the
// loopback interface.
func (p procfs) serverOf(ctx context.Context, base string) (pid int, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, errNotLocal
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return !a.IsLoopback() })
	if err != nil || len(addrs) == 0 {
		return 0, errNotLocal
	}
	number, _ := strconv.ParseUint(port, 10, 16)
	return p.listener(addrs, uint16(number))
}

// listener finds the one process that listens at a port of any of addrs.
func (p procfs) listener(addrs []netip.Addr, port uint16) (pid int, err error) {
	var sockets []string
	for _, table := range []string{"tcp", "tcp6"} {
		sockets = append(sockets, p.listening(table, addrs, port)...)
	}
	pids := p.holders(sockets)
	switch {
	case len(pids) == 0:
		return 0, errNotFound
	case len(pids) > 1:
		return 0, errAmbiguous
	}
	return pids[0], nil
}

// listening returns the sockets of a table that take connections to addrs and port,
// as links in /proc/<pid>/fd name them. A line of a table is, after its number,
//
//	0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 123456 ...
//
// with the local address and port, the state (0A listens) and, as field 9, the inode.
func (p procfs) listening(table string, addrs []netip.Addr, port uint16) (sockets []string) {
	content, err := os.ReadFile(filepath.Join(string(p), "net", table))
	if err != nil {
		return nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		at, ok := kernelAddr(fields[1])
		takes := at.Addr().IsUnspecified() || slices.Contains(addrs, at.Addr())
		if ok && at.Port() == port && takes {
			sockets = append(sockets, "socket:["+fields[9]+"]")
		}
	}
	return sockets
}

// kernelAddr reads an address as the kernel prints it: as numbers of 32 bits in the
// machine's order, and the port.
func kernelAddr(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}

// holders returns the processes that have one of the sockets open, as far as we may
// look.
func (p procfs) holders(sockets []string) (pids []int) {
	folders, _ := filepath.Glob(filepath.Join(string(p), "[0-9]*", "fd"))
	for _, folder := range folders {
		files, _ := os.ReadDir(folder)
		for _, file := range files {
			target, err := os.Readlink(filepath.Join(folder, file.Name()))
			if err == nil && slices.Contains(sockets, target) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
