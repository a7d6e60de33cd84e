// The shapes of what the gateway sends, for the type checker alone: this file is
// not served. docs/events.md tells what they mean.

export type Via = 'fetch' | 'eventsource';
export type TurnState = 'running' | 'done' | 'failed' | 'stopped' | 'dropped' | 'refused';

export interface Ask {
  input: string;
  conversation_id: string;
  timezone?: string;
  history?: Said[];
  channel?: string; // none: this page
  drafts?: boolean;
  /** Answers a question: input then says so to the person, and is not sent. */
  approval?: Answer & Address;
  workflow?: string;
}

/** What a person is asked about calls that wait. */
export interface Approval {
  request_id: string;
  approval_id: string;
  prompt: string;
  expires_at: string;
  token: string;
  task_id?: string; // with a store
  calls?: Pending[];
  schema?: Schema; // of what a person may fill in
}
export interface Pending { call_id: string; tool_name: string; server: string; arguments: Record<string, unknown>; reason: string; agent_id?: string; truncated?: boolean }

/** One action for all, or a decision for each call. */
export interface Answer { calls?: Decision[]; action?: 'approve' | 'reject'; message?: string; input?: Record<string, unknown> }
/** Of a question: its token, or the task that waits. */
export interface Address { token?: string; task?: string; approval_id?: string; user_id?: string }

/** What becomes of one call. */
export interface Decision {
  call_id: string;
  action: 'approve' | 'reject' | 'modify';
  arguments?: Record<string, unknown>;
}

/** One message of before, for the model to read. */
export interface Said {
  role: 'user' | 'assistant';
  content: string;
}

/** One event as it came. */
export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** One event, kept for the inspector. */
export interface Seen extends Frame {
  at: number; // milliseconds since the request was sent
  bytes: number; // of the data
}

/** How a stream ended. */
export type Outcome =
  | { how: 'done' }
  | { how: 'stopped' }
  | { how: 'lost'; sent: boolean; gone?: boolean; reloaded?: boolean } // sent: some of the stream arrived; gone: no more will; reloaded: by the page's own doing
  | { how: 'refused'; problem: Problem };

export interface Problem {
  status: number; // 0: hidden by EventSource
  error_type: string;
  detail: string;
  errors: { field: string; code: string; message: string }[];
  request_id?: string;
  retry_after_ms?: number;
}

export interface Start { request_id: string; model: string; conversation_id?: string; protocol: string; task_id?: string; turn_id?: string }
/** Who is to answer, in a turn of a team. */
export interface Route {
  request_id: string;
  decision: 'route' | 'clarify' | 'fallback';
  agent_id: string;
  additional_agents: string[];
  confidence: number;
  reasoning?: string;
  method: string;
  duration_ms: number;
}

/** An agent's part in a turn of a team. */
export interface AgentRun {
  request_id: string;
  agent_id: string;
  role: string;
  /** Of an agent that another one has called. */
  session_id?: string;
  call_id?: string;
  attempt: number;
  status: 'started' | 'retrying' | 'completed' | 'failed' | 'cancelled';
  execution_time_ms?: number;
  error_message?: string;
}

/** A node's part in a run of a workflow. */
export interface NodeRun {
  request_id: string;
  node_id: string;
  type: string;
  status: 'started' | 'completed' | 'failed' | 'waiting' | 'skipped';
  attempt: number;
  iteration?: number;
  duration_ms?: number;
  output?: string;
  error_type?: string;
}

/** A workflow as GET /workflows has it. */
export interface Workflow {
  name: string;
  description?: string;
  nodes: { id: string; type: string; agent?: string; tool?: string }[];
  edges: { from: string; to: string; condition?: string; match?: string }[];
}

/** What is done with an answer before it is sent. */
export interface Quality {
  phase: string;
  attempt: number;
  elapsed_ms: number;
  chars?: number;
  passed?: string[];
  failed?: string[];
}
export interface Criterion {
  id: string;
  by: 'code' | 'judge';
  must: boolean;
  planned?: boolean;
  passed: boolean | null;
  not_applicable?: boolean;
  failed_first?: boolean;
}
/** What became of the checks. */
export interface Receipt {
  passed: boolean;
  outcome: string;
  refined: boolean;
  criteria: Criterion[];
  ms: { plan: number; format: number; check: number; judge: number; refine: number; held: number };
}

