package config

import (
	"os"
	"strings"
)

// agentVariables begins the names of the variables that an agent which is added at run time may use
// as ${NAME}. The person who adds it must not read other variables.
const agentVariables = "SLUICE_AGENT_"

// AgentVariable looks up a variable for an agent that is added at run time.
func AgentVariable(name string) (string, bool) {
	if !strings.HasPrefix(name, agentVariables) {
		return "", false
	}
	return os.LookupEnv(name)
}
