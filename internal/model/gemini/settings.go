package gemini

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/internal/base/check"
	"sluice/internal/base/config"
)

// Defaults of Config.
const (
	defaultModel = "gemini-flash-latest"
	// DefaultBaseURL is where the Gemini API itself lives. It always wants a key.
	DefaultBaseURL  = "https://generativelanguage.googleapis.com"
	defaultThinking = "summary"
	defaultTimeout  = 15 * time.Second

	// Defaults of the breaker; its other settings are as in every breaker.
	breakerFailures = 3
	breakerRecovery = time.Minute
)

// Drivers that can be set: that of NewREST, and that of NewSDK.
const (
	driverREST = "rest"
	DriverSDK  = "sdk"
)

// Settings registers the settings of a Model. It is bound to c's part of type Config.
func Settings(c *config.Config) config.Section {
	own := config.Bind[Config](c)
	return config.Section{Name: "gemini", Settings: []config.Setting{
		config.Key("GEMINI_API_KEY", "GOOGLE_API_KEY", &own.APIKey,
			"key of the Gemini API; `GOOGLE_API_KEY` is read too").As("none: the offline model"),
		config.Func("GEMINI_MODEL", defaultModel, "name without a path",
			"model name", modelName(&own.Model)),
		config.BaseURL("GEMINI_BASE_URL", &own.BaseURL, DefaultBaseURL,
			"any server that speaks the same protocol; one of your own may need no key"),
		config.OneOf("GEMINI_DRIVER", &own.Driver, driverREST, []string{driverREST, DriverSDK},
			"`sdk` is generative-ai-go: the same events for more CPU ([ADR 2](docs/adr/0002-gemini-drivers.md))"),
		config.Func("GEMINI_THINKING", defaultThinking, "`"+strings.Join(thinkingWords(), "`, `")+"`, or a number from -1",
			"`summary` asks for thought summaries, `off` for nothing; a level, or a budget in tokens, asks for summaries as well", thinkingSetting(&own.Thinking)),
		config.Duration("SLUICE_MODEL_TIMEOUT", &own.Timeout, defaultTimeout,
			"one model call: to its first chunk, and between two chunks"),
		breaker.Setting("SLUICE_GEMINI_BREAKER", &own.Breaker, breaker.Config{Failures: breakerFailures, Recovery: breakerRecovery},
			"Gemini's circuit breaker: consecutive failures, recovery time, half-open calls"),
	}}
}

// modelName accepts a single segment of a URL's path.
func modelName(p *string) func(string) error {
	return func(value string) error {
		if !check.Segment(value) {
			return errors.New("must be a model's name such as " + defaultModel + ", without a path")
		}
		*p = value
		return nil
	}
}

// thinkingWords are the words that GEMINI_THINKING accepts besides a number of tokens.
func thinkingWords() []string { return []string{defaultThinking, "off", "low", "medium", "high"} }

// highestBudget is that of Gemini 2.5 Pro; -1 means that the model decides.
const highestBudget = 32768

// thinkingSetting takes a word or a budget.
func thinkingSetting(p *string) func(string) error {
	return func(value string) error {
		if slices.Contains(thinkingWords(), value) {
			*p = value
			return nil
		}
		budget, err := strconv.Atoi(value)
		if err != nil || budget < -1 || budget > highestBudget {
			return fmt.Errorf("must be one of %s, or a budget from -1 to %d", strings.Join(thinkingWords(), ", "), highestBudget)
		}
		*p = strconv.Itoa(budget)
		return nil
	}
}
