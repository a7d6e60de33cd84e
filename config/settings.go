package config

import "strings"

// setting is one row of the table of what can be set.
type setting struct {
	variable string // empty for a command's own flag
	flag     string
	def      string // parsed like any value; empty: the field stays as it is
	shown    string // in the usage, in place of def
	meaning  string
	isBool   bool
	secret   bool // not taken from the command line

	// parse stores a value that is not empty. Its error must not repeat the value.
	parse func(value string) error

	// second is a variable that is asked when the first one has no value.
	second      string
	parseSecond func(value string) error
}

// name is what a fault of s is listed under.
func (s setting) name() string {
	if s.variable == "" {
		return "--" + s.flag
	}
	return s.variable
}

// flagName returns the flag that wins over a variable: SLUICE_ADDR → addr,
// GEMINI_MODEL → gemini-model.
func flagName(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "SLUICE_")), "_", "-")
}

// settings returns the table of what all commands share, bound to r.
func (r *reader) settings() []setting {
	table := append(r.upstreamSettings(), r.turnSettings()...)
	table = append(table, r.serverSettings()...)
	for i := range table {
		table[i].flag = flagName(table[i].variable)
	}
	return table
}

// upstreamSettings say where to listen, and whom to call.
func (r *reader) upstreamSettings() []setting {
	c := &r.cfg
	return []setting{
		{variable: "SLUICE_ADDR", def: ":8080", shown: ":8080, or :$PORT", parse: address(&c.Addr),
			second: "PORT", parseSecond: portOnly(&c.Addr),
			meaning: "listen address; port 0 picks one"},
		{variable: "GEMINI_API_KEY", shown: "none: the offline model", parse: apiKey(&c.GeminiAPIKey), secret: true,
			second: "GOOGLE_API_KEY", parseSecond: apiKey(&c.GeminiAPIKey),
			meaning: "key of the Gemini API; GOOGLE_API_KEY is read too"},
		{variable: "GEMINI_MODEL", def: "gemini-flash-latest", parse: modelName(&c.GeminiModel),
			meaning: "model name"},
		{variable: "GEMINI_BASE_URL", def: DefaultGeminiBaseURL, parse: baseURL(&c.GeminiBaseURL),
			meaning: "any server that speaks the same protocol"},
		{variable: "GEMINI_DRIVER", def: "rest", parse: oneOf(&c.GeminiDriver, "rest", "sdk"),
			meaning: "rest, or sdk (generative-ai-go)"},
		{variable: "GEMINI_THINKING", def: "summary", parse: thinking(&c.GeminiThinking),
			meaning: "thought summaries: summary or off; or a level: low, medium, high; or a budget in tokens"},
		{variable: "MCP_SERVER_URL", shown: "none", parse: serverURL(&r.serverURL),
			meaning: "a streamable-HTTP MCP server, which is named todo"},
		{variable: "MCP_CONFIG", shown: "none", parse: text(&r.serverFile),
			meaning: "an mcpServers JSON file, added to MCP_SERVER_URL; with neither, the built-in todo server"},
		{variable: "SLUICE_TODO_DB", shown: "sluice/todo.db in the user's data folder", parse: text(&c.TodoDB),
			meaning: "file of the built-in todo server, or :memory:"},
	}
}

// turnSettings say how one turn runs.
func (r *reader) turnSettings() []setting {
	c := &r.cfg
	return []setting{
		{variable: "SLUICE_SYSTEM_PROMPT", shown: "built in", parse: text(&r.promptFile),
			meaning: "file of the system prompt"},
		{variable: "SLUICE_TIMEZONE", def: "UTC", parse: timezone(&c.Timezone),
			meaning: "IANA name; a request may override it"},
		{variable: "SLUICE_REQUEST_TIMEOUT", def: "30s", parse: duration(&c.RequestTimeout, 1),
			meaning: "the whole turn"},
		{variable: "SLUICE_MODEL_TIMEOUT", def: "15s", parse: duration(&c.ModelTimeout, 1),
			meaning: "one model call: to its first chunk, and between two chunks"},
		{variable: "SLUICE_TOOL_TIMEOUT", def: "10s", parse: duration(&c.ToolTimeout, 1),
			meaning: "one tool call"},
		{variable: "SLUICE_MAX_STEPS", def: "8", parse: integer(&c.MaxSteps, 1, 64),
			meaning: "model calls in one turn"},
	}
}

// serverSettings say how streams are served, logged and guarded.
func (r *reader) serverSettings() []setting {
	c := &r.cfg
	return []setting{
		{variable: "SLUICE_HEARTBEAT", def: "15s", parse: duration(&c.Heartbeat, 0),
			meaning: "a comment after this much silence; 0 disables"},
		{variable: "SLUICE_WRITE_TIMEOUT", def: "5s", parse: duration(&c.WriteTimeout, 1),
			meaning: "one write to one client; a slower client is cut"},
		{variable: "SLUICE_MAX_STREAMS", def: "10000", parse: integer(&c.MaxStreams, 1, 1_000_000),
			meaning: "concurrent streams; lowered at the start to what descriptors and memory carry"},
		{variable: "SLUICE_ADMISSION", def: AdmitAdaptive, parse: oneOf(&c.Admission, AdmitAdaptive, AdmitCount),
			meaning: "below SLUICE_MAX_STREAMS: adaptive refuses what the machine cannot carry, count does not"},
		{variable: "SLUICE_MAX_CONNECTIONS", shown: "from the descriptors", parse: integer(&c.MaxConnections, 1, 1_000_000),
			meaning: "client connections; at it, the one idle longest is closed for a new one"},
		{variable: "SLUICE_DRAIN_TIMEOUT", def: "30s", parse: duration(&c.DrainTimeout, 0),
			meaning: "time for running streams to end after SIGTERM or SIGINT"},
		{variable: "SLUICE_CORS_ORIGINS", shown: "none", parse: origins(&c.CORSOrigins),
			meaning: "comma-separated exact origins; * allows all without credentials"},
		{variable: "SLUICE_HOSTS", shown: "none: any", parse: hosts(&c.Hosts),
			meaning: "comma-separated names that Host may be, beside loopback ones; against DNS rebinding"},
		{variable: "SLUICE_GET_TOOLS", def: GetToolsAll, parse: oneOf(&c.GetTools, GetToolsAll, GetToolsReadOnly, GetToolsOff),
			meaning: "tools that a turn of a GET may call: all, readonly or off"},
		{variable: "SLUICE_CHATKIT_HISTORY", def: HistoryNone, parse: oneOf(&c.ChatKitHistory, HistoryNone, HistoryInMemory),
			meaning: "threads of ChatKit: none, or memory (of this process, for development)"},
		{variable: "SLUICE_LOG_LEVEL", def: "info", parse: oneOf(&c.LogLevel, "debug", "info", "warning", "error"),
			meaning: "debug, info, warning or error"},
		{variable: "SLUICE_LOG_PAYLOADS", def: "false", parse: boolean(&c.LogPayloads), isBool: true,
			meaning: "tool arguments and result previews in the log"},
		{variable: "SLUICE_MCP_BREAKER", def: "5,30s,3", parse: breaker(&c.MCPBreaker),
			meaning: "consecutive failures, recovery time, half-open calls"},
		{variable: "SLUICE_GEMINI_BREAKER", def: "3,60s,3", parse: breaker(&c.GeminiBreaker),
			meaning: "the same for Gemini"},
	}
}
