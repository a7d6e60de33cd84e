package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// allKeys are the keys of records of one kind each, with names that differ in where one ends
// and the next begins.
func allKeys() map[string]string {
	keys := map[string]string{}
	for _, n := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"", "ab", "c"}, {"a", "bc", ""}, {"a:b", "c", ""}, {"a", "b:c", ""}} {
		at := func(kind, key string) { keys[fmt.Sprintf("%s of %q", kind, n)] = key }
		at("idempotency", IdempotencyKey(n[0], n[1], n[2]))
		at("memory", MemoryKey(n[0], n[1], n[2]))
		at("approvals", ApprovalsKey(n[0], n[1]+"/"+n[2]))
		at("threads", ThreadsKey(n[0], n[1]+"/"+n[2]))
		at("tasks of a user", TasksKey(n[0], n[1]+"/"+n[2], ""))
		at("tasks of a conversation", TasksKey(n[0], n[1], n[2]+"x"))
		at("rate", RateKey("turns", n[0], n[1], n[2]))
		at("another rate", RateKey("tokens", n[0], n[1], n[2]))
		at("cache", CacheKey(n[0], n[1], n[2], "tool", "{}", 1))
		at("the next generation of the cache", CacheKey(n[0], n[1], n[2], "tool", "{}", 2))
	}
	for _, id := range []string{"x", "y"} {
		for kind, key := range map[string]func(string) string{
			"meta": MetaKey, "long": LongKey, "log": LogKey, "turn": TurnKey, "trace": TraceKey, "lease": LeaseKey, "generation": GenerationKey, "tools": ToolsKey,
			"run": RunKey, "checkpoints": CheckpointsKey, "messages": MessagesKey, "definition": DefinitionKey, "runs of a definition": DefinitionRunsKey,
			"approval": ApprovalKey, "approvals of all": ApprovalsOfAllKey, "session": SessionKey, "response": ResponseKey, "thread": ThreadKey, "items of a thread": ThreadItemsKey,
		} {
			keys[kind+" of "+id] = key(id)
		}
		keys["content of "+id] = ContentKey([32]byte{id[0]})
	}
	return keys
}

// No two records share a key, wherever a name ends, and all keys have the prefix by which an
// operator finds ours.
func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	of := map[string]string{}
	for record, key := range allKeys() {
		if before, ok := of[key]; ok {
			t.Errorf("%s and %s share %s", before, record, key)
		}
		if of[key] = record; !strings.HasPrefix(key, "sluice:") {
			t.Errorf("%s is at %s", record, key)
		}
	}
}

// Names of people are in no key.
func TestKeysNameNobody(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		IdempotencyKey("acme", "ada@example.com", "k"), MemoryKey("acme", "ada@example.com", "c"), ApprovalsKey("acme", "ada@example.com"),
		ThreadsKey("acme", "ada@example.com"), TasksKey("acme", "ada@example.com", ""), TasksKey("acme", "ada@example.com", "c"), RateKey("turns", "user", "acme", "ada@example.com"),
	} {
		if strings.Contains(key, "ada") || strings.Contains(key, "acme") {
			t.Errorf("%s names somebody", key)
		}
	}
}

// A writer that is in conflict learns where the log ends.
func TestEndOfALog(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("append: %w", &EndError{End: 7})
	end, ok := errors.AsType[*EndError](err)
	if !ok || end.End != 7 || !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "event 7") {
		t.Errorf("%v", err)
	}
}