export interface Channel { name: string; extends: string }
/** One message of a channel. */
export interface ChannelMessage {
  channel: string;
  sequence: number;
  total: number;
  content: string;
  content_type: string;
  continuation_indicator?: string;
  encoding?: string;
  segments?: number;
  units?: number;
  chars?: number;
  card?: CardElement;
  bytes?: number;
  subject?: string;
  text?: string;
  html?: string;
}
/** As much of an Adaptive Card as is shown. */
export interface CardElement {
  type: string;
  text?: string;
  style?: string;
  weight?: string;
  inlines?: (string | { text?: string })[];
  rows?: { cells?: { items?: CardElement[] }[] }[];
  firstRowAsHeaders?: boolean; // of a table; none: true
  items?: CardElement[];
  body?: CardElement[];
}

export interface Thinking { request_id: string; content: string }
export interface Delta { request_id: string; delta: string }
export interface ToolCall {
  request_id: string;
  agent_id?: string;
  call_id: string;
  tool_name: string;
  server: string;
  arguments: Record<string, unknown>;
  status: 'in_progress' | 'progress' | 'completed' | 'failed' | 'unknown';
  duration_ms?: number;
  result?: string;
  truncated?: boolean;
  error?: string;
  error_type?: string; // approval_rejected: a person has not allowed it
  progress?: number;
  total?: number;
  message?: string;
}
export interface Fault {
  request_id: string;
  agent_id?: string;
  error_type: string;
  message: string;
  recoverable: boolean;
  fatal: boolean;
  retry_after_ms?: number;
  service?: string;
}
export interface Done {
  request_id: string;
  final_output: string;
  tools_called: string[];
  success: boolean;
  finish_reason: string;
  quality?: Receipt;
  usage: { input_tokens: number; output_tokens: number; thinking_tokens: number; cached_tokens?: number };
  timings: {
    total_ms: number;
    first_event_ms: number;
    first_delta_ms?: number;
    model_ms: number[];
    tools: { tool_name: string; ms: number }[];
    write_blocked_ms: number;
  };
}

/** A turn of before, as far as it is kept. */
export interface Past {
  input: string;
  answer: string;
  line: string; // how it ended
  state: string;
  task: string; // and the turn: empty unless the gateway keeps turns
  turn: string;
  at: number; // when it began, in milliseconds since 1970
}

/** A task that the gateway keeps, as far as it is shown here. */
export interface Task {
  id: string;
  contextId?: string;
  status: { state: string; message?: { content: string }; timestamp?: string };
  history?: { role: string; content: string; timestamp?: string; messageId?: string; turnId?: string; agentId?: string }[];
  artifacts?: unknown[];
  metadata?: { agentSelections?: unknown; workflow?: string; turns?: string[] };
}

/** The way of a task, as the gateway kept it. */
export interface Trace {
  task_id: string;
  steps: TraceStep[]; // in the order in which they began
  sub_agent_sessions: Record<string, { session_id: string; agent: string; message_count: number; status: string }>;
}
export interface TraceStep {
  id: string;
  parent_id?: string;
  step_name: string;
  message: string;
  status: 'info' | 'warning' | 'error';
  timestamp: string;
  started_ms: number; // since the begin of the trace
  duration_ms?: number; // none: it runs
  agent?: string;
  node_id?: string;
  session_id?: string;
  attempt?: number;
  model?: string; // that was asked
  first_token_ms?: number;
  finish_reason?: string;
  tool_calls?: TraceCall[];
  usage?: { input_tokens: number; output_tokens: number; thinking_tokens: number; cached_tokens?: number };
}
export interface TraceCall {
  call_id: string;
  server: string;
  tool: string;
  arguments?: Record<string, unknown>;
  result?: { text: string; truncated?: boolean };
  error?: string;
  started_ms?: number;
  duration_ms?: number;
  outcome: string;
}

export interface Breaker { service: string; state: string; failure_count: number; retry_after_ms: number }
export interface Ready {
  status: string;
  model: string;
  breakers: Breaker[];
  mcp: { server: string; connected: boolean; tools: number }[];
  streams?: number; // the gateway does not say it to everybody
  models?: { key: string; missing_key?: string }[];
  store?: { kind: string; state: string };
  approvals?: boolean;
}
export interface Agent {
  id: string;
  name: string;
  description: string;
  capabilities: string[];
  examples: string[];
  kind: string;
  routable: boolean;
  available: boolean;
  model?: string;
  tools: string[];
}
export interface Tool {
  name: string;
  server: string;
  description: string;
  input_schema: Schema;
  annotations: { title?: string; readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  fallback?: string;
}
export interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
}
