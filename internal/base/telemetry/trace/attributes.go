package trace

// Names of attributes and of operations. Names from OpenTelemetry's conventions for generative
// models are those of version 1.41.0 (status: in development;
// opentelemetry.io/docs/specs/semconv/gen-ai). Their names with content are left out.
const (
	Operation    = "gen_ai.operation.name"
	RequestModel = "gen_ai.request.model"
	InputTokens  = "gen_ai.usage.input_tokens"
	OutputTokens = "gen_ai.usage.output_tokens" // thinking included
	AgentID      = "gen_ai.agent.id"
	ToolName     = "gen_ai.tool.name"
	WorkflowName = "gen_ai.workflow.name"

	Chat        = "chat"
	InvokeAgent = "invoke_agent"
	ExecuteTool = "execute_tool"

	InvokeWorkflow = "invoke_workflow"
)

// Noter is a Recorder that also records facts without an attribute in telemetry.
type Noter interface {
	// First records that the first piece of the answer has come.
	First()
	// Replied records how many input tokens came from a cache, how many output tokens were thinking,
	// and why the answer ended; empty for a failure.
	Replied(cached, thinking int, finish string)
}

// First records that the first piece of a model's answer has come.
func (s Span) First() {
	if n, ok := s.rec.(Noter); ok {
		n.First()
	}
}

// Replied records how many input tokens of a model's call came from a cache, how many output tokens
// were thinking, and why the answer ended.
func (s Span) Replied(cached, thinking int, finish string) {
	if n, ok := s.rec.(Noter); ok {
		n.Replied(cached, thinking, finish)
	}
}

// Usage adds how many tokens were used.
func (s Span) Usage(input, output, thinking int) {
	if s.rec == nil || input+output+thinking == 0 {
		return
	}
	s.rec.Int(InputTokens, input)
	s.rec.Int(OutputTokens, output+thinking)
}
