package task

// life is where a turn stands between this process, those that may continue with it, and the
// store. It goes forward alone: a turn that is another's is never this process's again, and
// one that is settled is never left to another.
type life uint8

const (
	running life = iota // this process runs it
	gone                // another process has closed it, and owns its task
	leftOff             // it goes on as another turn, of this process or another: here it has no end
	settled             // the store has its last state, or never will
)

// lose notes that another process owns the task. It returns false if that is no news.
func (l *life) lose() bool { return l.follow(gone, running) }

// leaveOff notes that the turn is left to another process, which may have closed it by then.
func (l *life) leaveOff() bool { return l.follow(leftOff, running, gone) }

// settle notes that the store needs nothing more of the turn.
func (l *life) settle() bool { return l.follow(settled, running) }

// follow changes to next if it may follow what is. Else it changes nothing and returns false.
func (l *life) follow(next life, after ...life) bool {
	for _, from := range after {
		if *l == from {
			*l = next
			return true
		}
	}
	return false
}
