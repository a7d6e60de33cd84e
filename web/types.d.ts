// The shapes of what the gateway sends, for the type checker alone: this file is
// not served. docs/events.md tells what they mean.
type Via = 'fetch' | 'eventsource';
type TurnState = 'running' | 'done' | 'failed' | 'stopped' | 'dropped' | 'refused';
interface Ask {
  input: string; conversation_id: string; timezone?: string; history?: Said[];
  channel?: string; // none: this page
  drafts?: boolean;
  approval?: Answer & Address; // Answers a question: input then says so to the person, and is not sent.
  workflow?: string; agent?: string; user_name?: string;
}
/** A question to a person. */
interface Approval {
  request_id: string; approval_id: string;
  kind?: string; // tool, human or outcome
  prompt: string; expires_at: string; token: string;
  task_id?: string; // with a store
  calls?: Pending[];
  schema?: Schema; // of a form
  user_id?: string; // in a list: who asked
  conversation_id?: string; // in a list that was read by it
}
interface Pending { call_id: string; tool_name: string; server: string; arguments: Record<string, unknown>; reason: string; agent_id?: string; truncated?: boolean }
/** One action for all, or a decision for each call. */
interface Answer { calls?: Decision[]; action?: 'approve' | 'reject'; message?: string; input?: Record<string, unknown> }
/** Of a question: its token, or the task that waits. */
interface Address { token?: string; task?: string; approval_id?: string; user_id?: string }
/** What becomes of one call. */
interface Decision {
  call_id: string; action: 'approve' | 'reject' | 'modify'; arguments?: Record<string, unknown>;
  result?: string; // of a call whose outcome a person tells
}
/** One message of before, for the model to read. */
interface Said { role: 'user' | 'assistant'; content: string; }
/** One event as it came. */
interface Frame { id: string; event: string; data: string; }
/** One event, kept for the inspector. */
interface Seen extends Frame {
  at: number; // milliseconds since the request was sent
  bytes: number; // of the data
}
/** How a stream ended. */
type Outcome =
  | { how: 'done' }
  | { how: 'stopped' }
  | { how: 'lost'; sent: boolean; gone?: boolean; reloaded?: boolean } // sent: some of the stream arrived; gone: no more will; reloaded: by the page's own doing
  | { how: 'refused'; problem: Problem };
