package geminisim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types below name every field of v1beta's GenerateContentRequest, because the API refuses
// names that it does not know. Values that the simulator never looks at are a jsontext.Value. As
// with protojson, a name of several words may also be written in snake_case.

// request is a GenerateContentRequest. Names are taken in lower camel case and
// in snake case, as the service takes them; a member that is unknown to it is
// refused.
type request struct {
	Model             string           `json:"model"`
	Contents          []content        `json:"contents"`
	SystemInstruction *content         `json:"systemInstruction,case:ignore"`
	Tools             []tool           `json:"tools"`
	ToolConfig        toolConfig       `json:"toolConfig,case:ignore"`
	SafetySettings    []jsontext.Value `json:"safetySettings,case:ignore"`
	GenerationConfig  generationConfig `json:"generationConfig,case:ignore"`
	CachedContent     string           `json:"cachedContent,case:ignore"`
	ServiceTier       string           `json:"serviceTier,case:ignore"`
	Store             bool             `json:"store"`
}

// content is a message of the conversation.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// part is one of the kinds that a Part can be: exactly one of its data fields is set. Kinds that we
// never send are kept raw, so that a rule refuses them and not the unknown name.
type part struct {
	Text             *string           `json:"text"`
	FunctionCall     *functionCall     `json:"functionCall,case:ignore"`
	FunctionResponse *functionResponse `json:"functionResponse,case:ignore"`
	Thought          bool              `json:"thought"`
	ThoughtSignature string            `json:"thoughtSignature,case:ignore"` // base64, standard or URL-safe

	InlineData          jsontext.Value `json:"inlineData,case:ignore"`
	FileData            jsontext.Value `json:"fileData,case:ignore"`
	ExecutableCode      jsontext.Value `json:"executableCode,case:ignore"`
	CodeExecutionResult jsontext.Value `json:"codeExecutionResult,case:ignore"`
	ToolCall            jsontext.Value `json:"toolCall,case:ignore"`
	ToolResponse        jsontext.Value `json:"toolResponse,case:ignore"`

	PartMetadata    jsontext.Value `json:"partMetadata,case:ignore"`
	VideoMetadata   jsontext.Value `json:"videoMetadata,case:ignore"`
	MediaResolution jsontext.Value `json:"mediaResolution,case:ignore"`
}

// functionCall is a call as the client sends it back.
type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"` // an object, or nil
}

// functionResponse is the result of a call.
type functionResponse struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Response     jsontext.Value   `json:"response"` // an object
	Parts        []jsontext.Value `json:"parts"`
	WillContinue bool             `json:"willContinue,case:ignore"`
	Scheduling   jsontext.Value   `json:"scheduling"`
}

// tool is a Tool. Tools of the provider have only their names here.
type tool struct {
	FunctionDeclarations  []declaration  `json:"functionDeclarations,case:ignore"`
	GoogleSearchRetrieval jsontext.Value `json:"googleSearchRetrieval,case:ignore"`
	CodeExecution         jsontext.Value `json:"codeExecution,case:ignore"`
	GoogleSearch          jsontext.Value `json:"googleSearch,case:ignore"`
	ComputerUse           jsontext.Value `json:"computerUse,case:ignore"`
	URLContext            jsontext.Value `json:"urlContext,case:ignore"`
	FileSearch            jsontext.Value `json:"fileSearch,case:ignore"`
	GoogleMaps            jsontext.Value `json:"googleMaps,case:ignore"`
	MCPServers            jsontext.Value `json:"mcpServers,case:ignore"`
}

// declaration is a FunctionDeclaration. Parameters come in one of two
// languages, never both.
type declaration struct {
	Name                 string         `json:"name"`
	Description          string         `json:"description"`
	Behavior             jsontext.Value `json:"behavior"`
	Parameters           jsontext.Value `json:"parameters"`                       // OpenAPI subset
	ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema,case:ignore"` // JSON Schema
	Response             jsontext.Value `json:"response"`
	ResponseJSONSchema   jsontext.Value `json:"responseJsonSchema,case:ignore"`
}

// toolConfig reports whether functions may be called.
type toolConfig struct {
	FunctionCallingConfig struct {
		Mode                 callingMode `json:"mode"`
		AllowedFunctionNames []string    `json:"allowedFunctionNames,case:ignore"`
	} `json:"functionCallingConfig,case:ignore"`
	RetrievalConfig                  jsontext.Value `json:"retrievalConfig,case:ignore"`
	IncludeServerSideToolInvocations bool           `json:"includeServerSideToolInvocations,case:ignore"`
}

// callingMode is FunctionCallingConfig.Mode. As every enum of protojson it may
// come as a name or as a number (generative-ai-go sends numbers).
type callingMode string

