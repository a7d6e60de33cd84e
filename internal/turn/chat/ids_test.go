package chat_test

import (
	"regexp"
	"testing"

	"sluice/internal/turn/chat"
)

// What is asked of a store has the form of an id that we make.
func FuzzIDs(f *testing.F) {
	for _, seed := range []string{"", "task_", "task_0123456789abcdefghijklmnop", "turn_0123456789abcdefghijklmnop", "task_0123456789abcdefghijklmno\n", "task_task_0123456789abcdefghijk", "01234567-89ab-cdef-0123-456789abcdef"} {
		f.Add(seed)
	}
	task, turn := regexp.MustCompile(`\Atask_[0-9a-z]{26}\z`), regexp.MustCompile(`\Aturn_[0-9a-z]{26}\z`)
	uuid := regexp.MustCompile(`\A[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		for name, of := range map[string]struct {
			form *regexp.Regexp
			got  bool
		}{"task": {task, chat.IsTaskID(s)}, "turn": {turn, chat.IsTurnID(s)}, "uuid": {uuid, chat.IsUUID(s)}} {
			if of.got != of.form.MatchString(s) {
				t.Errorf("%q is the id of a %s: %v", s, name, of.got)
			}
		}
	})
}