interface Problem {
  status: number; // 0: hidden by EventSource
  error_type: string; detail: string; errors: { field: string; code: string; message: string }[]; request_id?: string; retry_after_ms?: number;
}
/** Who is to answer, in a turn of a team. */
interface Route { request_id: string; decision: 'route' | 'clarify' | 'fallback'; agent_id: string; additional_agents: string[]; confidence: number; reasoning?: string; method: string; duration_ms: number; }
/** An agent's part in a turn of a team. */
interface AgentRun {
  request_id: string; agent_id: string; role: string;
  session_id?: string; // Of an agent that another one has called.
  call_id?: string; attempt: number; status: 'started' | 'retrying' | 'completed' | 'failed' | 'cancelled'; execution_time_ms?: number; error_message?: string;
}
/** A node's part in a run of a workflow. */
interface NodeRun {
  request_id: string; node_id: string; type: string; status: 'started' | 'completed' | 'failed' | 'waiting' | 'skipped'; attempt: number; iteration?: number; duration_ms?: number;
  output?: string; error_type?: string;
}
/** A workflow as GET /workflows has it. */
interface Workflow { name: string; description?: string; examples: string[]; nodes: { id: string; type: string; agent?: string; tool?: string }[]; edges: { from: string; to: string; condition?: string; match?: string }[]; }
/** What is done with an answer before it is sent. */
interface Quality { phase: string; attempt: number; elapsed_ms: number; chars?: number; passed?: string[]; failed?: string[]; }
interface Criterion { id: string; by: 'code' | 'judge'; must: boolean; planned?: boolean; passed: boolean | null; not_applicable?: boolean; failed_first?: boolean; }
/** What became of the checks. */
interface Receipt { passed: boolean; outcome: string; refined: boolean; criteria: Criterion[]; ms: { plan: number; format: number; check: number; judge: number; refine: number; held: number }; }
/** One message of a channel. */
interface ChannelMessage {
  channel: string; sequence: number; total: number; content: string; content_type: string; continuation_indicator?: string; encoding?: string; segments?: number; units?: number;
  chars?: number; card?: CardElement; bytes?: number; subject?: string; text?: string; html?: string;
}
/** As much of an Adaptive Card as is shown. */
interface CardElement {
  type: string; text?: string; style?: string; weight?: string; inlines?: (string | { text?: string })[]; rows?: { cells?: { items?: CardElement[] }[] }[];
  firstRowAsHeaders?: boolean; // of a table; none: true
  items?: CardElement[]; body?: CardElement[];
}
interface ToolCall {
  request_id: string; agent_id?: string; call_id: string; tool_name: string; server: string; arguments: Record<string, unknown>;
  status: 'in_progress' | 'progress' | 'completed' | 'failed' | 'unknown'; duration_ms?: number; result?: string; truncated?: boolean; error?: string;
  error_type?: string; // approval_rejected: a person has not allowed it
  progress?: number; total?: number; message?: string;
}
interface Fault { request_id: string; agent_id?: string; error_type: string; message: string; recoverable: boolean; fatal: boolean; retry_after_ms?: number; service?: string; }
interface Done {
  request_id: string; final_output: string; tools_called: string[]; success: boolean; finish_reason: string; quality?: Receipt;
  usage: { input_tokens: number; output_tokens: number; thinking_tokens: number; cached_tokens?: number }; timings: { total_ms: number; first_event_ms: number; first_delta_ms?: number;
  model_ms: number[]; tools: { tool_name: string; ms: number }[]; write_blocked_ms: number; };
}
/** A turn of before, as far as it is kept. */
interface Past {
  input: string; answer: string;
  line: string; // time and tokens
  state: string;
  task: string; // and the turn: empty unless the gateway keeps turns
  turn: string;
  at: number; // when it began, in milliseconds since 1970
  continues?: boolean; // after an answer to a question
  parent?: number; // the index of the turn before it; -1: it is a first one
  chosen?: boolean; // of its versions
}
/** A task that the gateway keeps, as far as it is shown here. */
interface Task {
  id: string; contextId?: string; status: { state: string; message?: { content: string }; timestamp?: string };
  history?: { role: string; content: string; timestamp?: string; messageId?: string; turnId?: string; agentId?: string }[]; artifacts?: unknown[];
  metadata?: { agentSelections?: unknown; workflow?: string; turns?: string[] };
}
/** The way of a task, as the gateway kept it. */
interface Trace {
  task_id: string;
  steps: TraceStep[]; // in the order in which they began
  sub_agent_sessions: Record<string, { session_id: string; agent: string; message_count: number; status: string }>;
}
interface TraceStep {
  id: string; parent_id?: string; step_name: string; message: string; status: 'info' | 'warning' | 'error'; timestamp: string;
  started_ms: number; // since the begin of the trace
  duration_ms?: number; // none: it runs
  agent?: string; node_id?: string; session_id?: string; attempt?: number;
  model?: string; // that was asked
  first_token_ms?: number; finish_reason?: string; tool_calls?: TraceCall[]; usage?: { input_tokens: number; output_tokens: number; thinking_tokens: number; cached_tokens?: number };
  is_guess?: boolean; // its end was not measured
}
interface TraceCall {
  call_id: string; server: string; tool: string; arguments?: Record<string, unknown>; result?: { text: string; truncated?: boolean }; error?: string; started_ms?: number;
  duration_ms?: number; outcome: string;
  runs?: boolean; // at this moment
}
interface Breaker { service: string; state: string; failure_count: number; retry_after_ms: number }
interface Ready {
  status: string; model: string; breakers: Breaker[]; mcp: { server: string; connected: boolean; tools: number }[];
  streams?: number; // the gateway does not say it to everybody
  models?: { key: string; model?: string; missing_key?: string }[]; store?: { kind: string; state: string }; approvals?: boolean;
}
interface Agent { id: string; name: string; description: string; capabilities: string[]; examples: string[]; kind: string; routable: boolean; available: boolean; model?: string; tools: string[]; }
interface Tool {
  name: string; server: string; description: string; input_schema: Schema;
  annotations: { title?: string; readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean }; fallback?: string;
}
interface Schema { type?: string | string[]; description?: string; properties?: Record<string, Schema>; required?: string[]; enum?: unknown[]; default?: unknown; }

