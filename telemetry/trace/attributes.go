package trace

// Names of attributes and of operations. Those of OpenTelemetry's conventions for
// generative models have their names from there, in the version 1.41.0 (status: in
// development; opentelemetry.io/docs/specs/semconv/gen-ai). Their names with content are
// left out.
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

// Usage adds how many tokens were used.
func (s Span) Usage(input, output, thinking int) {
	if s.rec == nil || input+output+thinking == 0 {
		return
	}
	s.rec.Int(InputTokens, input)
	s.rec.Int(OutputTokens, output+thinking)
}