const modeNone callingMode = "NONE"

// It takes names and numbers, as JSON of protocol buffers does.
func (m *callingMode) UnmarshalJSON(b []byte) error {
	names := []callingMode{"MODE_UNSPECIFIED", "AUTO", "ANY", modeNone, "VALIDATED"}
	for i, name := range names {
		if string(b) == fmt.Sprint(i) || string(b) == `"`+string(name)+`"` {
			*m = name
			return nil
		}
	}
	return errors.New("unknown enum value")
}

// generationConfig is how an answer is made. Defaults are the service's, and
// are not filled in here.
type generationConfig struct {
	CandidateCount  int      `json:"candidateCount,case:ignore"`
	StopSequences   []string `json:"stopSequences,case:ignore"`
	MaxOutputTokens int      `json:"maxOutputTokens,case:ignore"`
	Temperature     float64  `json:"temperature"`
	TopP            float64  `json:"topP,case:ignore"`
	TopK            float64  `json:"topK,case:ignore"`
	ThinkingConfig  struct {
		IncludeThoughts bool           `json:"includeThoughts,case:ignore"`
		ThinkingBudget  *int           `json:"thinkingBudget,case:ignore"`
		ThinkingLevel   jsontext.Value `json:"thinkingLevel,case:ignore"`
	} `json:"thinkingConfig,case:ignore"`

	ResponseMIMEType           string         `json:"responseMimeType,case:ignore"`
	ResponseSchema             jsontext.Value `json:"responseSchema,case:ignore"`
	ResponseJSONSchema         jsontext.Value `json:"responseJsonSchema,case:ignore"`
	ResponseModalities         jsontext.Value `json:"responseModalities,case:ignore"`
	PresencePenalty            float64        `json:"presencePenalty,case:ignore"`
	FrequencyPenalty           float64        `json:"frequencyPenalty,case:ignore"`
	Seed                       int            `json:"seed"`
	ResponseLogprobs           bool           `json:"responseLogprobs,case:ignore"`
	Logprobs                   int            `json:"logprobs"`
	EnableEnhancedCivicAnswers bool           `json:"enableEnhancedCivicAnswers,case:ignore"`
	SpeechConfig               jsontext.Value `json:"speechConfig,case:ignore"`
	ImageConfig                jsontext.Value `json:"imageConfig,case:ignore"`
	MediaResolution            jsontext.Value `json:"mediaResolution,case:ignore"`
}

// decodeRequest reads body as protojson does: names that the API does not know,
// duplicates, wrong types, broken JSON and invalid UTF-8 are refused.
func decodeRequest(body []byte) (*request, *apiError) {
	req := new(request)
	err := json.Unmarshal(body, req, json.RejectUnknownMembers(true))
	if err == nil {
		return req, nil
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return nil, invalidRequest("Invalid JSON payload received. " + syntaxCause(err))
	}
	path := fieldPath(semantic.JSONPointer)
	if !errors.Is(err, json.ErrUnknownName) {
		return nil, invalidRequest(fmt.Sprintf("Invalid value at '%s' (%v)", path, semantic.JSONKind))
	}
	return nil, unknownName(fieldPath(semantic.JSONPointer.Parent()), semantic.JSONPointer.LastToken())
}

// refusedMember finds the first of the names that stands in body's generationConfig.
func refusedMember(names []string, body []byte) *apiError {
	var doc any
	if len(names) == 0 || json.Unmarshal(body, &doc) != nil {
		return nil
	}
	for _, name := range names {
		for at, path := range map[jsontext.Pointer]string{
			"/generationConfig":                "generation_config",
			"/generationConfig/thinkingConfig": "generation_config.thinking_config",
		} {
			if _, found := lookupPointer(doc, at.AppendToken(name)); found {
				return unknownName(path, name)
			}
		}
	}
	return nil
}

// syntaxCause says where the body stops being JSON.
func syntaxCause(err error) string {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%v at byte %d", syntax.Err, syntax.ByteOffset)
	}
	return "Unable to parse."
}

// unknownName returns protojson's error for a field that a message does not have.
func unknownName(path, name string) *apiError {
	at := ""
	if path != "" {
		at = " at '" + path + "'"
	}
	return invalidRequest(fmt.Sprintf("Invalid JSON payload received. Unknown name %q%s: Cannot find field.", name, at))
}

// fieldPath spells a JSON pointer as the API does in its messages:
// /tools/0/functionDeclarations is tools[0].function_declarations.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteString("." + snakeCase(token))
		default:
			b.WriteString(snakeCase(token))
		}
	}
	return b.String()
}

// snakeCase returns a name in the form of protocol buffers. The service's messages use that form.
func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