// Names of modules that others use in their types.
type Child = import('./vendor/preact.js').Child;
type Signal<T> = import('./vendor/signals.js').Signal<T>;
type Token = import('./vendor/marked.js').Tokens.Generic;
type Links = import('./vendor/marked.js').Links;
type EventName = import('./wire/events.js').EventName;
type Listener = import('./wire/transport.js').Listener;
type Kept = import('./wire/talk.js').Kept;
type Tree = import('./model/tree.js').Tree;
type TurnRecord = import('./model/record.js').TurnRecord;
type Turn = import('./model/turn.js').Turn;
type Conversation = import('./model/conversation.js').Conversation;
type Question = import('./model/question.js').Question;

// A turn as its events are folded: see model/tree.js.
type BranchKind = 'turn' | 'agent' | 'node' | 'delegate' | 'draft';
type BranchState = 'next' | 'running' | 'retrying' | 'done' | 'failed' | 'stopped' | 'waiting' | 'skipped' | 'lost' | 'struck';
interface Branch {
  kind: BranchKind; name: string; type: string; state: BranchState; attempt: number; parts: Part[];
  id: string; // of its kind: a node's, a session's, an agent's, the number of a draft
  ms: number | undefined; // how long it worked
  note: string; // why it failed, or was written again
  task: string; // of a sub-agent
}
interface TextPart {
  kind: 'text'; text: string; done: boolean; role: '' | 'output' | 'earlier';
  cuts: number; // how often some of it was taken back
  copy: boolean; // it is in the answer as well
}
interface ThoughtsPart { kind: 'thoughts'; text: string; done: boolean }
interface ToolPart {
  kind: 'tool'; call: ToolCall; lost: boolean; notice: Fault | null;
  whole: string; // a result that the call had cut
  agent: boolean; // it is a sub-agent's, which has a block
}
interface ForkPart { kind: 'fork'; what: BranchKind; branches: Branch[] }
interface ChecksPart {
  kind: 'checks'; phases: { phase: string; attempt: number; elapsed: number; chars: number; failed: boolean }[]; receipt: Receipt | null;
  open: boolean; // the last phase goes on
  passed: string[]; failed: string[]; // ids of criteria
}
type Part = TextPart | ThoughtsPart | ToolPart | ForkPart | ChecksPart | { kind: 'change'; key: string; model: string; previous: string; reason: string }
  | { kind: 'fault'; fault: Fault } | { kind: 'route'; route: Route } | { kind: 'message'; message: ChannelMessage } | { kind: 'approval'; approval: Approval } | { kind: 'graph' };
interface Attribution { session_id?: string; node_id?: string; agent_id?: string }

/** A row of a trace: see model/timeline.js. Times are milliseconds since the begin of the trace. */
interface Row {
  id: string; name: string; from: number; step: TraceStep | null; call: TraceCall | null; status: '' | 'warning' | 'error';
  kind: string; // a step's name; tool and wait are no steps
  level: number; // from 1
  ms: number; // as long as is known
  open: boolean; // it has no end yet
  isMeasured: boolean; // false: it has ended, and nobody has measured when
  word: string; // for the status; empty: all is well
  lane: number; lanes: number; // from 1, of rows that worked at the same time; 0: it was alone
  parent: boolean; // there are rows below it
}
interface Gap { from: number; to: number; inside: boolean } // In it nothing was told; inside: of a turn.
interface Scale { gaps: Gap[]; end: number; at: (ms: number) => number } // at: from 0 to 100
