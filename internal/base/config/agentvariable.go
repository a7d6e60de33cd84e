package config

import (
	"os"
	"strings"
)

// agentVariables begin the names of the variables that ${NAME} may put into an agent that
// is added at run time: who may add one shall not read the others.
const agentVariables = "SLUICE_AGENT_"

// AgentVariable looks up a variable for an agent that is added at run time.
func AgentVariable(name string) (string, bool) {
	if !strings.HasPrefix(name, agentVariables) {
		return "", false
	}
	return os.LookupEnv(name)
}
