// This file notifies the service manager that may have started the process, such as systemd with
// Type=notify. Only then the manager counts the service as started.

package process

import (
	"net"
	"time"

	"github.com/rs/zerolog"
)

// States for a service manager: sd_notify(3).
const (
	ready    = "READY=1"
	stopping = "STOPPING=1"
)

// notifyTime bounds a datagram to a manager whose queue is full.
const notifyTime = time.Second

// Manager is the address of the socket of a service manager, as NOTIFY_SOCKET has it: a path, or an
// abstract name that begins with @. Empty without a manager.
type Manager string

// sendState sends a state to the manager, if there is one.
func (m Manager) sendState(state string) error {
	if m == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: string(m), Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(notifyTime))
	_, err = conn.Write([]byte(state))
	return err
}

// notifyManager sends a state to the service manager. A manager that cannot be reached ends the process by
// its own limit of time, so the log says why.
func (s *Server) notifyManager(state string) {
	if err := s.cfg.Manager.sendState(state); err != nil {
		s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("state", state).AnErr("cause", err)).Msg("notify_failed")
	}
}
