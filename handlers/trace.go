package handlers

import "net/http"

// showTrace replies with the trace of a task. One of somebody else's is as if it were not
// there.
func (s *Server) showTrace(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.caller(r)
	if err != nil {
		return err
	}
	id, err := taskID(r)
	if err != nil {
		return err
	}
	doc, err := s.cfg.Tasks.Trace(r.Context(), c, id)
	if err == nil {
		writeBody(w, http.StatusOK, doc)
	}
	return err
}
