package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// Names of records, without the prefix that an engine puts before each.
const (
	AgentsKey = "sluice:agents" // agents added at run time: one value
	DueIndex  = "sluice:due"    // runs of workflows that wait, by when their wait is over
	// RetainIndex has tasks that have ended and do not expire, by when their records go.
	RetainIndex = "sluice:retain"
)

// TaskKey returns where a task's document is.
func TaskKey(id string) string { return "task:" + id }

// MetaKey returns where a task's Meta is.
func MetaKey(id string) string { return "sluice:task:" + id }

// LongKey returns the list of a task's texts that are too long for its document.
func LongKey(id string) string { return "sluice:long:" + id }

// LogKey returns where a turn's events are.
func LogKey(turn string) string { return "sluice:log:" + turn }

// TurnKey returns the list of a running turn's data that another process needs to continue it: the
// request, then the states.
func TurnKey(turn string) string { return "sluice:turn:" + turn }

// TraceKey returns the list of the parts that a task's turns add to its trace.
func TraceKey(id string) string { return "sluice:trace:" + id }

// LeaseKey returns where a process's lease is.
func LeaseKey(owner string) string { return "sluice:gw:" + owner }

// IdempotencyKey returns the value of a user's idempotency key.
func IdempotencyKey(tenant, user, key string) string {
	return "sluice:idem:" + hashTexts(tenant, user, key)
}

// ContentKey returns the value for a turn with this content, given as a hash.
func ContentKey(content [32]byte) string { return "sluice:again:" + hex.EncodeToString(content[:16]) }

// MemoryKey returns the list of a conversation's memory.
func MemoryKey(tenant, user, conversation string) string {
	return "sluice:mem:" + hashTexts(tenant, user, conversation)
}

// ConversationKey returns the value of a conversation's record.
func ConversationKey(tenant, user, conversation string) string {
	return "sluice:conv:" + hashTexts(tenant, user, conversation)
}

// ConversationTurnsKey returns the list of a conversation's turns.
func ConversationTurnsKey(tenant, user, conversation string) string {
	return "sluice:turns:" + hashTexts(tenant, user, conversation)
}

// ConversationItemsKey returns the list of the items of a conversation that ChatKit has shown.
func ConversationItemsKey(tenant, user, conversation string) string {
	return ConversationTurnsKey(tenant, user, conversation) + ":items"
}

// ConversationsKey returns the index of a user's conversations, by the time of their last turn.
func ConversationsKey(tenant, user string) string { return "sluice:convs:" + hashTexts(tenant, user) }

// GenerationKey returns the counter of possible changes in a tool server. It is shared by all
// users: a change by one user may be visible to another.
func GenerationKey(server string) string { return "sluice:gen:" + hashTexts(server) }

// CacheKey returns the value of a tool's result in one generation.
func CacheKey(tenant, user, server, tool, arguments string, generation int64) string {
	return "sluice:cache:" + hashTexts(tenant, user, server, tool, arguments, strconv.FormatInt(generation, 10))
}

// ToolsKey returns where the list of tools is that an MCP server gave last.
func ToolsKey(server string) string { return "sluice:tools:" + server }

// RunKey returns the value of a task's run of a workflow. CheckpointsKey and MessagesKey return the
// lists of its states and messages.
func RunKey(task string) string { return "sluice:run:" + task }

// CheckpointsKey returns the list of a run's checkpoints.
func CheckpointsKey(task string) string { return "sluice:cp:" + task }

// MessagesKey returns the list of a run's messages.
func MessagesKey(task string) string { return "sluice:msg:" + task }

// DefinitionKey returns the value of a workflow's definition, by its SHA-256.
func DefinitionKey(sum string) string { return "sluice:def:" + sum }

// DefinitionRunsKey returns the index of the tasks whose runs are pinned to a definition.
func DefinitionRunsKey(sum string) string { return "sluice:def:" + sum + ":runs" }

// Withdraw returns the data of a question whose task was cancelled, so that it cannot be answered.
// It keeps the member rest of the former data: the people who might answer, and no text of the
// turn.
func Withdraw(data []byte) []byte {
	var kept struct {
		Rest json.RawMessage `json:"rest,omitempty"`
	}
	if json.Unmarshal(data, &kept) != nil {
		kept.Rest = nil
	}
	withdrawn, _ := json.Marshal(kept)
	return withdrawn
}

// ApprovalKey returns the value of a question to a person, by its id.
func ApprovalKey(id string) string { return "sluice:approval:" + id }

// ApprovalsKey returns the index of the questions that name a person as an approver, by when
// they expire; ApprovalsOfAllKey that of those which anybody may answer.
func ApprovalsKey(tenant, person string) string {
	return "sluice:approvals:" + hashTexts(tenant, person)
}

// ApprovalsOfAllKey: see ApprovalsKey.
func ApprovalsOfAllKey(tenant string) string { return "sluice:approvals:" + hashTexts(tenant) }

// RateKey returns the key of a rate or a count of a subject. The subject is its kind and its names;
// what names the rate or count.
func RateKey(what string, subject ...string) string {
	return "sluice:rate:" + hashTexts(subject...) + ":" + what
}

// SessionKey returns the value of a session of a sub-agent, by its UUID.
func SessionKey(id string) string { return "sluice:session:" + id }

// SessionsKey returns the list of the sessions of a task. No task has the id of a session.
func SessionsKey(task string) string { return "sluice:session:" + task }

// ResponseKey returns the value of a response of OpenAI's Responses API, by its id.
func ResponseKey(id string) string { return "sluice:response:" + id }

// ResponseID returns the id of a turn's response.
func ResponseID(turn string) string { return "resp_" + strings.TrimPrefix(turn, "turn_") }

// ResponsesKey returns the list of the responses of a task. No task has the id of a response.
func ResponsesKey(task string) string { return "sluice:response:" + task }

// ThreadKey returns the value of a thread of ChatKit.
func ThreadKey(id string) string { return "sluice:thread:" + id }

// ThreadItemsKey returns the list of a thread's items.
func ThreadItemsKey(id string) string { return ThreadKey(id) + ":items" }

// ThreadsKey returns the index of an owner's threads.
func ThreadsKey(tenant, owner string) string { return "sluice:threads:" + hashTexts(tenant, owner) }

// TasksKey returns the index of the tasks of a user; of one conversation, if conversation
// is not empty.
func TasksKey(tenant, user, conversation string) string {
	if conversation == "" {
		return "sluice:tasks:user:" + hashTexts(tenant, user)
	}
	return "sluice:tasks:conv:" + hashTexts(tenant, user, conversation)
}

// LogTopic returns the topic that is signalled when a turn's log has changed.
func LogTopic(turn string) string { return "log:" + turn }

// OrphansTopic is signalled when a process has left turns for others.
const OrphansTopic = "orphans"

// CancelTopic returns the topic that is signalled when a task of owner is to be cancelled.
func CancelTopic(owner string) string { return "cancel:" + owner }

// hashTexts makes a name of fixed length of texts that users choose. Each is preceded by its
// length, so that no two lists of texts look alike.
func hashTexts(texts ...string) string {
	var all []byte
	for _, text := range texts {
		all = append(strconv.AppendInt(all, int64(len(text)), 10), ':')
		all = append(all, text...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}
