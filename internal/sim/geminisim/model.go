package geminisim

import "github.com/go-json-experiment/json/jsontext"

// Model answers the requests of a Server without a Script. It is called from many
// goroutines at once. The same question must get the same answer.
type Model interface {
	// Version is the modelVersion of the answers.
	Version() string
	Answer(q Question) Answer
}

// Question is a request as a model sees it. The request has passed the strict checks.
type Question struct {
	System    string // the system instruction
	Messages  []Message
	Functions []Function // that are declared
	MayCall   bool       // false: the request forbids function calls
	// Schema is that of the structured answer that is asked for; "{}": any object; nil: none.
	Schema jsontext.Value
	Forced string // the function that must be called; "": none
	// OneOf are the functions of which at least one must be called, if there are several; else nil.
	OneOf []string
}

// Message is one content of the conversation.
type Message struct {
	Model bool   // said by the model, not by the user
	Text  string // its text parts, one a line
	Calls []Call
	// Results answer the calls of the message before, in their order.
	Results []Result
}

// Function is a declared function.
type Function struct {
	Name       string
	Parameters jsontext.Value // a schema in either of the API's languages, or nil
}

// Call is a function call. In an Answer its ID is empty.
type Call struct {
	ID, Name string
	Args     jsontext.Value // an object
}

// Result is a function response.
type Result struct {
	ID, Name string
	Response jsontext.Value // an object
}

// Answer is the answer of a model: calls, or else a text.
type Answer struct {
	Thoughts []string // summaries, shown to those who ask for them
	Calls    []Call
	Text     string
	// Pieces are the deltas of Text. nil: the simulator cuts the text.
	Pieces []string
}

// Deltas returns the pieces of the text, or those of cut.
func (a Answer) Deltas(cut func(string) []string) []string {
	if a.Pieces != nil {
		return a.Pieces
	}
	return cut(a.Text)
}

// wordless is the model of a Server that was given none.
type wordless struct{}

// It is what modelVersion says.
func (wordless) Version() string { return "geminisim" }

// It says the same to everything: without a script nothing depends on the
// answer.
func (wordless) Answer(Question) Answer { return Answer{Text: "OK."} }

// newQuestion returns r as the model sees it.
func (r *request) newQuestion() Question {
	q := Question{
		MayCall: r.ToolConfig.FunctionCallingConfig.Mode != modeNone,
		Schema:  r.GenerationConfig.wanted(),
	}
	if r.SystemInstruction != nil {
		q.System = r.SystemInstruction.text()
	}
	for _, c := range r.Contents {
		m := Message{Model: c.Role == "model", Text: c.text()}
		for _, call := range c.calls() {
			m.Calls = append(m.Calls, Call{ID: call.ID, Name: call.Name, Args: call.Args})
		}
		for _, response := range c.responses() {
			m.Results = append(m.Results, Result{ID: response.ID, Name: response.Name, Response: response.Response})
		}
		q.Messages = append(q.Messages, m)
	}
	q.Functions = r.declaredFunctions()
	r.oblige(&q)
	return q
}

// declaredFunctions returns the functions that the model may call.
func (r *request) declaredFunctions() (list []Function) {
	for _, t := range r.Tools {
		for _, d := range t.FunctionDeclarations {
			parameters := d.ParametersJSONSchema
			if isAbsent(parameters) {
				parameters = d.Parameters
			}
			list = append(list, Function{Name: d.Name, Parameters: parameters})
		}
	}
	return list
}
